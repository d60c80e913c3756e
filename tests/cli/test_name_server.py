"""A name server that does not answer: what is waited for, and for how long."""
import os
import signal
import socket
import time

import place
from harness import Case, Settings, free_port

# The files of names lie under $0; what follows is the line to run. That of the tests' place is removed where it came
# from, and so can be no mount point.
WITH_NAMES = ('umount /etc/nsswitch.conf; mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf && '
              'mount --bind "$0/resolv.conf" /etc/resolv.conf || exit 99; exec "$@"')


class SilentNameServer(Case):
    """It hears each question, and says nothing. launch looks a name up for five seconds at most."""
    load = 0.1

    def setUp(self):
        super().setUp()
        self.need(os.environ.get(place.ENTERED) and os.path.exists("/etc/resolv.conf"), "a mount namespace")
        self.server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.server.close)
        self.server.bind(("127.0.0.99", 53))
        self.server.settimeout(20)
        (self.folder / "nsswitch.conf").write_text("hosts: dns\n")
        (self.folder / "resolv.conf").write_text("nameserver 127.0.0.99\noptions timeout:30\n")

    def joins(self, seconds):
        """A node of a c10d job, once it has asked for the name of the store's host."""
        run = self.start(["unshare", "--mount", "sh", "-c", WITH_NAMES, self.folder, Settings.launch, "--nnodes=2",
                          "--rdzv-backend=c10d", f"--rdzv-endpoint=node0.cluster:{free_port()}",
                          f"--rdzv-conf=join_timeout={seconds}", "--no-python", "true"])
        self.server.recv(512)
        return run, time.time()

    def test_joining_ends_in_time(self):
        run, asked = self.joins(1)
        self.expect([124], [run])
        self.assertIn("the name node0.cluster cannot be resolved: the name server does not answer", run.err)
        self.assertLess(run.ended - asked, 5, str(run))

    def test_a_signal_is_heard_at_once(self):
        run, asked = self.joins(60)
        run.signal(signal.SIGTERM)
        self.expect([128 + signal.SIGTERM], [run])
        self.assertLess(run.ended - asked, 4, str(run))
