"""A minimal client of the store's protocol, for tests that need to send what a real client never would."""
import os
import socket
import struct

VALIDATE, SET, GET, ADD, CHECK, WAIT, MULTI_GET, PING = 0, 1, 3, 4, 5, 6, 10, 13
MAGIC = 0x3C85F7CE


def text(value):
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(value)) + value


def keys(*names):
    return struct.pack("<Q", len(names)) + b"".join(text(name) for name in names)


def hello(nonce=None):
    return struct.pack("<BI", VALIDATE, MAGIC) + struct.pack("<BI", PING, nonce or os.getpid())


def set_frame(key, value):
    return bytes([SET]) + text(key) + text(value)


def get_frame(key):
    return bytes([GET]) + text(key)


class Client:
    """One connection; every read has the same deadline, so that a store that hangs fails the test."""

    def __init__(self, port, host="127.0.0.1", seconds=10.0, greet=True):
        self.socket = socket.create_connection((host, port), timeout=seconds)
        if greet:
            self.send(hello(4711))
            if self.read(4) != struct.pack("<I", 4711):
                raise ConnectionError("the store did not repeat the ping's number")

    def send(self, data):
        self.socket.sendall(data)

    def read(self, count):
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise ConnectionError(f"the store closed the connection after {len(data)} of {count} bytes")
            data += piece
        return data

    def read_value(self):
        return self.read(struct.unpack("<Q", self.read(8))[0])

    def add(self, key, amount):
        self.send(bytes([ADD]) + text(key) + struct.pack("<q", amount))
        return struct.unpack("<q", self.read(8))[0]

    def set(self, key, value):
        self.send(set_frame(key, value))

    def get(self, key):
        self.send(get_frame(key))
        return self.read_value()

    def is_closed_by_peer(self):
        """Waits for the end of the connection; False when it stays open for the client's whole deadline."""
        try:
            while self.socket.recv(65536):
                pass
            return True
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
