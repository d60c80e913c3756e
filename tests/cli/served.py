"""A file system that stalls as a network's does: whatever asks its server waits, and no signal ends the wait.

It has one file, `input`, which may be executed. Run as a program, this is the server: it mounts at the folder that it
is given, and hears `stall`, `go on` and the end of its input.
"""
import ctypes
import os
import pathlib
import select
import struct
import subprocess
import sys
import tempfile

# Requests of the kernel (linux/fuse.h), and those that it answers by itself for a network's files.
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, INTERRUPT, IOCTL, POLL, FORGET_MANY = (
    1, 2, 3, 14, 15, 18, 25, 26, 36, 39, 40, 42)
PROMPT = {RELEASE, FLUSH, INIT, IOCTL, POLL}
ENOENT, ENOSYS = 2, 38
ROOT, INPUT = 1, 2


class Impossible(Exception):
    """What is missing for such a file system."""


class Served:
    """`content`: of its file. `folder`: where it is, if not in one of its own; `inside`: in which namespace."""

    def __init__(self, content, folder=None, inside=("unshare", "--mount")):
        self.folder = folder or tempfile.mkdtemp(prefix="launch-served-")
        self._server = subprocess.Popen([*inside, sys.executable, __file__, self.folder, content],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        said = self._server.stdout.readline()
        if said != b"ready\n":
            self.remove()
            raise Impossible(said.decode(errors="replace").strip())
        self.path = pathlib.Path(f"/proc/{self._server.pid}/root{self.folder}/input")

    def inside(self):
        """What stands before a command line that is to see it, at `folder`."""
        return ["nsenter", f"--target={self._server.pid}", "--mount"]

    def _tell(self, word):
        self._server.stdin.write(word)
        self._server.stdin.flush()
        self._server.stdout.readline()

    def stall(self):
        self._tell(b"stall\n")

    def go_on(self):
        self._tell(b"go on\n")

    def replace(self, path):
        """From now on whoever looks there sees this file. Who has had the other one open goes on with that."""
        path.unlink()
        path.symlink_to(self.path)

    def remove(self):
        """May be called twice. What waits for it hears of an error."""
        if self._server.poll() is None:
            self._server.communicate(timeout=20)
        if os.path.exists(self.folder):
            os.rmdir(self.folder)


def attributes(node, content):
    mode, size = (0o40755, 0) if node == ROOT else (0o100755, len(content))
    return struct.pack("<6Q10I", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer(opcode, node, body, content):
    """An error, or bytes."""
    if opcode == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 8, 8, 65536, 1, 0, 0, *[0] * 8)
    if opcode == LOOKUP:
        found = node == ROOT and body == b"input\0"
        return struct.pack("<4Q2I", INPUT, 0, 0, 0, 0, 0) + attributes(INPUT, content) if found else ENOENT
    if opcode == GETATTR:
        return struct.pack("<Q2I", 0, 0, 0) + attributes(node, content)
    if opcode == OPEN:
        return struct.pack("<Q2I", 0, 0, 0)
    if opcode == READ:
        offset, size = struct.unpack_from("<QI", body, 8)
        return content[offset:offset + size]
    return b"" if opcode in (RELEASE, FLUSH) else ENOSYS


def reply(device, unique, result):
    error, data = (result, b"") if isinstance(result, int) else (0, result)
    try:
        os.write(device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)
    except FileNotFoundError:
        pass  # who asked has given up


def mount(folder):
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"launch-test", folder.encode(), b"fuse", 0, options) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    return device


def serve(folder, content):
    device = mount(folder)
    print("ready", flush=True)
    stalled, waiting = False, []
    while True:
        if device in select.select([device, sys.stdin.fileno()], [], [])[0]:
            request = os.read(device, 1 << 17)
            _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
            if opcode in (FORGET, FORGET_MANY, INTERRUPT):
                continue
            waiting.append((opcode, unique, node, request[40:]))
        elif (word := os.read(sys.stdin.fileno(), 64)) == b"":
            return
        else:
            stalled = word == b"stall\n"
            print("done", flush=True)
        now, waiting = ([entry for entry in waiting if not stalled or entry[0] in PROMPT],
                        [entry for entry in waiting if stalled and entry[0] not in PROMPT])
        for opcode, unique, node, body in now:
            reply(device, unique, answer(opcode, node, body, content))


if __name__ == "__main__":
    try:
        serve(sys.argv[1], sys.argv[2].encode())
    except OSError as why:
        print(why, flush=True)
