"""Verdicts on the screens of a job's nodes, beside those that are kept in a file of tests/data."""
import os
import pathlib
import re

from harness import ROOT, wait_for

WORKERS = ROOT / "tests" / "cli" / "workers"


class Verdicts:
    """For tests with a folder. LAUNCH_UPDATE_GOLDEN=1 writes the file anew; read the difference before you keep it."""
    golden = pathlib.Path()
    folders = {WORKERS: "WORKERS"}
    maxDiff = None

    def plain(self, text):
        """Without what differs from run to run."""
        text = text.replace(str(self.folder), "FOLDER")
        for folder, name in self.folders.items():
            text = text.replace(str(folder), name)
        text = re.sub(r"host \S+?([),;\n:])", r"host HOST\1", text)
        text = re.sub(r"pid \d+( \([^)]*\))?", "pid N", text)
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
        text = re.sub(r"\w{8}(-\w{4}){3}-\w{12}", "UUID", text)  # the run id of a job that was given none
        text = re.sub(r"\b(UUID|none)_\w{8}/", r"\1_XXXXXXXX/", text)
        text = re.sub(r"torchelastic_\w{6}/", "torchelastic_XXXXXX/", text)
        text = re.sub(r"pid\(s\) \d+", "pid(s) N", text)
        text = re.sub(r"sleeping \(S\) in \w+", "sleeping (S)", text)  # names of functions are the kernel's affair
        text = re.sub(r"after [0-9.]+ m?s", "after SOME TIME", text)
        text = re.sub(r"(less than 1|\d+) s before", "SOME TIME before", text)
        text = re.sub(r"peak \d+ MiB", "peak N MiB", text)
        text = re.sub(r"\S+ has no module (\S+); .*", r"PYTHON has no module \1; OTHERS", text)
        return re.sub(r"(127\.0\.0\.1\]?):\d+", r"\1:PORT", text)

    def verdict(self, run):
        """The screen: its first line, and the indented ones behind it."""
        wait_for(lambda: re.search(r"(?m)^  exit code |; exit code \d+$", run.err), 5)
        found = re.search(r"(?m)^launch: (.* (?:FAILED|STOPPED) .*\n(?:  .*\n)*)", run.err)
        self.assertTrue(found, str(run))
        return self.plain(found.group(1))

    def check(self, name, *runs):
        """The same on every node, and the same as ever."""
        texts = [self.verdict(run) for run in runs]
        for text in texts:
            self.assertEqual(texts[0], text)
        self.check_text(name, texts[0])

    def check_text(self, name, text):
        # Others may read from a slow disk at that moment.
        text = re.sub(r"(?m)^  at failure +.*: uninterruptible.*\n(?: {17}.*: uninterruptible.*\n)*", "", text)
        known = self._known()
        if os.environ.get("LAUNCH_UPDATE_GOLDEN"):
            known[name] = text
            self.golden.write_text("".join(f"== {key}\n{value}" for key, value in sorted(known.items())))
        self.assertEqual(known.get(name), text)

    def _known(self):
        """Name -> text of each verdict."""
        parts = re.split(r"^== (.*)\n", self.golden.read_text() if self.golden.exists() else "", flags=re.M)
        return dict(zip(parts[1::2], parts[2::2]))


class Stories(Verdicts):
    """How jobs fail, as users meet it: each node's screen tells the cause, the rank, its node and where its log is."""
    golden = ROOT / "tests" / "data" / "stories.txt"
    longest_screen = 20

    def check_story(self, name, runs, code, says, any_rank=False):
        self.expect([code] * len(runs), runs, seconds=120)
        texts = {self.verdict(run) for run in runs}
        self.assertEqual(1, len(texts), "\n".join(texts))
        (text,) = texts
        self.assertLessEqual(len(text.splitlines()), self.longest_screen, text)
        for words in says:
            self.assertRegex(text, words)
        if name:  # otherwise it is chance which exceptions led to the last one
            self.check_text(name, without_ranks(text) if any_rank else text)


def without_ranks(text):
    """Of a failure of all ranks, one is the first; how many others were stopped, and on which nodes, is chance."""
    text = re.sub(r"\brank \d+ \(local rank \d+\) on node \d+", "rank R (local rank L) on node K", text)
    text = re.sub(r"\brank \d+ (timed out|lost its)", r"rank R \1", text)
    # What gloo says of a peer that has gone: whether a byte from here was still unread there is chance.
    text = re.sub(r"pair\.cc:\d+\] (Connection closed by peer (\S+:PORT)|Read error (\S+:PORT): [^.]*)\. .*",
                  r"pair.cc:LINE] Connection to \2\3 lost.", text)
    return re.sub(r"(?m)^  (other workers|logs|cleanup) +.*\n(?: {17}.*\n)*", "", text)
