"""A shell with job control: runs a command in a process group of its own, in the foreground unless it is told to run it
in the background (--background), and ends with its exit code."""
import os
import signal
import subprocess
import sys

words = sys.argv[1:]
background = words[0] == "--background"
signal.signal(signal.SIGTTOU, signal.SIG_IGN)


def begin():
    os.setpgrp()
    if not background:
        os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)


sys.exit(subprocess.Popen(words[1:] if background else words, preexec_fn=begin).wait())
