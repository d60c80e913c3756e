"""The code blocks of README.md and docs, their commands, and what of their output is different each time."""
import dataclasses
import functools
import re

from harness import ROOT

NAMES = ["README.md", *sorted(f"docs/{path.name}" for path in ROOT.joinpath("docs").iterdir())]
SHAPES = [  # what is different each time it comes
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})?", "TIME"),
    (r"\bpid \d+", "pid N"),
    (r"_\w{8}(?=[/\s]|$)", "_XXXXXXXX"),  # of the folder of a job
    (r"\b\d+ bytes", "N bytes"),
]


@dataclasses.dataclass(frozen=True)
class Block:
    document: str
    line: int
    text: str

    @property
    def place(self):
        return f"{self.document}:{self.line}"

    @property
    def lines(self):
        return self.text.splitlines()

    def commands(self):
        """The commands behind a "$", each with the lines that it prints."""
        found = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
        return found

    def command_lines(self):
        """The words of each line of a block that has commands only, without the remark at its end."""
        return [words for line in self.lines if (words := line.partition("  #")[0].split())]


def _of_markdown(name, text):
    """Blocks between fences, and those that are indented by four blanks."""
    lines, number = text.splitlines(), 0
    while number < len(lines):
        first = number
        number += 1
        if lines[first].lstrip().startswith("```"):
            while not lines[number].lstrip().startswith("```"):
                number += 1
            yield Block(name, first + 1, "\n".join(lines[first + 1:number]))
            number += 1
        elif lines[first].startswith("    ") and not lines[first - 1].strip():
            while number < len(lines) and lines[number].startswith("    "):
                number += 1
            yield Block(name, first + 1, "\n".join(line[4:] for line in lines[first:number]))


def _of_manual(name, text):
    for match in re.finditer(r"^\.nf\n(.*?)\n\.fi$", text, re.M | re.S):
        yield Block(name, text.count("\n", 0, match.start()) + 1, match[1].replace("\\-", "-").replace("\\e", "\\"))


@functools.cache
def all_blocks():
    found = []
    for name in NAMES:
        text = ROOT.joinpath(name).read_text(encoding="utf-8")
        found += (_of_markdown if name.endswith(".md") else _of_manual)(name, text)
    return found


def blocks_with(document, beginning):
    """Those of this document whose first line begins so."""
    return [block for block in all_blocks()
            if block.document == document and block.text.lstrip().startswith(beginning)]


def shaped(text):
    """The text without what is different each time."""
    for pattern, name in SHAPES:
        text = re.sub(pattern, name, text)
    return text


def form(value, key=""):
    """A value of JSON without what is different each time: fractions, process ids and versions."""
    if isinstance(value, dict):
        return [(name, form(inner, name)) for name, inner in value.items()]  # the order of the names counts
    if isinstance(value, list):
        return [form(inner) for inner in value]
    if isinstance(value, float) or key in ("pid", "version"):
        return type(value).__name__
    return shaped(value) if isinstance(value, str) else value
