"""A terminal for tests that start programs there: what is typed, and all that is shown."""
import fcntl
import os
import pty
import select
import struct
import termios
import threading


class OnTerminal:
    """For test cases. `shown` is a list of what came, in pieces."""

    def setUp(self):
        super().setUp()
        self.keyboard, self.terminal = pty.openpty()
        self.until, self.enough = os.pipe()
        self.shown = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def tearDown(self):
        super().tearDown()
        os.close(self.terminal)
        self.reader.join(10)
        for descriptor in (self.keyboard, self.until, self.enough):
            if descriptor is not None:
                os.close(descriptor)

    def _read(self):
        try:
            while (select.select([self.keyboard, self.until], [], [])[0] == [self.keyboard]
                   and (text := os.read(self.keyboard, 1 << 16))):
                self.shown.append(text)
        except OSError:
            pass  # the last process has closed the terminal

    def close_window(self):
        """The terminal goes away, under the programs that run in it."""
        os.close(self.enough)
        self.enough = None
        self.reader.join(10)
        os.close(self.keyboard)
        self.keyboard = None

    def screen(self):
        """All that was shown so far."""
        return b"".join(self.shown)

    def resize(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def on_terminal(self, *command, **options):
        """The leader of the terminal's session."""
        return self.start(command, stdin=self.terminal, start_new_session=True,
                          preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **options)

    def press(self, key):
        os.write(self.keyboard, key)
