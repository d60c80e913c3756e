"""Connections of workers that have ended, which go on to send: what the kernel of a host does that was cut off."""
import random
import socket
import threading
import time

import wire


def requests_of(number, rank):
    """What workers of this round (its number) write."""
    return wire.add_frame("/count", number + 2) + wire.set_frame(f"/value/{rank}", str(number))


class Keeper(threading.Thread):
    """Takes connections at the socket `path`, and sends on each what its worker did, until the store has closed it."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.taken = 0
        self.open = {}  # connection -> (from when on, what is to be sent first, what comes again and again)
        self._over = threading.Event()
        self._way = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._way.bind(str(path))
        self._way.settimeout(0.005)

    def run(self):
        while not self._over.is_set():
            try:
                while True:
                    self._take(*socket.recv_fds(self._way, 64, 1)[:2])
            except TimeoutError:
                pass
            for connection in list(self.open):
                self._send(connection)

    def _take(self, said, descriptors):
        kind, *numbers = said.decode().split()
        frames = requests_of(*map(int, numbers))
        connection = socket.socket(fileno=descriptors[0])
        connection.setblocking(False)
        self.taken += 1
        half = kind == "half"  # of a request: its rest comes about when the workers end, or the next ones begin
        begin = time.monotonic() + (random.uniform(0.5, 2.5) if half else 0)
        self.open[connection] = begin, frames[11:] if half else b"", frames

    def _send(self, connection):
        begin, first, frames = self.open[connection]
        if time.monotonic() < begin:
            return
        data = first or frames
        try:
            sent = connection.send(data)
        except BlockingIOError:
            return
        except OSError:
            connection.close()
            del self.open[connection]
            return
        self.open[connection] = begin, data[sent:], frames

    def end(self):
        self._over.set()
        self.join()
        self._way.close()
        for connection in self.open:
            connection.close()
