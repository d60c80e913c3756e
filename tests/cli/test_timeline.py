"""launch-ctl timeline and --timeline: how long each worker took to start, and which the others waited for."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import test_control
import wire
from harness import free_port, wait_for

WORKERS = pathlib.Path(__file__).resolve().parent / "workers"
MILLISECOND = 0.001  # to which the age of a connection is told
ARRIVES = (sys.executable, WORKERS / "arrives.py")


class TimelineCase(test_control.ControlCase):
    def job_of(self, *arguments, nproc=2, options=()):
        return self.launch(f"--nproc-per-node={nproc}", "--rdzv-id=one", *options, "--no-python", *ARRIVES, *arguments)

    def two_nodes(self, *arguments, sizes=(2, 2), options=()):
        return self.nodes(sizes, "--no-python", *ARRIVES, *arguments, options=("--rdzv-id=one", *options))

    def files(self, *names):
        return f"--timeline={','.join(str(self.folder / name) for name in names)}"

    def workers(self):
        return [worker for node in self.reports("timeline") for worker in node["workers"]]

    def events(self, name):
        text = (self.folder / "events").read_text()
        return [event for event in map(json.loads, text.splitlines()) if event["event"] == name]


class Screens(TimelineCase):
    def test_who_is_missing(self):
        options = ("--tee=3", f"--log-dir={self.folder}/logs", "--progress=step ([0-9]+)")
        runs = self.two_nodes("hold=3", options=options)
        self.wait_until_up(4, *runs)
        self.assertTrue(wait_for(lambda: "its first output" in self.ask("timeline").out, 20))
        screen = self.ask("timeline").out
        self.assertRegex(screen, r"\n1 of 4 ranks has not joined; the others wait for it\n"
                                 r"rank 3 on node 1 \(\S+\) has not joined: [\d.]+ s since its exec, its first output "
                                 r"was after [\d.]+ s\n")
        self.assertEqual([True] * 3 + [False], ["store_age_s" in worker for worker in self.workers()])
        (self.folder / "go").touch()
        self.assertTrue(wait_for(lambda: "all 4 ranks have joined" in self.ask("timeline").out, 20))
        self.assertTrue(wait_for(lambda: all("first_step_age_s" in worker for worker in self.workers()), 10))
        workers = self.workers()
        for worker in workers:
            started, output, store, step = (worker[f"{name}_age_s"]
                                            for name in ("started", "first_output", "store", "first_step"))
            self.assertGreater(started, output, worker)
            self.assertGreaterEqual(output, step, worker)
            if worker["rank"] < 2:  # the other node is asked a moment later
                self.assertGreater(started, store, worker)
                self.assertGreaterEqual(store + MILLISECOND, step, worker)
            self.assertNotIn("pids", worker)
        last = min(workers, key=lambda worker: worker["store_age_s"])
        self.assertEqual(3, last["rank"])
        first_row = self.ask("timeline").out.partition("  rank ")[2].splitlines()[1]
        self.assertRegex(first_row, r"^ +3 +1 \S+ +[\d.]+ s +[\d.]+ s +=")
        self.stop(*runs)

    def test_the_client_may_be_a_child_of_the_worker(self):
        command = " ".join(map(str, ARRIVES))
        run = self.launch("--nproc-per-node=2", "--rdzv-id=one", "--no-python", "sh", "-c", f"{command} & wait")
        self.wait_until_up(2, run)
        self.assertEqual([True] * 2, ["store_age_s" in worker for worker in self.workers()])
        self.stop(run)

    def test_nodes_that_find_each_other(self):
        runs = self.elastic(2, "--no-python", *ARRIVES, options=(f"--events={self.folder}/events",))
        self.wait_until_up(2, *runs)
        self.assertTrue(wait_for(lambda: self.events("startup"), 20))
        (event,) = self.events("startup")
        self.assertEqual(2, event["world_size"])
        self.assertEqual([True] * 2, ["store_age_s" in worker for worker in self.workers()])
        self.stop(*runs)

    def test_programs_that_use_no_store(self):
        run = self.job(test_control.UP, test_control.SLEEP)
        self.assertRegex(self.ask("timeline").out,
                         r"it is not known which ranks have joined: no process of a worker has connected to the "
                         r"job's store\nrank 0 on node 0 \(\S+\) was not seen at the store: "
                         r"[\d.]+ s since its exec, no output that launch has seen\n")
        self.stop(run)


class Told(TimelineCase):
    def test_a_quick_start_is_an_event_and_no_message(self):
        runs = self.two_nodes(options=(f"--events={self.folder}/events",))
        self.wait_until_up(4, *runs)
        self.assertTrue(wait_for(lambda: self.events("startup"), 20))
        (event,) = self.events("startup")
        self.assertEqual((0, 4), (event["node_rank"], event["world_size"]))
        self.assertLessEqual(event["median_s"], event["formed_s"])
        self.assertRegex(event["slowest"][-1], r"^rank \d on node \d \(\S+\) joined after [\d.]+ s: ")
        self.assertNotIn("have joined", runs[0].err + runs[1].err)
        self.ask("restart")
        self.assertTrue(wait_for(lambda: len(self.events("startup")) == 2, 20), "each round has one")
        self.stop(*runs)

    def test_files_of_node_0(self):
        runs = self.two_nodes(options=(self.files("start.html", "start.json"),))
        self.wait_until_up(4, *runs)
        self.assertTrue(wait_for((self.folder / "start.json").exists, 20))
        page = (self.folder / "start.html").read_text()
        self.assertEqual(4, len(re.findall(r"<title>rank \d on node [01] ", page)))
        trace = json.loads((self.folder / "start.json").read_text())
        self.assertEqual({0, 1, 2, 3}, {event["tid"] for event in trace["traceEvents"] if event["ph"] == "X"})
        self.assertEqual([], list(self.folder.glob("*.new")))
        self.stop(*runs)

    def connect(self, port, pids):
        """Processes that the user has started beside the job use keys of the workers."""
        for pid in pids:
            one = wire.Client(port, "127.0.0.1", seconds=60.0, greet=False)
            self.addCleanup(one.close)
            one.send(wire.hello(pid))
            one.read(4)
            one.add("stranger", 1)
            self.assertIn("it is not known which ranks have joined", self.ask("timeline").out)

    def test_processes_that_are_no_workers_do_not_end_the_watch(self):
        port = free_port()
        options = ("--rdzv-id=one", self.files("start.json"), "--no-python")
        run = self.node(0, 1, 2, *ARRIVES, "hold=1", options=options, port=port)
        self.wait_until_up(2, run)
        self.connect(port, range(3_000_000, 3_000_008))
        (self.folder / "go").touch()
        self.assertTrue(wait_for((self.folder / "start.json").exists, 60), run)
        self.stop(run)
        self.assertNotIn("did not write", run.err)

    def test_a_process_that_comes_early_does_not_end_the_watch(self):
        port = free_port()
        run = self.node(0, 1, 2, *ARRIVES, "hold=1", options=("--rdzv-id=one", "--no-python"), port=port)
        self.wait_until_up(2, run)
        self.connect(port, [3_000_000])
        self.assertTrue(wait_for(lambda: min(worker["started_age_s"] for worker in self.workers()) > 10.5, 60))
        (self.folder / "go").touch()
        self.assertTrue(wait_for(lambda: "all 2 ranks have joined" in run.err, 30), run)
        self.stop(run)

    def test_a_node_that_answers_late_is_asked_again(self):
        runs = self.two_nodes("hold=3", options=(self.files("start.json"), "--heartbeat-timeout=60"))
        self.wait_until_up(4, *runs)
        (self.folder / "up.3").unlink()
        agent = self.agent_of(runs[1])
        os.kill(agent, signal.SIGSTOP)
        (self.folder / "go").touch()
        self.assertTrue(wait_for((self.folder / "up.3").exists, 20))
        self.assertIn("\nnode 1: ", self.ask("timeline").out)  # it is asked later than by node 0 itself
        os.kill(agent, signal.SIGCONT)
        self.assertTrue(wait_for((self.folder / "start.json").exists, 60), runs[0])
        trace = json.loads((self.folder / "start.json").read_text())
        self.assertEqual({0, 1, 2, 3}, {event["tid"] for event in trace["traceEvents"] if event["ph"] == "X"})
        self.stop(*runs)

    def test_a_file_that_was_never_written_is_a_warning(self):
        run = self.job(test_control.UP, test_control.SLEEP, options=(self.files("start.html"),))
        self.stop(run)
        self.assert_says(run, r"did not write --timeline \S+/start.html: no process of a worker has connected to the "
                              r"job's store")
        runs = self.two_nodes("hold=3", options=(self.files("start.html", "start.json"),))
        self.wait_until_up(4, *runs)
        self.stop(*runs)
        self.assert_says(runs[0], r"did not write --timeline \S+/start.html,\S+/start.json: the job ended before all "
                                  r"4 ranks had joined")
        self.assertNotIn("did not write", runs[1].err)

    def test_a_file_that_cannot_be_written_is_a_warning(self):
        (self.folder / "folder.html").mkdir()
        run = self.job_of(options=(self.files("folder.html", "missing/start.json"),))
        self.wait_until_up(2, run)
        self.assertTrue(wait_for(lambda: run.err.count("cannot write --timeline") == 2, 20), run)
        self.assertIn("No such file or directory", run.err)
        self.stop(run)

    def test_the_slow_node_is_the_first_line(self):
        preload = self.folder / "slow_imports.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", preload, WORKERS / "slow_imports.c"], check=True)
        slow = {"LD_PRELOAD": str(preload), "IMPORT_DELAY_MS": "250"}
        port = free_port()
        options = ("--rdzv-id=one", self.files("start.html"), "--no-python")
        runs = [self.node(rank, 2, 32, *ARRIVES, options=options, port=port, env=env)
                for rank, env in enumerate(({}, slow))]
        self.assertTrue(wait_for(lambda: "all 64 ranks have joined" in runs[0].err, 120), runs[0])
        self.assertTrue(wait_for(lambda: runs[0].err.count(" joined after ") == 5, 10), runs[0])
        self.assert_says(runs[0], r"launch: all 64 ranks have joined: [\d.]+ s after the first exec "
                                  r"\(median [\d.]+ s\)\n"
                                  r"launch:   slowest node: node 1 \(\S+\), median [\d.]+ s; .*\n"
                                  r"launch:   rank (3[2-9]|[4-6]\d) on node 1 ")
        self.assertEqual(5, len(re.findall(r"rank \d+ on node 1 \(\S+\) joined after", runs[0].err)))
        self.assertNotIn("have joined", runs[1].err)
        rows = [line for line in self.ask("timeline").out.splitlines() if re.match(r" +\d+ +\d ", line)]
        self.assertEqual(["1", "0"] + ["1"] * 5, [row.split()[1] for row in rows])
        self.stop(*runs)
