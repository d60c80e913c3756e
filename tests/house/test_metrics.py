"""docs/metrics.md and the board for Grafana have the families that launch writes, all of them and no other."""
import json
import re
import sys
import unittest

import yaml
from harness import ROOT

sys.path.append(str(ROOT / "tests/cli"))
from code_blocks import blocks_with  # noqa: E402

NAME = re.compile(r"\b(?:launch|process)_[a-z_]+\b")
ENDINGS = {"counter": ["_total"], "info": ["_info"], "histogram": ["", "_bucket", "_count", "_sum"], "gauge": [""]}


def families():
    """Name -> type, from the one table of them."""
    text = (ROOT / "src/core/metrics/metrics_text.cpp").read_text()
    table = text.partition("family_rows = {{")[2].partition("}};")[0]
    return dict(re.findall(r'\{"(\w+)", (\w+),', table))


def names():
    """Of the samples; family -> what a query may name."""
    return {name: [name + ending for ending in ENDINGS[kind]] for name, kind in families().items()}


class Metrics(unittest.TestCase):
    def test_the_table_is_read(self):
        self.assertGreater(len(families()), 15)
        self.assertEqual({"counter", "gauge", "histogram", "info"}, set(families().values()))

    def test_the_document_has_every_family_and_no_other(self):
        rows = re.findall(r"^\| `(\w+)` \| (\w+)", (ROOT / "docs/metrics.md").read_text(), re.M)
        kinds = {name: "gauge" if kind == "info" else kind for name, kind in families().items()}
        self.assertEqual({names()[name][0]: kind for name, kind in kinds.items()}, dict(rows))

    def test_the_document_names_nothing_else(self):
        known = {name for all_of_one in names().values() for name in all_of_one}
        self.assertEqual(set(), set(NAME.findall((ROOT / "docs/metrics.md").read_text())) - known)

    def test_the_board_uses_what_there_is(self):
        board = json.loads((ROOT / "docs/grafana-dashboard.json").read_text())
        used = set()
        for panel in board["panels"]:
            for target in panel["targets"]:
                used |= set(NAME.findall(target["expr"]))
        for variable in board["templating"]["list"]:
            used |= set(NAME.findall(str(variable["query"])))
        known = {name for all_of_one in names().values() for name in all_of_one}
        self.assertEqual(set(), used - known)
        unused = {family for family, all_of_one in names().items() if not used & set(all_of_one)}
        self.assertEqual({"launch_start_time_seconds"}, unused)

    def test_the_board_is_one_of_grafana(self):
        board = json.loads((ROOT / "docs/grafana-dashboard.json").read_text())
        self.assertGreaterEqual(board["schemaVersion"], 38)  # of Grafana 10
        ids = [panel["id"] for panel in board["panels"]]
        self.assertEqual(sorted(set(ids)), sorted(ids))
        taken = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells
            self.assertEqual({"type": "prometheus", "uid": "${datasource}"}, panel["datasource"])

    def test_the_probes_of_the_document(self):
        (block,) = blocks_with("docs/metrics.md", "metadata:")
        pod = yaml.safe_load(block.text)
        (container,) = pod["spec"]["containers"]
        (port,) = container["ports"]
        self.assertEqual(f"--metrics=0.0.0.0:{port['containerPort']}", container["args"][0])
        self.assertEqual(str(port["containerPort"]), pod["metadata"]["annotations"]["prometheus.io/port"])
        for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
            self.assertEqual({"path": path, "port": port["name"]}, container[probe]["httpGet"])

    def test_the_monitor_of_the_document(self):
        (block,) = blocks_with("docs/metrics.md", "apiVersion: monitoring")
        (endpoint,) = yaml.safe_load(block.text)["spec"]["podMetricsEndpoints"]
        self.assertEqual({"port": "metrics", "path": "/metrics", "interval": "15s"}, endpoint)
