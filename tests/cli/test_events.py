"""--events: what happens, a line of JSON each; and --event-log-handler console, torchrun's lines."""
import json
import os
import stat

from job import SHELL, SLEEP, UNTIL_ALL_UP, UP, JobCase

COMMON = ["event", "time", "monotonic", "run_id", "node_rank", "host", "restart"]
OWN = {
    "job_started": ["version", "program", "command", "nnodes", "nproc_per_node"],
    "rendezvous_formed": ["group_rank", "nodes", "world_size", "base_rank", "restarts", "duration_s"],
    "worker_started": ["rank", "local_rank", "pid"],
    "worker_exited": ["rank", "local_rank", "pid", "exit_code", "signal", "signal_name", "after_s"],
    "stopping": ["signal", "signal_name", "reason"],
    "killing": ["pids"],
    "restart": ["reason", "number"],
    "peer_failed": ["failure"],
    "progress": ["least_step", "most_step", "rate"],
    "hang": ["quiet_s", "places"],
    "user_asked": ["what", "by"],
    "job_ended": ["exit_code", "failure"],
}
FAILS = '[ "$RANK" = 1 ] && exit 7\n'
FAILS_FIRST = '[ "$RANK$TORCHELASTIC_RESTART_COUNT" = 10 ] && exit 7\n'


class Events(JobCase):
    @property
    def file(self):
        return self.folder / "events"

    def read(self, text=None):
        """The events, after a look at the form of each."""
        events = [json.loads(line) for line in (text or self.file.read_text()).splitlines()]
        for event in events:
            self.assertEqual(COMMON + OWN[event["event"]], list(event), event)
        return events

    def names(self, events):
        return [event["event"] for event in events]

    def run_one(self, code, *parts, options=()):
        run = self.launch("--nproc-per-node=2", f"--events={self.file}", *options, self.worker(*parts))
        self.expect([code], [run])
        return self.read()

    def test_success(self):
        events = self.run_one(0, "exit 0\n", options=["--rdzv-id=job7"])
        self.assertEqual(["job_started", "rendezvous_formed"] + ["worker_started"] * 2 + ["worker_exited"] * 2
                         + ["job_ended"], sorted(self.names(events), key=self.in_order))
        self.assertEqual(("job_started", "job_ended"), (events[0]["event"], events[-1]["event"]))
        self.assertEqual([0, None], [events[-1]["exit_code"], events[-1]["failure"]])
        self.assertEqual({0}, {event["node_rank"] for event in events})
        self.assertEqual({"job7"}, {event["run_id"] for event in events})
        clock = [event["monotonic"] for event in events]
        self.assertEqual(sorted(clock), clock)
        started = {event["rank"]: event["pid"] for event in events if event["event"] == "worker_started"}
        exited = {event["rank"]: event["pid"] for event in events if event["event"] == "worker_exited"}
        self.assertEqual([0, 1], sorted(started))
        self.assertEqual(started, exited)

    @staticmethod
    def in_order(name):
        return list(OWN).index(name)

    def test_failure(self):
        events = self.run_one(7, UP, UNTIL_ALL_UP, FAILS, SLEEP)
        self.assertEqual(["worker_exited", "stopping", "worker_exited", "job_ended"], self.names(events)[-4:])
        failed, stopping, stopped, end = events[-4:]
        self.assertEqual((1, 7, None), (failed["rank"], failed["exit_code"], failed["signal"]))
        self.assertRegex(stopping["reason"], "rank 1 .*exit code 7")
        self.assertEqual((0, None, 15, "SIGTERM"), tuple(stopped[name] for name in
                                                         ("rank", "exit_code", "signal", "signal_name")))
        self.assertEqual((7, "worker", failed["pid"]),
                         (end["exit_code"], end["failure"]["kind"], end["failure"]["pid"]))

    def test_sigkill(self):
        events = self.run_one(7, "trap '' TERM\n", UP, UNTIL_ALL_UP, FAILS, "sleep 300\n",
                              options=["--shutdown-timeout=1"])
        (killing,) = [event for event in events if event["event"] == "killing"]
        self.assertGreaterEqual(killing["pids"], 1)

    def test_restart(self):
        events = self.run_one(0, UP, UNTIL_ALL_UP, FAILS_FIRST, "exit 0\n", options=["--max-restarts=1"])
        self.assertEqual(2, self.names(events).count("rendezvous_formed"))
        at = self.names(events).index("restart")
        self.assertEqual(1, events[at]["number"])
        self.assertEqual({0}, {event["restart"] for event in events[:at + 1]})
        self.assertEqual({1}, {event["restart"] for event in events[at + 1:]})

    def test_two_nodes_share_a_file(self):
        runs = self.nodes([1, 1], self.worker(UP, UNTIL_ALL_UP, FAILS, SLEEP), options=[f"--events={self.file}"])
        self.expect([7, 7], runs)
        events = self.read()
        self.assertEqual({0, 1}, {event["node_rank"] for event in events})
        ends = [event for event in events if event["event"] == "job_ended"]
        self.assertEqual([(7, 1)] * 2, [(end["exit_code"], end["failure"]["rank"]) for end in ends])
        (told,) = [event for event in events if event["event"] == "peer_failed"]
        self.assertEqual((0, 1), (told["node_rank"], told["failure"]["node_rank"]))

    def test_a_node_without_rank(self):
        runs = self.elastic(2, self.worker("exit 0\n"), options=[f"--events={self.file}"])
        self.expect([0, 0], runs)
        by_name = {}
        for event in self.read():
            by_name.setdefault(event["event"], []).append(event["node_rank"])
        self.assertEqual([None, None], by_name["job_started"])
        self.assertEqual([0, 1], sorted(by_name["job_ended"]))

    def test_standard_output(self):
        run = self.launch("--events", "-", "--nproc-per-node=2", self.worker("exit 0\n"))
        self.expect([0], [run])
        self.assertEqual("job_ended", self.read(run.out)[-1]["event"])

    def test_bad_paths(self):
        for path in (self.folder, self.folder / "no" / "file", "/dev/null/x"):
            with self.subTest(path=path):
                run = self.launch(f"--events={path}", self.worker(UP))
                self.expect([2], [run], seconds=10)
                self.assertRegex(run.err, rf"^launch: error: --events {path}: ", str(run))
                self.assertEqual(1, len(run.err.splitlines()), str(run))
                self.assertEqual([], self.up())

    def test_a_full_disk_ends_nothing(self):
        self.need(os.path.exists("/dev/full") and stat.S_ISCHR(os.stat("/dev/full").st_mode), "/dev/full")
        run = self.launch("--events=/dev/full", self.worker("exit 0\n"))
        self.expect([0], [run])
        self.assertEqual(1, run.err.count("cannot write events"), str(run))

    def test_a_closed_pipe_ends_nothing(self):
        reader, writer = os.pipe()
        os.close(reader)
        run = self.launch("--events=-", self.worker("exit 0\n"), stdout=writer)
        os.close(writer)
        self.expect([0], [run])
        self.assertEqual(1, run.err.count("cannot write events"), str(run))

    def test_nothing_is_started_by_a_look(self):
        self.output_of("--explain", f"--events={self.file}", self.worker("exit 0\n"))
        self.assertFalse(self.file.exists())

    def states(self, run):
        events = [json.loads(line) for line in run.err.splitlines() if line.startswith("{")]
        return [(event["source"], event["metadata"]["state"]) for event in events]

    def test_lines_of_torchrun(self):
        begin = [("AGENT", "RENDEZVOUS"), ("AGENT", "ASSIGN_WORKER_RANKS")] + [("WORKER", "START")] * 2
        for code, parts, end in ((0, ["exit 0\n"], ["SUCCEEDED", "SUCCEEDED"]),
                                 (7, ['[ "$RANK" = 0 ] && exit 0\n', "sleep 0.5\n", "exit 7\n"],
                                  ["TERMINATED", "FAILED"])):
            run = self.launch("--nproc-per-node=2", "--event-log-handler=console", self.worker(*parts))
            self.expect([code], [run])
            self.assertEqual(begin + [("WORKER", state) for state in end] + [("AGENT", "SUCCEEDED")],
                             self.states(run), str(run))

    def test_lines_of_torchrun_where_the_agent_fails(self):
        run = self.launch("--event-log-handler=console", "--no-python", "./nothing")
        self.expect([127], [run])
        self.assertEqual(("AGENT", "FAILED"), self.states(run)[-1], str(run))
        self.assertNotIn(("WORKER", "START"), self.states(run))

    def test_silent_handlers(self):
        for name in ("null", "dynamic_rendezvous"):
            run = self.launch(f"--event-log-handler={name}", self.program(SHELL, "quiet"))
            self.expect([0], [run])
            self.assertEqual("", run.err)
