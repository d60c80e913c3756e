"""`--event-log-handler console` under torchrun and under launch: the same lines, but for ids and times."""
import json

from harness import Settings
from torch_job import SECONDS, TorchCase

# What differs from run to run: of these the type alone counts. The host's domain is torchrun's own look-up.
PER_RUN = {"run_id", "worker_id", "worker_pid", "total_run_time", "duration_ms", "hostname"}
FAILS = "if [ $RANK = 1 ]; then sleep 1; exit 7; fi; exec sleep 60"
FAILS_AFTER_GOOD = "if [ $RANK = 1 ]; then sleep 3; exit 7; fi; exit 0"
FAILS_TWICE = "if [ $RANK = 1 ]; then sleep 1; exit 3; fi; exec sleep 60"
# Both launchers make $$ of $$$$.
KILLED = "if [ $RANK = 1 ]; then sleep 1; kill -9 $$$$; fi; exec sleep 60"
ERROR = '{"message":{"message":"E: \\303\\244","extraInfo":{"timestamp":"1"}}}'
WRITES = ("if [ $RANK = 0 ]; then exec sleep 60; fi; sleep 1; "
          f"printf '{ERROR}' > $TORCHELASTIC_ERROR_FILE; exit 5")


def plain(fields):
    """Order, names and values; of what differs each time, types."""
    result = []
    for name, value in fields.items():
        if isinstance(value, dict):
            value = plain(value)
        elif name == "metadata":
            value = plain(json.loads(value))
        elif name in PER_RUN:
            value = [type(one).__name__ for one in value] if isinstance(value, list) else type(value).__name__
        result.append((name, value))
    return result


class SameEvents(TorchCase):
    def events(self, launcher, script, options):
        run = self.start([launcher, "--nproc-per-node=2", "--event-log-handler=console", *options, "--no-python", "sh",
                          "-c", script])
        self.finish(run, seconds=SECONDS)
        lines = [line for line in run.err.splitlines() if line.startswith('{"name"')]
        events = [json.loads(line) for line in lines]
        self.assertEqual(lines, [json.dumps(event) for event in events], "not laid out as Python does")
        return [plain(event) for event in events]

    def assert_same(self, script, *options):
        theirs = self.events(self.torchrun(), script, options)
        self.assertGreater(len(theirs), 4)
        self.assertEqual(theirs, self.events(Settings.launch, script, options))

    def test_success(self):
        self.assert_same("exit 0")

    def test_failure(self):
        self.assert_same(FAILS)

    def test_failure_after_a_good_end(self):
        self.assert_same(FAILS_AFTER_GOOD)

    def test_a_signal(self):
        self.assert_same(KILLED)

    def test_an_error_file(self):
        self.assert_same(WRITES)

    def test_restart(self):
        self.assert_same(FAILS_TWICE, "--max-restarts=1", "--role=tr\u00e9")

    def test_static_rendezvous(self):
        self.assert_same("exit 0", "--master-addr=127.0.0.1", "--master-port=29871", "--rdzv-backend=static",
                         "--rdzv-endpoint=127.0.0.1:29871", "--rdzv-id=j")
