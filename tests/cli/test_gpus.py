"""What launch knows of NVIDIA's GPUs: errors that the driver reports, and the memory of workers, of a stand-in."""
import json
import os
import pathlib
import subprocess

from harness import Settings, wait_for
from job import SLEEP, UP, JobCase

NAMESPACE = ["unshare", *["--map-root-user"] * (os.geteuid() != 0), "--mount"]
# A /dev with one GPU and a kernel's log of its own, in which the program runs.
DEVICES = """mount -t tmpfs launch-test "$0" || exit 98
for name in null zero full random urandom tty; do
  : > "$0/$name"; mount --bind "/dev/$name" "$0/$name" || exit 98
done
ln -s /proc/self/fd "$0/fd"; mkdir "$0/shm"; : > "$0/kmsg"; : > "$0/nvidiactl"; : > "$0/nvidia0"
mount --rbind "$0" /dev || exit 98
exec "$@"
"""
STAND_IN = pathlib.Path(__file__).parents[1] / "io" / "gpu_stand_in.c"
XID = 'echo "4,1,{},-;NVRM: Xid (PCI:0000:3b:00): {}, pid={}, name=python, words of the driver" >> /dev/kmsg\n'
OPEN = 'exec 7< /dev/nvidia0\n'


class GpuCase(JobCase):
    def setUp(self):
        super().setUp()
        self.devices = self.folder / "dev"
        self.devices.mkdir()
        self.gpus = self.folder / "gpus"
        tried = subprocess.run([*NAMESPACE, "sh", "-c", DEVICES, self.devices, "true"], check=False,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.need(tried.returncode == 0, f"a mount namespace (root) ({tried.stdout.decode(errors='replace').strip()})")

    def with_library(self):
        """The environment in which the stand-in is found."""
        library = self.folder / "lib" / "libnvidia-ml.so.1"
        library.parent.mkdir(exist_ok=True)
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", library, STAND_IN], check=True)
        return {"LD_LIBRARY_PATH": str(library.parent), "GPU_STAND_IN": str(self.gpus),
                "LAUNCH_DOORS": str(self.folder / "doors")}

    def on_gpu(self, *arguments, env=None):
        return self.start([*NAMESPACE, "sh", "-c", DEVICES, self.devices, Settings.launch, *arguments], env=env)

    def say(self, run, *patterns):
        for pattern in patterns:
            self.assertRegex(run.err, pattern)


class DriverErrors(GpuCase):
    def test_the_note_of_a_failed_worker_tells_of_an_xid(self):
        run = self.on_gpu(self.worker(XID.format(1, 79, "$$"), "exit 7\n"))
        self.expect([7], [run])
        self.say(run, r"\n  note +the driver reported Xid 79 on GPU 0000:3b:00\.0 \(the GPU has fallen off the bus\)"
                      r"(, pid \d+)?, [^\n]+ before rank 0 ended\n")

    def test_what_was_reported_before_the_attempt_is_not_told(self):
        only_once = 'if [ "$TORCHELASTIC_RESTART_COUNT" = 0 ]; then\n' + XID.format(1, 79, "$$") + "fi\nexit 7\n"
        run = self.on_gpu("--max-restarts=1", self.worker(only_once))
        self.expect([7], [run])
        self.assertNotIn("Xid", run.err)

    def test_a_process_that_is_not_of_the_job_is_not_told_of(self):
        run = self.on_gpu(self.worker(XID.format(1, 31, 1), "exit 7\n"))
        self.expect([7], [run])
        if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
            self.skipTest("in a container the host's pids are not known")
        self.assertNotIn("Xid", run.err)

    def test_a_worker_that_ends_well_is_no_failure(self):
        run = self.on_gpu(self.worker(XID.format(1, 63, "$$")))
        self.expect([0], [run])
        self.assertNotIn("Xid", run.err)


class Memory(GpuCase):
    def setUp(self):
        super().setUp()
        (self.folder / "launch-ctl").symlink_to(Settings.launch)

    def status(self, *words):
        run = self.start([self.folder / "launch-ctl", "status", *words],
                         env={"LAUNCH_DOORS": str(self.folder / "doors")})
        self.expect([0], [run])
        return run.out

    def memory(self):
        return [worker.get("gpu_memory_bytes") for worker in json.loads(self.status("--json"))["workers"]]

    def test_status_shows_what_workers_and_their_children_have_on_gpus(self):
        note = 'exec 7< /dev/nvidia0\nsleep 300 & echo $$ $! > "$TEST_FOLDER/pids.$RANK"\n'
        run = self.on_gpu("--nproc-per-node=2", self.worker(note, UP, "wait\n"), env=self.with_library())
        self.wait_until_up(2, run)
        pids = [(self.folder / f"pids.{rank}").read_text().split() for rank in range(2)]
        self.gpus.write_text(f"gpu GPU-1 9000 10000 1\nprocess {pids[0][0]} 1000\nprocess {pids[0][1]} 24\n"
                             f"gpu GPU-2 9000 10000 1\nprocess {pids[1][0]} 3145728\nprocess 1 9\n")
        if not wait_for(lambda: self.memory() == [1024, 3145728], 20):
            self.fail(f"{self.memory()}\n{run}")
        self.assertRegex(self.status(), r"memory +gpu mem\n(.*\n)* +0 .* 1 KiB(.*\n)* +1 .* 3 MiB")
        run.signal(15)
        self.expect([143], [run])

    def test_a_library_that_hangs_holds_nothing_up(self):
        run = self.on_gpu(self.worker(OPEN, UP, SLEEP), env=self.with_library())
        self.gpus.write_text("hang\n")
        self.wait_until_up(1, run)
        self.assertEqual([None], self.memory())
        run.signal(15)
        self.expect([143], [run])
        self.assertNotIn("left behind", run.err)

    def test_nothing_is_asked_if_no_worker_uses_a_gpu(self):
        run = self.on_gpu(self.worker(UP, SLEEP), env=self.with_library())
        self.gpus.write_text("gpu GPU-1 9000 10000 1\nprocess 1 9\n")
        self.wait_until_up(1, run)
        self.assertEqual([None], self.memory())
        self.assertNotIn("gpu mem", self.status())
        run.signal(15)
        self.expect([143], [run])


class WaitForMemory(GpuCase):
    """The worker holds memory; it stays held after its end, until the test frees it."""
    HOLD = ('echo "gpu GPU-1 9000 10000 1 process $$ 8000" > "$GPU_STAND_IN"\n'
            'echo "$TORCHELASTIC_RESTART_COUNT" >> "$TEST_FOLDER/starts"\n'
            'exit 7\n')
    WAITS = r"launch: waiting for the memory of the GPUs, {} at most: GPU 0 by pid \d+\n"

    def job(self, seconds, **options):
        self.gpus.write_text("gpu GPU-1 1000 10000 1\n")
        return self.start([Settings.launch, "--max-restarts=1", f"--wait-gpu-memory={seconds}", self.worker(self.HOLD)],
                          env=self.with_library(), **options)

    def starts(self):
        path = self.folder / "starts"
        return path.read_text().split() if path.exists() else []

    def wait_until_it_waits(self, run):
        if not wait_for(lambda: "waiting for the memory of the GPUs" in run.err, 20):
            self.fail(f"it does not wait\n{run}")
        self.assertEqual(["0"], self.starts())

    def test_a_restart_waits_until_the_memory_is_free(self):
        run = self.job(60)
        self.wait_until_it_waits(run)
        self.gpus.write_text("gpu GPU-1 1400 10000 1\n")
        self.expect([7], [run], seconds=20)
        self.assertEqual(["0", "1"], self.starts())
        self.say(run, self.WAITS.format("60 s"), r"launch: the memory of the GPUs is free after [\d.]+ m?s\n")

    def test_when_the_time_is_over_the_workers_start_all_the_same(self):
        run = self.job(0.5)
        self.expect([7], [run], seconds=20)
        self.assertEqual(["0", "1"], self.starts())
        self.say(run, self.WAITS.format("500 ms"),
                 r"the memory of the GPUs is not free after 500 ms \(--wait-gpu-memory\): GPU 0 by pid \d+; starting "
                 r"the workers all the same\n")

    def test_a_signal_ends_the_wait(self):
        run = self.job(600)
        self.wait_until_it_waits(run)
        run.signal(15)
        self.expect([143], [run], seconds=20)
        self.assertEqual(["0"], self.starts())

    def test_without_the_library_nothing_is_waited_for(self):
        run = self.launch("--verbose", "--max-restarts=1", "--wait-gpu-memory=600",
                          self.worker('echo "$TORCHELASTIC_RESTART_COUNT" >> "$TEST_FOLDER/starts"\nexit 7\n'),
                          env={"LD_LIBRARY_PATH": "/nowhere"})
        self.expect([7], [run], seconds=20)
        self.assertEqual(["0", "1"], self.starts())
        self.assertEqual(1, run.err.count("--wait-gpu-memory: no restart will wait"), run.err)
