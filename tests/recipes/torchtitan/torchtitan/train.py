"""Stands in for torchtitan's trainer, which is run as a module."""
import report

report.work(lambda: {"package": __package__})
