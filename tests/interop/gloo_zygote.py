"""Forks a rank for each workers/forked_rank.py that asks, importing PyTorch once: PYTHON gloo_zygote.py DOOR

DOOR is the descriptor of a socket that listens. A request is JSON: env, cwd and argv, a script and its words; with it
come what is to be standard output, standard error and the network namespace. The answer is how the rank has ended, as
subprocess has it. A rank ends with the one that has asked for it. Tells "ready" once, and ends when its standard input
does.
"""
import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import traceback

import torch
import torch.distributed  # noqa: F401

CLONE_NEWNET = 0x40000000
LARGEST = 1 << 17  # bytes of a request


def end_with(caller):
    caller.recv(1)  # nothing comes: it has ended
    os._exit(1)


def enter_network(network):
    if os.stat(network).st_ino == os.stat("/proc/self/ns/net").st_ino:
        return
    if ctypes.CDLL(None, use_errno=True).setns(network, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def rank(caller):
    message, (out, err, network), _, _ = socket.recv_fds(caller, LARGEST, 3)
    request = json.loads(message)
    enter_network(network)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for descriptor in (out, err, network):
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    threading.Thread(target=end_with, args=(caller,), daemon=True).start()
    torch.set_num_threads(1)
    sys.argv = request["argv"]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


def fork_rank(caller):
    pid = os.fork()
    if pid != 0:
        return pid
    code = 1
    try:
        rank(caller)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main():
    door = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    print("ready", flush=True)
    ranks = {}  # pidfd -> pid, and who has asked for it
    while True:
        ready = select.select([door, 0, *ranks], [], [])[0]
        if 0 in ready:
            return
        for pidfd in ranks.keys() & set(ready):
            pid, caller = ranks.pop(pidfd)
            os.close(pidfd)
            try:
                caller.send(json.dumps(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
            except BrokenPipeError:
                pass  # it was ended
            caller.close()
        if door in ready:
            caller = door.accept()[0]
            pid = fork_rank(caller)
            ranks[os.pidfd_open(pid)] = (pid, caller)


main()
