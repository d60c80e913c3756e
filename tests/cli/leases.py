"""Files that stall without a file system of their own: who holds a lease on a file makes all others wait for it."""
import fcntl
import os
import signal


class Impossible(Exception):
    """Why there can be no lease."""


class Stall:
    """From now on whoever opens or executes this file waits until end(), but 45 s at most (fs.lease-break-time)."""

    def __init__(self, path):
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.fcntl(self._file, fcntl.F_SETSIG, signal.SIGURG)  # nobody notices that one
            fcntl.fcntl(self._file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except OSError as error:
            self.end()
            raise Impossible(f"a lease on {path}: {error}") from error

    def end(self):
        """May be called twice."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
