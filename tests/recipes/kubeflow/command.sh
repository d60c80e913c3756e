#!/bin/sh
exec torchrun train.py
