"""Progress bars and a debugger on a terminal: the same with standard error that passes launch as without."""
from harness import Settings, wait_for
from terminals import OnTerminal
from torch_job import TorchCase

TQDM = """
import sys
from tqdm import tqdm
for _ in tqdm(range(20), mininterval=0, colour="green", bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt}"):
    pass
"""
RICH = """
import sys
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
console = Console(file=sys.stderr)
with Progress(TextColumn("[bold]{task.description}"), BarColumn(), console=console, auto_refresh=False) as progress:
    task = progress.add_task("epoch", total=20)
    for _ in range(20):
        progress.update(task, advance=1, refresh=True)
console.print("[red]done[/red]")
"""
STOPS = """
import sys
factor = 6
breakpoint()
print("the end", file=sys.stderr)
"""


class Bars(OnTerminal, TorchCase):
    def begin(self, text, *options):
        self.resize(24, 83)
        env = {"PYTHON_EXEC": str(self.python("2.13")), "TERM": "xterm-256color"}
        return self.on_terminal(Settings.launch, *options, self.program(text, "worker.py"), env=env,
                                stdout=self.terminal, stderr=self.terminal)

    def check_same(self, text, end):
        seen = []
        for how in ("inherit", "pass"):
            self.shown.clear()
            self.expect([0], [self.begin(text, f"--stderr={how}")])
            self.assertTrue(wait_for(lambda: end in self.screen(), 10), self.shown)
            seen.append(self.screen())
        self.assertEqual(*seen)
        self.assertIn(b"\x1b[", seen[0], "no colours")

    def test_tqdm(self):
        self.check_same(TQDM, b"20/20")

    def test_rich(self):
        self.check_same(RICH, b"done")

    def test_a_debugger(self):
        for how in ("inherit", "pass"):
            with self.subTest(how=how):
                self.shown.clear()
                run = self.begin(STOPS, f"--stderr={how}", "--stdin=0")
                for line, answer in ((b"p factor * 7\n", b"\n42\r\n"), (b"c\n", b"the end")):
                    self.assertTrue(wait_for(lambda: b"(Pdb) " in self.screen(), 20), self.shown)
                    self.shown.clear()
                    self.press(line)
                    self.assertTrue(wait_for(lambda: answer in self.screen(), 20), self.shown)
                self.expect([0], [run])
