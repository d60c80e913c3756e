"""refusals.py ERROR CALL,... PROGRAM...: runs the program where the kernel refuses these system calls, as an older one
does (ENOSYS), or a filter of a container (EPERM). The call "clone_pidfd" is clone() with CLONE_PIDFD;
CALL:ERROR has an error of its own."""
import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {  # of calls since about 2014; new ones have the same number everywhere
    "getrandom": {"x86_64": 318, "aarch64": 278}, "memfd_create": {"x86_64": 319, "aarch64": 279},
    "statx": {"x86_64": 332, "aarch64": 291}, "rseq": {"x86_64": 334, "aarch64": 293},
    "pidfd_send_signal": 424, "pidfd_open": 434, "clone3": 435, "close_range": 436, "faccessat2": 439,
    "epoll_pwait2": 441,
}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
CLONE, CLONE_PIDFD = {"x86_64": 56, "aarch64": 220}, 0x1000
LOAD, JUMP_IF_EQUAL, JUMP_IF_SET, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16  # where they are in what a filter sees
ALLOW, REFUSE = 0x7FFF0000, 0x00050000


class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def number_of(call):
    number = NUMBERS[call]
    return number if isinstance(number, int) else number[platform.machine()]


def refuse(error, calls):
    steps = [(LOAD, 0, 0, NUMBER)]
    for call in calls:
        call, _, own = call.partition(":")
        answer = (RETURN, 0, 0, REFUSE | (getattr(errno, own) if own else error))
        if call == "clone_pidfd":
            steps += [(JUMP_IF_EQUAL, 0, 4, CLONE[platform.machine()]), (LOAD, 0, 0, FIRST_ARGUMENT),
                      (JUMP_IF_SET, 0, 1, CLONE_PIDFD), answer, (LOAD, 0, 0, NUMBER)]
        else:
            steps += [(JUMP_IF_EQUAL, 0, 1, number_of(call)), answer]
    steps.append((RETURN, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                  (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(Filter(len(steps), ctypes.addressof(code))))):
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    refuse(getattr(errno, sys.argv[1]), sys.argv[2].split(","))
    os.execvp(sys.argv[3], sys.argv[3:])
