"""What users read fits what the program has: options, variables, links, and the form of scripts and man page."""
import errno
import os
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
VARIABLE = re.compile(r"\bPET_[A-Z_]*[A-Z]\b")


def text_of(name):
    return ROOT.joinpath(name).read_text(encoding="utf-8")


def manual():
    return re.sub(r"\\f[BIRP]", "", text_of("docs/launch.1").replace("\\-", "-"))


def help_text():
    return text_of("tests/data/help.txt")  # which a test of core holds to be what is printed


class Documents(unittest.TestCase):
    def tool(self, name):
        if shutil.which(name):
            return
        if os.environ.get("CI", "").lower() == "true":
            self.fail(f"{name} is missing, and CI=true says that every test must run")
        self.skipTest(f"{name} is missing")

    def run_quietly(self, *command):
        result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def options_of_help(self):
        # An option's line of its own; what stands in examples has them too.
        options = set(OPTION.findall(help_text())) - {"--option", "--epochs"}
        self.assertGreater(len(options), 10)
        return options

    def test_manual_has_the_options_and_variables_of_help_and_no_other(self):
        in_manual = set(OPTION.findall(manual())) - {"--name", "--epochs", "--lr"}
        self.assertEqual(self.options_of_help(), in_manual)
        self.assertEqual(set(VARIABLE.findall(help_text())), set(VARIABLE.findall(manual())))

    def test_manual_has_the_defaults_of_help(self):
        parts = {re.match(r"--[a-z-]+", part).group(): part for part in re.split(r"\n\.TP\n\.BI? (?=--)", manual())[1:]}
        defaults = re.findall(r"^  (--[a-z-]+).*\n?.*\bdefault ([^]]+)\]", help_text(), re.M)
        self.assertGreater(len(defaults), 20)
        for option, default in defaults:
            words = re.sub(r"\n(\.[BIR]+ )?", " ", parts[option])
            if "has no effect" in words:
                continue
            value = re.escape(default.rpartition("=")[2])  # of timeout=900
            self.assertRegex(words, rf"[Dd]efault {value}(?![\w.]*\w)|{value} \(the default\)", option)

    def test_the_comparison_with_torchrun_has_every_option(self):
        self.assertEqual(self.options_of_help() - set(OPTION.findall(text_of("docs/torchrun.md"))), set())

    def test_the_map_shows_every_room(self):
        def named(lines):
            return {room for line in lines.splitlines() for room in re.findall(r"\w+", line[19:])}

        def rooms(folder):
            return {path.stem for path in folder.rglob("*.hpp")}

        chart = text_of("docs/architecture.md").split("```")[1]
        for floor in ("app", "io", "core"):
            lines = re.search(rf"\| {floor} .*\n((?:  \| .*\n)*)", chart).group(1)
            self.assertEqual(rooms(ROOT / "include/launch" / floor), named(lines))
        for folder in ROOT.joinpath("include/launch/core").iterdir():
            lines = re.search(rf"  \| {folder.name}/ .*\n(?:  \|  .*\n)*", chart).group()
            self.assertEqual(rooms(folder), named(lines), folder.name)

    def test_links_lead_somewhere(self):
        for name in ["README.md", *(f"docs/{path.name}" for path in ROOT.joinpath("docs").glob("*.md"))]:
            for link in re.findall(r"\]\(([^):#]+)[^):]*\)", text_of(name)):
                self.assertTrue(ROOT.joinpath(name).parent.joinpath(link).exists(), f"{name}: {link}")

    def test_no_record_names_a_place_of_the_machine_that_recorded(self):
        for path in ROOT.joinpath("tests/data").rglob("*.json"):
            found = re.findall(r'"/[^" ]*torchrun_zygote|/tests/interop/|/build/venv', path.read_text(encoding="utf-8"))
            self.assertEqual([], found, path)

    def test_each_message_that_is_explained_is_one_that_the_program_has(self):
        pieces = set()
        for path in ROOT.joinpath("src").rglob("*.cpp"):
            for adjacent in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', path.read_text(encoding="utf-8")):
                text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', adjacent)).replace('\\"', '"')
                pieces |= {piece.strip(" ;:,(") for piece in re.split(r"\{[^}]*\}", text)}
        pieces = {piece for piece in pieces | {os.strerror(code) for code in errno.errorcode} if len(piece) >= 6}
        pages = [text_of("docs/troubleshooting.md") + text_of("docs/kubernetes.md").partition("| What you see |")[2],
                 text_of("docs/hosts.md").partition("| what you see |")[2]]
        ends = re.compile("\n## (What launch reads|Instead of)")
        rows = [row for page in pages for row in re.findall(r"(?m)^\| (`.*?) \| ", ends.split(page)[0])]
        self.assertGreater(len(rows), 20)
        for message in re.findall(r"`(?:n[][\d-]+: )?([^`]+)`", " ".join(rows)):
            if not message.startswith("error "):  # which are the worker's
                rest = message
                for piece in sorted(pieces, key=len, reverse=True):
                    rest = rest.replace(piece, "")
                known = any(message in piece for piece in pieces) or len(rest) * 2 < len(message)
                self.assertTrue(known, f"{message}: no message of launch has {rest}")

    def test_manual_is_well_formed(self):
        self.tool("groff")
        self.run_quietly("groff", "-man", "-ww", "-z", "docs/launch.1")

    def test_shell_scripts_are_clean(self):
        self.tool("shellcheck")
        scripts = [str(path) for folder in ("scripts", ".ci") for path in ROOT.joinpath(folder).rglob("*")
                   if path.is_file() and path.read_bytes().split(b"\n")[0].endswith((b"bash", b"/sh"))]
        self.assertTrue(scripts)
        self.run_quietly("shellcheck", *scripts)

