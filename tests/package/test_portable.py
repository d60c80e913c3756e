"""The portable programs themselves, as scripts/package builds them: what they need of a system, and that they run."""
import re
import subprocess

import harness
from harness import Case
from packing import GLIBC, STATIC, call, one, portable, runs

MIB = 2**20


@harness.long(covered_by="package/test_packages, but for the compiler")
class Portable(Case):
    builds = ("release",)
    load = 2.0

    def built(self, target, most):
        program = one(portable(self.folder / "dist", target), f"launch-*-linux-{target}")
        print(f"\n  {program.name}: {program.stat().st_size / MIB:.2f} MiB")
        self.assertLessEqual(program.stat().st_size, most)
        runs([program], self.folder)
        return program

    def test_one_needs_only_an_old_glibc(self):
        program = self.built(GLIBC, 4 * MIB)
        needed = set(re.findall(r"GLIBC_([0-9.]+)", call("objdump", "-T", program)))
        self.assertLessEqual(max(tuple(map(int, version.split("."))) for version in needed), (2, 17))
        libraries = re.findall(r"NEEDED +(\S+)", call("objdump", "-p", program))
        self.assertEqual([], [name for name in libraries if not re.match(r"lib(c|pthread|dl|rt)\.so|ld-linux", name)])

    def test_one_needs_nothing(self):
        """It runs a job of two nodes in a folder with nothing but itself and a shell."""
        program = self.built(STATIC, 6 * MIB)
        self.assertNotIn("NEEDED", call("objdump", "-p", program))
        root = self.folder / "root"
        for name in ("bin", "tmp", "proc", "dev"):
            (root / name).mkdir(parents=True)
        busybox = subprocess.run(["which", "busybox"], capture_output=True, text=True, check=False).stdout.strip()
        self.need(busybox, "busybox, a static one")
        for source, name in ((program, "launch"), (busybox, "sh")):
            (root / "bin" / name).write_bytes(open(source, "rb").read())
            (root / "bin" / name).chmod(0o755)
        (root / "dev/null").touch()
        script = ("for node in 0 1; do /bin/launch --nnodes=2 --nproc-per-node=2 --node-rank=$node "
                  "--master-addr=localhost --master-port=29513 --no-python "
                  "/bin/sh -c 'echo rank $RANK of $WORLD_SIZE' & done; wait")
        said = call("unshare", "--mount", "bash", "-ec",
                    f"mount --bind /dev/null {root}/dev/null; mount -t proc proc {root}/proc; "
                    f"exec chroot {root} /bin/sh -c \"$0\"", script)
        self.assertEqual([f"rank {rank} of 4" for rank in range(4)],
                         sorted(line for line in said.splitlines() if line.startswith("rank")), said)
