"""The manifests of docs/kubernetes.md are played: pods with the names and the variables that their controllers give.

What the controllers do is as in their sources, see test_manifests of tests/house; there the fields are looked at.
"""
import dataclasses
import json
import re
import shlex

import hosts
import yaml
from block_case import BlockCase, shows
from harness import ROOT

DOMAIN = "default.svc.cluster.local"


@dataclasses.dataclass
class Pod:
    names: list  # by which others know it; the first one is its own, as its /etc/hosts has it
    template: dict
    given: dict  # variables of the controller
    container: dict = dataclasses.field(init=False)

    def __post_init__(self):
        (self.container,) = self.template["spec"]["containers"]

    @property
    def env(self):
        return {**{entry["name"]: entry["value"] for entry in self.container.get("env", ())}, **self.given,
                "KUBERNETES_SERVICE_HOST": "10.96.0.1"}


def indexed(name, job, subdomain, given=lambda index: {}):
    """The pods of an Indexed Job of this name."""
    template = job["template"]
    return [Pod([f"{name}-{index}.{subdomain}.{DOMAIN}", f"{name}-{index}", f"{name}-{index}.{subdomain}"], template,
                {"JOB_COMPLETION_INDEX": str(index), **given(index)}) for index in range(job["completions"])]


class Manifests(BlockCase):
    def assert_begins(self, run, section):
        """The log of this pod begins as the document says in that section."""
        text = ROOT.joinpath("docs/kubernetes.md").read_text(encoding="utf-8")
        (part,) = (part for part in re.split(r"^## ", text, flags=re.M) if part.startswith(section))
        (line,) = re.findall(r"begins with\s+`(launch: [^`]*)`", part)
        self.assertTrue(run.err.startswith(line), f"{line}\n{run}")

    def play(self, pods, master, workers="8"):
        """All pods, of which node K is the K-th, with one worker each. The runs, in that order."""
        self.need(hosts.possible(), "network namespaces (root, iproute2)")
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(
            f"{hosts.address(number)} {' '.join(pod.names)}\n" for number, pod in enumerate(pods, 1)))
        for node, pod in enumerate(pods):
            program, *words = pod.container["command"]
            settings = self.settings(pod, [program, "--explain=json", *words])
            self.assertEqual((str(len(pods)), str(node), master, workers), settings)
        with hosts.Hosts(len(pods)) as place:
            runs = [self.shell(shlex.join(pod.container["command"]), pod.names[0].partition(".")[0],
                               place.inside(number), **{**pod.env, "PET_NPROC_PER_NODE": "1"})
                    for number, pod in enumerate(pods, 1)]
            self.expect([0] * len(pods), runs)
        seen = self.seen()
        self.assertEqual([(str(node), str(len(pods)), master) for node in range(len(pods))],
                         [tuple(seen[rank][name] for name in ("GROUP_RANK", "GROUP_WORLD_SIZE", "MASTER_ADDR"))
                          for rank in sorted(seen)])
        return runs

    def settings(self, pod, command):
        run = self.shell(shlex.join(command), pod.names[0].partition(".")[0], **pod.env)
        self.expect([0], [run])
        values = {setting["name"]: setting["value"] for setting in json.loads(run.out)["settings"]}
        return tuple(values[name] for name in ("--nnodes", "--node-rank", "--master-addr", "--nproc-per-node"))

    @shows("docs/kubernetes.md", "apiVersion: v1")
    def test_indexed_job(self, block):
        service, job = yaml.safe_load_all(block.text)
        name, pod = job["metadata"]["name"], job["spec"]["template"]["spec"]
        self.assertEqual((service["metadata"]["name"], {"job-name": name}),
                         (pod["subdomain"], service["spec"]["selector"]))
        self.assertEqual(job["spec"]["parallelism"], job["spec"]["completions"])
        pods = indexed(name, job["spec"], pod["subdomain"])
        runs = self.play(pods, f"train-0.train.{DOMAIN}")
        self.assert_begins(runs[2], "Indexed Job")

    @shows("docs/kubernetes.md", "apiVersion: v1")
    def test_indexed_job_that_lacks_something(self, block):
        """As the table at the end of the page says."""
        _, job = yaml.safe_load_all(block.text)
        pod = indexed("train", job["spec"], "train")[1]
        variables = {name: value for name, value in pod.env.items() if name != "PET_NNODES"}
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts.address(2)} {' '.join(pod.names)}\n")
        run = self.shell(shlex.join(pod.container["command"]), "train-1", **variables)
        self.expect([0], [run])
        self.assert_says(run, "nothing tells how many pods there are, so this one runs a job of its own")
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts.address(2)} train-1\n")
        run = self.shell(shlex.join(pod.container["command"]), "train-1", **pod.env)
        self.expect([2], [run])
        self.assert_says(run, "Indexed Job has several nodes, but does not say where node 0 is: the pods need a ")

    @shows("docs/kubernetes.md", "apiVersion: jobset")
    def test_jobset(self, block):
        manifest = yaml.safe_load(block.text)
        (job,) = manifest["spec"]["replicatedJobs"]
        name = manifest["metadata"]["name"]
        pods = indexed(f"{name}-{job['name']}-0", job["template"]["spec"], name)
        runs = self.play(pods, f"train-node-0-0.train.{DOMAIN}")
        self.assert_begins(runs[2], "JobSet")

    @shows("docs/kubernetes.md", "apiVersion: kubeflow")
    def test_pytorchjob(self, block):
        manifest = yaml.safe_load(block.text)
        name, spec = manifest["metadata"]["name"], manifest["spec"]
        kinds = [(kind.lower(), index, replica["template"]) for kind, replica in spec["pytorchReplicaSpecs"].items()
                 for index in range(replica["replicas"])]
        count, each = str(len(kinds)), spec["nprocPerNode"]
        for old in (False, True):
            pods = []
            for rank, (kind, index, template) in enumerate(kinds):
                given = {"MASTER_ADDR": f"{name}-master-0", "MASTER_PORT": "23456", "RANK": str(rank),
                         "WORLD_SIZE": count if old else str(len(kinds) * int(each)), "PYTHONUNBUFFERED": "1"}
                newer = {"PET_NNODES": count, "PET_NODE_RANK": str(rank), "PET_NPROC_PER_NODE": each,
                         "PET_MASTER_ADDR": given["MASTER_ADDR"], "PET_MASTER_PORT": given["MASTER_PORT"]}
                pods.append(Pod([f"{name}-{kind}-{index}"], template, given if old else {**given, **newer}))
            runs = self.play(pods, f"{name}-master-0", "auto" if old else each)
            if old:
                self.assert_begins(runs[1], "PyTorchJob")
            else:
                self.assertNotIn("PyTorchJob", runs[1].err)

    @shows("docs/kubernetes.md", "apiVersion: trainer")
    def test_trainjob(self, block):
        """The Trainer writes what the TrainJob says into the runtime's container."""
        runtime, job = yaml.safe_load_all(block.text)
        name, trainer = job["metadata"]["name"], job["spec"]["trainer"]
        (node,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
        template = node["template"]["spec"]["template"]
        template["spec"]["containers"][0].update(image=trainer["image"], command=trainer["command"])
        master = f"{name}-{node['name']}-0-0.{name}"
        pods = indexed(f"{name}-{node['name']}-0", {"completions": trainer["numNodes"], "template": template}, name,
                       lambda index: {"PET_NNODES": str(trainer["numNodes"]), "PET_NODE_RANK": str(index),
                                      "PET_NPROC_PER_NODE": str(trainer["numProcPerNode"]),
                                      "PET_MASTER_ADDR": master, "PET_MASTER_PORT": "29500"})
        self.play(pods, master)

    @shows("docs/kubernetes.md", "apiVersion: leaderworkerset")
    def test_leader_worker_set(self, block):
        self.train("notes.py", "serve.py")
        manifest = yaml.safe_load(block.text)
        name, group = manifest["metadata"]["name"], manifest["spec"]["leaderWorkerTemplate"]
        leader = f"{name}-0"
        pods = []
        for index in range(group["size"]):
            own = f"{leader}-{index}" if index else leader
            pods.append(Pod([f"{own}.{name}.{DOMAIN}", own, f"{own}.{name}.default"], group["workerTemplate"],
                            {"LWS_LEADER_ADDRESS": f"{leader}.{name}.default", "LWS_GROUP_SIZE": str(group["size"]),
                             "LWS_WORKER_INDEX": str(index)}))
        runs = self.play(pods, f"{leader}.{name}.default", "auto")
        self.assert_begins(runs[2], "LeaderWorkerSet")
