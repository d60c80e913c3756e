"""The manifests of docs/kubernetes.md: each of their fields is one that its kind has, where the document says it is.

Kubernetes' own kinds are held against its schemas (schemas.py brings them), those of others against TYPES.
"""
import collections
import pathlib
import re
import subprocess
import sys

import schemas
import yaml
from harness import ROOT, Case

sys.path.append(str(ROOT / "tests/cli"))
from code_blocks import blocks_with  # noqa: E402

DOCUMENT = "docs/kubernetes.md"
VERSIONS = ("1.31", "1.37")  # the first one with a stable podFailurePolicy, and the newest one that is known
JOB, POD, RESOURCES = "Job of batch/v1", "pod", "resources of a container"  # types of Kubernetes itself
OWN_KINDS = {"Service": "v1", "Job": "batch/v1"}
KINDS = {  # kind -> its version, and the type of its spec
    "JobSet": ("jobset.x-k8s.io/v1alpha2", "JobSetSpec"),
    "PyTorchJob": ("kubeflow.org/v1", "PyTorchJobSpec"),
    "TrainingRuntime": ("trainer.kubeflow.org/v1alpha1", "TrainingRuntimeSpec"),
    "TrainJob": ("trainer.kubeflow.org/v1alpha1", "TrainJobSpec"),
    "LeaderWorkerSet": ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSetSpec"),
}
# The fields that the manifests use, by their types in Go. A tuple has the values that are allowed, a list the type of
# its elements, a dictionary that of its values.
TYPES = {
    # kubernetes-sigs/jobset 0.12.0, api/jobset/v1alpha2/jobset_types.go; Trainer's runtimes have them as well
    "JobSetSpec": {"failurePolicy": "FailurePolicy", "replicatedJobs": ["ReplicatedJob"]},
    "FailurePolicy": {"maxRestarts": int, "rules": ["FailurePolicyRule"]},
    "FailurePolicyRule": {
        "name": str, "action": ("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"),
        "onJobFailureReasons": [("BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes",
                                 "MaxFailedIndexesExceeded", "PodFailurePolicy")]},
    "ReplicatedJob": {"name": str, "replicas": int, "template": JOB},
    # kubeflow/training-operator 1.9.0, pytorch_types.go and common_types.go in pkg/apis/kubeflow.org/v1
    "PyTorchJobSpec": {"nprocPerNode": str, "runPolicy": "RunPolicy", "pytorchReplicaSpecs": {str: "ReplicaSpec"}},
    "RunPolicy": {"backoffLimit": int},
    "ReplicaSpec": {"replicas": int, "restartPolicy": ("Always", "OnFailure", "Never", "ExitCode"), "template": POD},
    # kubeflow/trainer 2.3.0, trainingruntime_types.go and trainjob_types.go in pkg/apis/trainer/v1alpha1
    "TrainingRuntimeSpec": {"mlPolicy": "MLPolicy", "template": "JobSetTemplateSpec"},
    "MLPolicy": {"numNodes": int, "torch": "TorchMLPolicySource"},
    "TorchMLPolicySource": {},  # its fields changed between 2.0 and 2.3
    "JobSetTemplateSpec": {"spec": "JobSetSpec"},
    "TrainJobSpec": {"runtimeRef": "RuntimeRef", "trainer": "Trainer"},
    "RuntimeRef": {"kind": ("TrainingRuntime", "ClusterTrainingRuntime"), "name": str},
    "Trainer": {"numNodes": int, "numProcPerNode": int, "image": str, "command": [str], "resourcesPerNode": RESOURCES},
    # kubernetes-sigs/lws 0.10.0, api/leaderworkerset/v1/leaderworkerset_types.go
    "LeaderWorkerSetSpec": {"replicas": int, "leaderWorkerTemplate": "LeaderWorkerTemplate"},
    "LeaderWorkerTemplate": {"size": int, "workerTemplate": POD,
                             "restartPolicy": ("RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None")},
}


class Reading:
    """What is in a manifest: faults, the fields that are used, and what is Kubernetes' own, as manifests of that."""

    def __init__(self):
        self.faults, self.used, self.own = [], set(), []

    def manifest(self, manifest):
        kind, version = manifest["kind"], manifest["apiVersion"]
        if OWN_KINDS.get(kind) == version:
            self.own.append(manifest)
        elif (known := KINDS.get(kind, ("", "")))[0] != version or sorted(manifest) != ["apiVersion", "kind",
                                                                                        "metadata", "spec"]:
            self.faults.append(f"{version} {kind} {sorted(manifest)}")
        else:
            self.value(kind, manifest["spec"], known[1])
        return self

    def value(self, path, value, wanted):
        if wanted in (JOB, POD, RESOURCES):
            self.take_own(wanted, value)
        elif isinstance(wanted, str):
            self.fields(path, value, wanted)
        elif isinstance(wanted, dict):
            for name, inner in value.items():
                self.value(f"{path}.{name}", inner, wanted[str])
        elif isinstance(wanted, list):
            for number, inner in enumerate(value if isinstance(value, list) else [None]):
                self.value(f"{path}[{number}]", inner, wanted[0])
        elif value not in wanted if isinstance(wanted, tuple) else type(value) is not wanted:
            self.faults.append(f"{path}: {value!r} instead of {wanted}")

    def fields(self, path, value, name):
        for field, inner in value.items():
            self.used.add((name, field))
            if field in TYPES[name]:
                self.value(f"{path}.{field}", inner, TYPES[name][field])
            else:
                self.faults.append(f"{path}.{field}: {name} has no such field")

    def take_own(self, kind, value):
        if kind == RESOURCES:
            value = {"spec": {"containers": [{"name": "resources", "resources": value}]}}
        kind, version = ("Job", "batch/v1") if kind == JOB else ("Pod", "v1")
        self.own.append({"apiVersion": version, "kind": kind, **value})


def manifests():
    return [manifest for block in blocks_with(DOCUMENT, "apiVersion:") for manifest in yaml.safe_load_all(block.text)]


def pods(manifest):
    """The descriptions of pods, wherever they are in this."""
    if isinstance(manifest, list):
        return [pod for inner in manifest for pod in pods(inner)]
    if not isinstance(manifest, dict):
        return []
    found = [manifest] if "containers" in manifest else []
    return found + [pod for inner in manifest.values() for pod in pods(inner)]


def jobs(manifest):
    """The same for descriptions of Jobs with rules for their failures."""
    if not isinstance(manifest, (dict, list)):
        return []
    inner = manifest.values() if isinstance(manifest, dict) else manifest
    return [manifest] * ("podFailurePolicy" in manifest) + [job for one in inner for job in jobs(one)]


class Manifests(Case):
    builds = ()

    def validate(self, version, *parts):
        """What Kubernetes' schemas say, a line for each part; an unknown field is an error."""
        self.need(schemas.is_complete(), "kubernetes-validate (python3 tests/house/schemas.py)")
        file = pathlib.Path(self.folder, "manifest.yaml")
        file.write_text(yaml.safe_dump_all(parts), encoding="utf-8")
        done = subprocess.run([schemas.PYTHON, "-m", "kubernetes_validate", "--strict", "-k", version, file],
                              capture_output=True, text=True, check=False)
        return (done.stdout + done.stderr).splitlines()

    def test_each_kind_is_there(self):
        found = [manifest["kind"] for manifest in manifests()]
        self.assertEqual(sorted({*OWN_KINDS, *KINDS}), sorted(found))

    def test_fields_of_other_projects(self):
        for manifest in manifests():
            self.assertEqual([], Reading().manifest(manifest).faults)

    def test_the_document_says_where_each_field_is_defined(self):
        text = ROOT.joinpath(DOCUMENT).read_text(encoding="utf-8")
        for section in re.split(r"^## ", text, flags=re.M):
            used = {(name, field) for manifest in manifests() if section.startswith(manifest["kind"])
                    or section.startswith("TrainJob") and manifest["kind"] == "TrainingRuntime"
                    for name, field in Reading().manifest(manifest).used}
            rows = re.findall(r"^\| (\w+) \| (`.*) \|$", section.partition("| type in ")[2], re.M)
            self.assertEqual(sorted(used), sorted((name, field) for name, fields in rows
                                                  for field in re.findall(r"`(\w+)`", re.sub(r"\(.*?\)", "", fields))))

    def test_fields_of_kubernetes(self):
        own = [part for manifest in manifests() for part in Reading().manifest(manifest).own]
        self.assertEqual({"Service": 1, "Job": 3, "Pod": 4}, collections.Counter(part["kind"] for part in own))
        own = [{**part, "metadata": {"name": str(number), **part.get("metadata", {})}}
               for number, part in enumerate(own)]
        for version in VERSIONS:
            said = self.validate(version, *own)
            self.assertEqual(["INFO"] * len(own), [line.split()[0] for line in said], "\n".join(said))
            self.assertTrue(all(f"against version {version}" in line for line in said), said)

    def test_a_wrong_field_is_found(self):
        job, jobset = ([one for one in manifests() if one["kind"] == kind][0] for kind in ("Job", "JobSet"))
        jobset["spec"]["replicatedJobs"][0]["copies"] = 1
        jobset["spec"]["failurePolicy"]["maxRestarts"] = "3"
        self.assertEqual(["JobSet.failurePolicy.maxRestarts: '3' instead of <class 'int'>",
                          "JobSet.replicatedJobs[0].copies: ReplicatedJob has no such field"],
                         Reading().manifest(jobset).faults)
        job["spec"]["template"]["spec"]["containers"][0]["comand"] = ["launch"]
        (said,) = self.validate(VERSIONS[0], job)
        self.assertRegex(said, "^ERROR .*'comand' was unexpected")

    def test_what_every_pod_has(self):
        """Shared memory, time to end, and launch as process 1."""
        commands = []
        for manifest in manifests():
            commands += [manifest["spec"]["trainer"]["command"]] if manifest["kind"] == "TrainJob" else []
            for pod in pods(manifest):
                (container,) = pod["containers"]
                commands += [container["command"]] if "command" in container else []
                (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
                self.assertEqual(("/dev/shm", volume["name"], "Memory"),
                                 (mount["mountPath"], mount["name"], volume["emptyDir"]["medium"]))
                self.assertGreater(pod["terminationGracePeriodSeconds"], 30 + 5)  # --shutdown-timeout, --kill-grace
        self.assertEqual(["launch"] * 6, [command[0] for command in commands])

    def test_rules_for_failures(self):
        """What Kubernetes asks for, and no schema says."""
        found = [job for manifest in manifests() for job in jobs(manifest)]
        self.assertEqual(2, len(found))
        for job in found:
            pod = job["template"]["spec"]
            self.assertEqual("Never", pod["restartPolicy"])
            rules = job["podFailurePolicy"]["rules"]
            self.assertIn({"type": "DisruptionTarget", "status": "True"}, rules[0]["onPodConditions"])
            for rule in rules[1:]:
                codes = rule["onExitCodes"]
                self.assertEqual(pod["containers"][0]["name"], codes["containerName"])
                self.assertEqual(sorted(set(codes["values"]) - {0}), codes["values"])
            self.assertIn([75, 143], [rule["onExitCodes"]["values"] for rule in rules[1:]])

    def test_names_that_controllers_ask_for(self):
        kinds = {manifest["kind"]: manifest["spec"] for manifest in manifests()}
        replicas = kinds["PyTorchJob"]["pytorchReplicaSpecs"]
        self.assertEqual({"Master", "Worker"}, set(replicas))
        self.assertEqual(1, replicas["Master"]["replicas"])
        for replica in replicas.values():
            self.assertEqual(["pytorch"], [one["name"] for one in replica["template"]["spec"]["containers"]])
        (runtime,) = (one for one in manifests() if one["kind"] == "TrainingRuntime")
        self.assertEqual({"kind": runtime["kind"], "name": runtime["metadata"]["name"]},
                         kinds["TrainJob"]["runtimeRef"])
        (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
        self.assertEqual({"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"},
                         job["template"]["metadata"]["labels"])
        self.assertEqual(["node"], [one["name"] for one in pods(job)[0]["containers"]])
