"""The store of a running job: whatever strangers send, it serves the others, its memory stays bounded, the job ends."""
import random
import resource
import socket
import struct
import time

import limits
import processes
import wire
from harness import free_port, wait_for
from job import UP, JobCase

MIB = 1024  # KiB, as /proc counts


class StoreAbuse(JobCase):
    def setUp(self):
        super().setUp()
        self.strangers = []

    def start_job(self):
        self.port = free_port()
        until_told = 'while [ ! -e "$TEST_FOLDER/finish" ]; do sleep 0.05; done\n'
        self.job = self.node(0, 1, 1, self.worker(UP, until_told), port=self.port)
        self.wait_until_up(1, self.job)

    def stranger(self, data=b"", greet=True, seconds=5.0):
        client = wire.Client(self.port, greet=greet, seconds=seconds)
        self.strangers.append(client)
        client.send(data)
        return client

    def memory(self):
        return sum(processes.memory_kib(pid, "Rss") for pid in processes.launcher(self.job.pid))

    def assert_serves(self, seconds=5.0):
        """A new client is answered at once, with what it wrote."""
        start = time.monotonic()
        with wire.Client(self.port) as client:
            count = client.add("counter", 1)
            client.set("key", f"value {count}")
            self.assertEqual(f"value {count}".encode(), client.get("key"))
        self.assertLess(time.monotonic() - start, seconds)

    def tearDown(self):
        try:
            if hasattr(self, "job") and self.job.ended is None:
                self.assert_serves()
                (self.folder / "finish").touch()
                self.expect([0], [self.job], seconds=20)
        finally:
            for client in self.strangers:
                client.close()
            super().tearDown()

    def test_garbage(self):
        self.start_job()
        source = random.Random(20260703)
        for _ in range(200):
            self.stranger(source.randbytes(source.randrange(1, 3000)), greet=source.random() < 0.5)
        self.assert_serves()

    def test_other_protocols(self):
        self.start_job()
        tls = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
        for data in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", tls, b"SSH-2.0-x\r\n"):
            self.stranger(data, greet=False)
        self.assert_serves()

    def test_more_than_a_limit_closes_the_connection(self):
        self.start_job()
        before = self.memory()
        huge = struct.pack("<Q", 1 << 60)
        key = wire.text("k")
        second = struct.pack("<BI", wire.VALIDATE, wire.MAGIC) + b"\0\1\2\3\4"
        for name, frame in {
            "key": bytes([wire.SET]) + huge + b"x" * 5000,
            "key one byte too long": bytes([wire.GET]) + wire.text(b"k" * 8193),
            "payload": bytes([wire.SET]) + key + struct.pack("<Q", (8 << 20) + 1) + b"x" * 5000,
            "number of keys": bytes([wire.WAIT]) + struct.pack("<Q", 131073),
            "negative number of keys": bytes([11]) + struct.pack("<q", -1),
            "unknown operation": bytes([200]),
            "VALIDATE once more, with a wrong number": second,
        }.items():
            with self.subTest(name):
                client = self.stranger(greet=frame is not second)
                client.send(frame)
                self.assertTrue(client.is_closed_by_peer())
        self.assert_serves()
        self.assertLess(self.memory() - before, 16 * MIB)

    def test_frames_cut_at_every_byte(self):
        self.start_job()
        frame = bytes([wire.SET]) + wire.text("cut") + wire.text("value")
        for length in range(len(frame)):
            self.stranger(frame[:length]).close()
        self.assert_serves()
        with wire.Client(self.port) as client:
            self.assertEqual(b"", client.get("cut"))

    def test_slow_client_is_served_and_keeps_nobody_waiting(self):
        self.start_job()
        slow = self.stranger(greet=False)
        for byte in wire.hello(9) + bytes([wire.ADD]) + wire.text("slow") + struct.pack("<q", 5):
            slow.send(bytes([byte]))
            time.sleep(0.02)  # the test is about a client that takes its time
            self.assert_serves()
        self.assertEqual(struct.pack("<I", 9) + struct.pack("<q", 5), slow.read(12))

    def test_client_that_never_reads_is_bounded(self):
        self.start_job()
        with wire.Client(self.port) as writer:
            writer.set("big", b"x" * (4 << 20))
            self.assertEqual(4 << 20, len(writer.get("big")))
        before = self.memory()
        deaf = self.stranger(seconds=1.0)
        deaf.socket.setblocking(False)
        requests = wire.get_frame("big") * 2000  # 8 GB of answers
        for _ in range(20):
            try:
                sent = deaf.socket.send(requests)
                requests = requests[sent:]
            except BlockingIOError:
                pass
            except ConnectionError:
                break  # closed for being deaf: also a way to stay bounded
            self.assert_serves()
        self.assertLess(self.memory() - before, 64 * MIB)

    def test_client_that_sends_without_end_is_bounded(self):
        """Many half-sent payloads of the greatest size."""
        self.start_job()
        before = self.memory()
        half = bytes([wire.SET]) + wire.text("k") + struct.pack("<Q", 8 << 20) + b"x" * 1000
        for _ in range(500):
            self.stranger(half)
        self.assert_serves()
        self.assertLess(self.memory() - before, 64 * MIB)

    def test_ten_thousand_silent_connections(self):
        wanted = 10_000
        with limits.many_descriptors() as allowed:
            self.need(allowed > wanted + 100, f"room for {wanted} open files")
            self.start_job()
            before = self.memory()
            for _ in range(wanted):
                self.strangers.append(socket.create_connection(("127.0.0.1", self.port), timeout=10))
            self.assert_serves(5.0)
            grown = self.memory() - before
            print(f"\n  {wanted} silent connections: {grown / wanted:.1f} KiB each", flush=True)
            self.assertLess(grown, 100 * MIB)
            self.finish_job_before_strangers_leave()

    def test_more_connections_than_descriptors(self):
        """With few descriptors the store must not spin, and serves again once strangers have left."""
        few = (200, 200)
        self.port = free_port()
        until_told = 'while [ ! -e "$TEST_FOLDER/finish" ]; do sleep 0.05; done\n'
        self.job = self.node(0, 1, 1, self.worker(UP, until_told), port=self.port,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few))
        self.wait_until_up(1, self.job)
        for _ in range(400):
            self.strangers.append(socket.create_connection(("127.0.0.1", self.port), timeout=10))
        agent = self.agent_of(self.job)
        start = processes.cpu_seconds(agent)
        wait_for(lambda: False, 1.0)
        self.assertLess(processes.cpu_seconds(agent) - start, 0.5, "the store spins")
        for client in self.strangers:
            client.close()
        self.strangers.clear()
        self.assert_serves(5.0)

    def finish_job_before_strangers_leave(self):
        (self.folder / "finish").touch()
        self.expect([0], [self.job], seconds=20)

    def test_old_dialect(self):
        """Before VALIDATE existed the first byte was an operation, with numbers one less."""
        self.start_job()
        old = self.stranger(bytes([3]) + wire.text("init/") + struct.pack("<q", 1), greet=False)
        self.assertEqual(1, struct.unpack("<q", old.read(8))[0])
        self.stranger(greet=False)  # its second connection, which stays silent
        self.assert_serves()

    def test_clients_blocked_in_a_wait_do_not_keep_the_job(self):
        self.start_job()
        for _ in range(50):
            self.stranger(bytes([wire.WAIT]) + wire.keys("never"))
        self.finish_job_before_strangers_leave()
