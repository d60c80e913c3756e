"""The two Dockerfiles, built by buildah, without a daemon; launch runs in them as process 1."""
import json
import shutil
import subprocess

import harness
import systems
from harness import ROOT, Case
from packing import GLIBC, MACHINE, STATIC, call, portable


@harness.long(covered_by="package/test_packages, but for the containers")
class Images(Case):
    builds = ("release",)
    load = 2.0

    def setUp(self):
        super().setUp()
        self.need(shutil.which("buildah"), "buildah")
        store = self.folder / "images"
        self.buildah = ["buildah", "--root", store / "root", "--runroot", store / "run", "--storage-driver", "vfs"]

    def image(self, name, dockerfile, context, *words):
        call(*self.buildah, "bud", "--isolation", "chroot", "-t", name, "-f", dockerfile, *words, context)
        inspected = json.loads(call(*self.buildah, "inspect", "--type", "image", name))
        config = inspected["OCIv1"]["config"]
        container = call(*self.buildah, "from", name).split()[-1]
        return call(*self.buildah, "mount", container).strip(), config

    def run_in(self, root, config, *words, code=0):
        """As a runtime does it: namespaces of its own, /proc, and the entry point as process 1."""
        prepare = ('mkdir -p "$0/proc" "$0/dev"; mount -t proc proc "$0/proc"; touch "$0/dev/null"; '
                   f'mount --bind /dev/null "$0/dev/null"; exec {shutil.which("chroot")} "$0" "$@"')
        entry = config["Entrypoint"]
        if not entry[0].startswith("/"):
            entry = ["/usr/bin/env", *entry]
        env = dict(line.split("=", 1) for line in [*config.get("Env", []), "OMP_NUM_THREADS=1"])
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", prepare, root,
                               *entry, *words], env=env, cwd="/", capture_output=True, text=True,
                              check=False)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_nothing_but_launch(self):
        dist = portable(self.folder / "dist", STATIC)
        root, config = self.image("launch", ROOT / "scripts/packaging/Dockerfile.scratch", dist, "--build-arg",
                                  f"MACHINE={MACHINE}")
        self.assertRegex(self.run_in(root, config, "--version"), "(?m)^launch [0-9.]+$")
        for name in ("sh", "busybox"):
            shutil.copy(shutil.which("busybox"), f"{root}/bin/{name}")
        for code, script in ((0, 'echo "rank $RANK of $WORLD_SIZE, child of $PPID"'), (7, 'exit $((RANK * 7))')):
            said = self.run_in(root, config, "--nproc-per-node=2", "--no-python", "/bin/sh", "-c", script, code=code)
            if code == 0:
                self.assertRegex(said, "(?m)^rank 0 of 2, child of ")
        # What a worker leaves behind, and what comes to process 1 meanwhile, is ended and collected.
        said = self.run_in(root, config, "--nproc-per-node=2", "--no-python", "/bin/sh", "-c",
                           "(/bin/busybox sleep 300 &) ; exit 0")
        self.assertNotIn("error", said)

    def test_a_training_image(self):
        base = systems.FOLDER / "bookworm"
        self.need((base / "complete").exists(), f"{base}, which tests/package/systems.py makes,")
        context = self.folder / "base"
        context.mkdir()
        call("tar", "-C", base, "-cf", context / "root.tar", ".")
        (context / "Dockerfile").write_text("FROM scratch\nADD root.tar /\nRUN python3 -m venv /venv\n"
                                            "ENV PATH=/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin\n")
        call(*self.buildah, "bud", "--isolation", "chroot", "-t", "base", context)
        dist = portable(self.folder / "dist", GLIBC, STATIC)
        root, config = self.image("train", ROOT / "scripts/packaging/Dockerfile", dist, "--build-arg",
                                  "BASE=localhost/base")
        self.assertRegex(self.run_in(root, config, "--version"), "(?m)^launch [0-9.]+$")
        script = "import os; print('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'], flush=True)"
        with open(f"{root}/tmp/train.py", "w", encoding="utf-8") as file:
            file.write(script + "\n")
        said = self.run_in(root, config, "--nproc-per-node=2", "/tmp/train.py")
        self.assertEqual(["rank 0 of 2", "rank 1 of 2"], sorted(said.splitlines()), said)
