"""In place of a tool that hangs."""
import time

time.sleep(300)
