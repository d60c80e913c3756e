"""Runs a command as its child and hands SIGINT on to it, a moment later, as wrappers of jobs do."""
import signal
import subprocess
import sys
import time

process = subprocess.Popen(sys.argv[1:])


def hand_on(number, _):
    time.sleep(0.2)  # longer than it takes the key itself to be counted
    process.send_signal(number)


signal.signal(signal.SIGINT, hand_on)
sys.exit(process.wait())
