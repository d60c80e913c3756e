"""A real Prometheus scrapes jobs of launch, and its promtool checks their metrics."""
import functools
import json
import pathlib
import shutil
import subprocess
import urllib.parse
import urllib.request

from code_blocks import blocks_with
from harness import ROOT, free_port, wait_for
from job import UP, JobCase
from scraping import ask, port_of

GO = 'while [ ! -e "$TEST_FOLDER/go" ]; do sleep 0.02; done\n'
FAILS_FIRST = '[ "$RANK$TORCHELASTIC_RESTART_COUNT" = 10 ] && exit 7\n'
# Panels of the board for what these jobs have not: an end, and workers that talk to the store.
EMPTY = ("Exit code", "Requests to the store", "Time of a request to the store")


class Prometheus(JobCase):
    def tool(self, name):
        path = shutil.which(name)
        self.need(path, f"{name} (scripts/install_dependencies clusters)")
        return path

    def check(self, text):
        """promtool finds nothing to say about this text."""
        run = subprocess.run([self.tool("promtool"), "check", "metrics"], input=text, text=True, capture_output=True,
                             check=False)
        self.assertEqual((0, "", ""), (run.returncode, run.stdout, run.stderr), text)

    def config(self, targets, interval):
        """The block of the document, with these targets."""
        (block,) = blocks_with("docs/metrics.md", "scrape_configs:")
        said = '["node0.example:9400", "node1.example:9400"]'
        self.assertIn(said, block.text)
        text = block.text.replace(said, json.dumps(targets)).replace("15s", interval)
        path = self.folder / "prometheus.yml"
        path.write_text(text + "\n")
        return path

    def query(self, port, expression):
        """label set as text -> value"""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?" +
                                    urllib.parse.urlencode({"query": expression}), timeout=20) as reply:
            found = json.load(reply)["data"]["result"]
        return {json.dumps(one["metric"], sort_keys=True): float(one["value"][1]) for one in found}

    def values(self, port, expression):
        try:
            return sorted(self.query(port, expression).values())
        except OSError:
            return []  # it does not listen yet

    def wait_for_values(self, port, expression, values):
        self.assertTrue(wait_for(lambda: self.values(port, expression) == values, 60),
                        f"{expression}: {self.values(port, expression)}\n{self.runs[-1]}")

    def job(self, *parts, options=()):
        run = self.launch("--nproc-per-node=2", "--metrics=:0", *options, self.worker(*parts))
        self.assertTrue(wait_for(lambda: port_of(run), 20), str(run))
        return run

    def start_prometheus(self, config):
        port = free_port()
        self.start([self.tool("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={self.folder}/tsdb",
                    f"--web.listen-address=127.0.0.1:{port}"])
        return port

    def test_a_job_is_scraped(self):
        self.tool("prometheus")
        options = ["--max-restarts=1", "--progress=step ([0-9]+)", "--hang-timeout=600"]
        jobs = [self.job(UP, "echo hear me >&2\n", "echo step 1; sleep 0.2; echo step 2\n", FAILS_FIRST, GO,
                         options=[f"--rdzv-id=j{i}", *options]) for i in range(2)]
        port = self.start_prometheus(self.config([f"127.0.0.1:{port_of(job)}" for job in jobs], "1s"))
        self.wait_for_values(port, "up", [1, 1])
        self.wait_for_values(port, 'launch_workers{state="running"}', [2, 2])
        self.wait_for_values(port, 'launch_restarts_total{cause="failure"}', [1, 1])
        self.wait_for_values(port, "launch_recovery_seconds_count", [1, 1])
        self.wait_for_values(port, 'launch_output_bytes_total{stream="stderr"} >= bool 24', [1, 1])
        (block,) = blocks_with("docs/metrics.md", "launch_workers{state=")
        joined = "".join(self.query(port, block.text))
        for run_id in ("j0", "j1"):
            self.assertIn(f'"run_id": "{run_id}"', joined)
        self.check_board(port)
        (self.folder / "go").touch()
        self.expect([0, 0], jobs)
        self.runs[-1].signal(15)
        self.finish(self.runs[-1])

    def check_board(self, port):
        """Each query of the board is one that Prometheus understands, and has an answer."""
        board = json.loads((ROOT / "docs/grafana-dashboard.json").read_text())
        for panel in board["panels"]:
            for target in panel["targets"]:
                expression = target["expr"]
                for name, value in (("$__rate_interval", "1m"), ("$job", "j.*"), ("$node", ".*")):
                    expression = expression.replace(name, value)
                if panel["title"] in EMPTY:
                    self.assertEqual({}, self.query(port, expression))
                else:
                    found = wait_for(functools.partial(self.query, port, expression), 20)
                    self.assertTrue(found, f"{panel['title']}: {expression}")

    def test_promtool_has_nothing_to_say(self):
        self.tool("promtool")
        job = self.job(UP, "echo hear me >&2\n", FAILS_FIRST, GO, options=["--max-restarts=1", "--tee=1"])
        self.assertTrue(wait_for(lambda: "launch_recovery_seconds_count 1" in ask(port_of(job))[2], 20), str(job))
        self.check(ask(port_of(job))[2])
        (self.folder / "go").touch()
        self.expect([0], [job])

    def test_promtool_has_nothing_to_say_of_the_texts_of_the_tests(self):
        """It reads classic text alone."""
        self.check(pathlib.Path(ROOT / "tests/data/metrics.prom").read_text())
