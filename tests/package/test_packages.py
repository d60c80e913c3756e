"""What scripts/package makes can be installed, runs, and goes away again without a trace."""
import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import zipfile

from harness import ROOT, Case, Settings
from packing import GLIBC, MACHINE, STATIC, call, one, pack, package, runs


class Packages(Case):
    builds = ("release",)
    load = 0.8

    @classmethod
    def setUpClass(cls):
        cls.out = pack(tempfile.mkdtemp(prefix="launch-dist-"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.out)

    def files_below(self, folder):
        return {path.relative_to(folder) for path in pathlib.Path(folder).rglob("*") if not path.is_dir()}

    def test_every_kind_is_there(self):
        kinds = sorted(path.suffix for path in self.out.iterdir())
        for suffix, count in ((".whl", 2), (".zst", 2), (".deb", 1), (".rpm", 1), (".apk", 1), (".json", 1)):
            self.assertEqual(count, kinds.count(suffix), kinds)
        self.assertEqual(b"\xed\xab\xee\xdb", one(self.out, "*.rpm").read_bytes()[:4])
        call("sha256sum", "--strict", "-c", "SHA256SUMS", cwd=self.out)

    def test_the_program_loads_nothing_but_the_c_library(self):
        """Each library more that is loaded takes a tenth of the time in which a job of one worker starts."""
        needed = re.findall(r"NEEDED +(\S+)", call("objdump", "-p", Settings.launch))
        self.assertEqual([], [name for name in needed if not re.match(r"libc\.so|ld-linux", name)])

    def test_a_wheel_is_installed_and_removed(self):
        home = self.folder / "venv"
        call(sys.executable, "-m", "venv", home)
        before = self.files_below(home)
        call(home / "bin/pip", "install", "--no-index", "--no-compile", one(self.out, "*manylinux*.whl"))
        for command in ([home / "bin/launch"], [home / "bin/launchrun"], [home / "bin/python", "-m", "launchrun"]):
            runs(command, self.folder)
        link = self.folder / "launchrun"  # as pipx makes it
        link.symlink_to(home / "bin/launchrun")
        runs([link], self.folder)
        for name in ("man/man1/launch.1.gz", "man/man1/launchrun.1.gz", "bash-completion/completions/launchrun",
                     "fish/vendor_completions.d/launchrun.fish", "zsh/site-functions/_launch"):
            self.assertTrue((home / "share" / name).is_file(), name)
        call(home / "bin/pip", "uninstall", "-y", "launchrun")
        self.assertEqual(set(), {path for path in self.files_below(home) - before if path.suffix != ".pyc"})

    def test_a_wheel_may_lie_in_a_folder_of_its_own(self):
        folder = self.folder / "packages"
        call(sys.executable, "-m", "pip", "install", "--no-index", "--target", folder, one(self.out, "*manylinux*.whl"))
        runs(["env", f"PYTHONPATH={folder}", sys.executable, "-m", "launchrun"], self.folder)
        (folder / "bin/launch").unlink()  # as if another package had taken the name
        runs(["env", f"PYTHONPATH={folder}", sys.executable, "-m", "launchrun"], self.folder)
        (folder / "bin/launchrun").unlink()
        said = call("env", f"PYTHONPATH={folder}", sys.executable, "-m", "launchrun", code=127)
        self.assertRegex(said, "^launchrun: error: its program `launchrun` is in none of .*; install the package "
                               "again\n$")

    def test_what_a_wheel_says_of_itself_is_true(self):
        for path in self.out.glob("*.whl"):
            with zipfile.ZipFile(path) as wheel:
                (record,) = [name for name in wheel.namelist() if name.endswith(".dist-info/RECORD")]
                rows = list(csv.reader(io.StringIO(wheel.read(record).decode())))
                self.assertEqual(sorted(wheel.namelist()), sorted(row[0] for row in rows))
                for name, digest, size in rows:
                    if name != record:
                        text = wheel.read(name)
                        real = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
                        self.assertEqual((f"sha256={real}", str(len(text))), (digest, size), name)
                tags = [line.split("-")[-1] for line in wheel.read(record.replace("RECORD", "WHEEL")).decode().split()
                        if line.startswith("py3-none-")]
            self.assertEqual(path.stem.split("-")[-1], ".".join(tags))

    def test_a_debian_package_is_installed_and_removed(self):
        root = self.folder / "root"
        for name in ("info", "updates", "triggers"):
            (root / "var/lib/dpkg" / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-depends", f"--log={self.folder}/log"]
        call(*dpkg, "--install", one(self.out, "*.deb"))
        runs([root / "usr/bin/launch"], self.folder)
        runs([root / "usr/bin/launchrun"], self.folder)
        self.assertIn(pathlib.Path("usr/share/man/man1/launchrun.1.gz"), self.files_below(root))
        call(*dpkg, "--remove", "launchrun")
        self.assertEqual(set(), {path for path in self.files_below(root) if not str(path).startswith("var/lib/dpkg")})

    def test_a_tarball_runs_where_it_is_unpacked(self):
        for target in (GLIBC, STATIC):
            call("tar", "--zstd", "-xf", one(self.out, f"*{target}.tar.zst"), "-C", self.folder)
            runs([one(self.folder, f"launch-*-{target}") / "bin/launch"], self.folder)

    def test_what_is_released_is_packed_as_small_as_can_be(self):
        env = {name: value for name, value in os.environ.items() if name != "LAUNCH_ZSTD_LEVEL"}
        said = call(sys.executable, "-c", "import archives; print(archives.LEVEL)", env=env,
                    cwd=ROOT / "scripts/packaging")
        self.assertEqual("-19\n", said)

    def test_packed_again_all_of_it_is_equal(self):
        again = pack(self.folder / "again")
        names = [sorted(path.name for path in folder.iterdir()) for folder in (self.out, again)]
        self.assertEqual(*names)
        for path in self.out.iterdir():
            self.assertEqual(path.read_bytes(), (again / path.name).read_bytes(), path.name)

    def test_the_bill_of_materials_names_the_libraries(self):
        bill = json.loads(one(self.out, "*.spdx.json").read_text())
        named = {package["name"]: package for package in bill["packages"]}
        self.assertLessEqual({"launch", "Boost", "fmt", "spdlog", "CLI11", "JSON for Modern C++"}, set(named))
        self.assertTrue(all(package["versionInfo"] for package in named.values()))
        texts = (self.out / "THIRD_PARTY_LICENSES").read_text()
        (wheel,) = self.out.glob("*manylinux*.whl")
        with zipfile.ZipFile(wheel) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith("/THIRD_PARTY_LICENSES")]
            self.assertEqual(texts, archive.read(name).decode())
        for words in ("Boost Software License", "Chris Kohlhoff", "Victor Zverovich"):
            self.assertIn(words, texts)

    def test_the_lines_of_the_readme(self):
        (block,) = re.findall(r"```sh\n(pip install \./.*?)```", (ROOT / "README.md").read_text(), re.S)
        lines = [line.partition("  #")[0].replace("x86_64", MACHINE) for line in block.splitlines()]
        home = self.folder / "venv"
        call(sys.executable, "-m", "venv", home)
        env = dict(os.environ, HOME=str(self.folder), PATH=f"{home}/bin:{os.environ['PATH']}", PIP_NO_INDEX="1")
        for line in lines:
            if line.startswith("sudo apt install "):
                call("bash", "-ec", f"dpkg-deb --info {line.split()[-1]}", cwd=self.out)
            else:
                call("bash", "-ec", line, cwd=self.out, env=env)
        runs([home / "bin/launch"], self.folder)
        runs([self.folder / ".local/bin/launch"], self.folder)

    def test_wrong_usage_is_said(self):
        self.assertIn("unknown target mips; known are x86_64-glibc", package("mips", code=2))
        said = package("--binary", ROOT / "x", GLIBC, STATIC, code=2)
        self.assertIn("--binary needs the one TARGET that it is", said)
        self.assertIn("there is no file /none", package("--binary", "/none", GLIBC, code=2))
        other = {"x86_64": "aarch64", "aarch64": "x86_64"}[MACHINE]
        self.assertIn(f"name a target for {MACHINE}, too", package(f"{other}-static", code=1))
        self.assertIn("--binary FILE", package("--help"))
