"""scripts/release in a clone whose tests and packages take no time."""

from harness import ROOT, Case
from packing import call


class Release(Case):
    builds = ("release",)

    def setUp(self):
        super().setUp()
        self.clone = self.folder / "tree"
        (self.clone / "docs").mkdir(parents=True)
        (self.clone / "scripts").mkdir()
        for name in ("CMakeLists.txt", "docs/changelog.md", "scripts/release"):
            (self.clone / name).write_bytes((ROOT / name).read_bytes())
        text = (self.clone / "CMakeLists.txt").read_text()
        self.version = text.partition("project(launch VERSION ")[2].split()[0]
        self.script("release", (ROOT / "scripts/release").read_text())
        self.script("test", '#!/bin/sh\necho "tested with CI=$CI"\n')
        self.script("package", "#!/bin/sh\nmkdir -p dist && echo program > dist/launch\n")
        (self.clone / ".gitignore").write_text("/dist/\n")
        (self.clone / "docs/changelog.md").write_text("# Changelog\n\n## Unreleased\n\n- Something new.\n\n## 0.0.1\n")
        self.git("init", "-q")
        self.git("config", "user.name", "test")
        self.git("config", "user.email", "test@invalid")
        self.commit("begin")

    def script(self, name, text):
        path = self.clone / "scripts" / name
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *words):
        return call("git", "-C", self.clone, *words).strip()

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def release(self, *words, code):
        return call(self.clone / "scripts/release", *words, code=code, cwd=self.clone)

    def test_it_sets_the_version_tests_packs_and_tags(self):
        said = self.release("9.1.0", code=0)
        self.assertIn("tested with CI=true\n", said)
        self.assertEqual("v9.1.0", self.git("describe", "--exact-match"))
        self.assertIn("project(launch VERSION 9.1.0 ", (self.clone / "CMakeLists.txt").read_text())
        self.assertRegex((self.clone / "docs/changelog.md").read_text(),
                         r"## Unreleased\n\n## 9\.1\.0 - \d{4}-\d\d-\d\d\n\n- Something new\.\n")
        self.assertEqual("", self.git("status", "--porcelain"))
        self.assertTrue((self.clone / "dist/launch").exists())
        self.assertIn("says nothing under", self.release("9.2.0", code=1))

    def test_if_a_test_fails_the_tree_is_as_before(self):
        self.script("test", "#!/bin/sh\nexit 1\n")
        self.commit("a test fails")
        before = self.git("rev-parse", "HEAD")
        self.assertIn("not made; the tree is as it was before", self.release("9.1.0", code=1))
        self.assertEqual((before, "", ""), (self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "-s")))

    def test_what_cannot_be_released_is_said_and_nothing_is_changed(self):
        before = self.git("rev-parse", "HEAD")
        for words, code, reason in (((), 2, "usage"), (("1.2",), 2, "'1.2' is no version such as 1.2.3"),
                                    (("01.2.3",), 2, "is no version"), ((self.version,), 2, "is not newer than"),
                                    (("0.0.9",), 2, "is not newer than")):
            self.assertIn(reason, self.release(*words, code=code))
        (self.clone / "new").touch()
        self.assertIn("changes that are not committed", self.release("9.1.0", code=1))
        (self.clone / "new").unlink()
        self.git("tag", "v9.1.0")
        self.assertIn("the tag v9.1.0 exists already", self.release("9.1.0", code=1))
        self.assertEqual((before, ""), (self.git("rev-parse", "HEAD"), self.git("status", "-s")))
