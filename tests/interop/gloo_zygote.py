"""Forks a rank for each forked_rank.py that asks, importing PyTorch once: PYTHON gloo_zygote.py DOOR SCRIPT

DOOR is the descriptor of a socket that listens. The rank runs SCRIPT with the environment, the standard output and in
the network namespace of the one that asks, and ends with it. Tells "ready" once, and ends when its standard input does.
"""
import ctypes
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading

import torch
import torch.distributed  # noqa: F401

CLONE_NEWNET = 0x40000000
LARGEST = 1 << 17  # bytes of an environment


def end_with(caller):
    caller.recv(1)  # nothing comes: it has ended
    os._exit(1)


def rank(caller, script):
    message, (out, err, network), _, _ = socket.recv_fds(caller, LARGEST, 3)
    if ctypes.CDLL(None, use_errno=True).setns(network, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.clear()
    os.environ.update(json.loads(message))
    threading.Thread(target=end_with, args=(caller,), daemon=True).start()
    torch.set_num_threads(1)
    sys.path.insert(0, os.path.dirname(script))
    runpy.run_path(script, run_name="__main__")


def fork_rank(caller, script):
    if os.fork() != 0:
        return
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        rank(caller, script)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        caller.send(bytes([code]))
        os._exit(code)


def main():
    number, script = sys.argv[1:]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=int(number)) as door:
        print("ready", flush=True)
        while door in select.select([door, 0], [], [])[0]:
            with door.accept()[0] as caller:
                fork_rank(caller, script)


main()
