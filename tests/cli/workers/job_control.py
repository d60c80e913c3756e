"""A shell with job control: runs a command in the background, reads a line itself, and brings it to the foreground."""
import os
import signal
import subprocess
import sys
import time

folder = os.environ["TEST_FOLDER"]
job = subprocess.Popen(sys.argv[1:], preexec_fn=os.setpgrp)
while not os.path.exists(f"{folder}/typed"):
    time.sleep(0.02)
time.sleep(0.3)  # for a thief
print("shell:", os.read(0, 100).decode(), end="", flush=True)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
os.tcsetpgrp(0, job.pid)
with open(f"{folder}/read", "w", encoding="ascii"):
    pass
sys.exit(job.wait())
