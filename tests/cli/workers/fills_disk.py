"""Fills the disk of logs/, makes room by removing logs/ballast, and goes on writing lines for a second."""
import os
import time

for number in range(9000):
    print("line", number, flush=True)
while os.statvfs("logs").f_bavail:
    time.sleep(0.01)
time.sleep(0.3)
os.unlink("logs/ballast")
for number in range(50):
    print("another line", number, flush=True)
    time.sleep(0.02)
