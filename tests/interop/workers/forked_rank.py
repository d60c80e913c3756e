#!/usr/bin/env -S python3 -S
"""An interpreter whose script runs in a process that gloo_zygote.py forks with PyTorch imported: both end alike.

    forked_rank.py [-u] SCRIPT [WORD...]
"""
import json
import os
import signal
import socket
import sys

words = sys.argv[2:] if sys.argv[1] == "-u" else sys.argv[1:]
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as zygote:
    zygote.connect(os.environ["ZYGOTE"])
    network = os.open("/proc/self/ns/net", os.O_RDONLY)
    request = json.dumps({"env": dict(os.environ), "cwd": os.getcwd(), "argv": words})
    socket.send_fds(zygote, [request.encode()], [1, 2, network])
    answer = zygote.recv(64)
code = json.loads(answer) if answer else 1
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
