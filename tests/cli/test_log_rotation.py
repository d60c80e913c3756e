"""Log files of a bounded size: the newest of what a worker wrote, by whole lines, and all of it on the console.

LAUNCH_LOG_SEEDS and LAUNCH_LOG_SEED choose the jobs, as for test_log_lines; 20 from 1, with sanitizers 5.
"""
import os
import random
import re
import shutil

from console import Console, sort_lines
from harness import wait_for
from lines import chunks, text
from player import NAMES, OUT, PAUSE, STREAMS, Part, PlayerCase, sanitized

SIZE = 64 << 10
ALL = 1000  # files, more than any of these jobs fills
NUMBERED = re.compile(r"(stdout|stderr)\.log(?:\.([1-9]\d*))?")


class Rotation(PlayerCase):
    def files(self, logs, rank, stream):
        """The files of a stream from the oldest to the current one."""
        (folder,) = logs.glob(f"*_*/attempt_0/{rank}")
        found = {}
        for path in folder.iterdir():
            if (match := NUMBERED.fullmatch(path.name)) and match[1] == NAMES[stream]:
                found[int(match[2] or 0)] = path
        return [found[age] for age in sorted(found, reverse=True)], sorted(found)

    def oldest(self, logs):
        """The highest number that a file has now, of any stream."""
        names = [NUMBERED.fullmatch(path.name) for path in logs.glob("*_*/attempt_0/*/std*")]
        return max((int(name[2] or 0) for name in names if name), default=0)

    def check_stream(self, said, part, stream, logs, most):
        """How many files there are."""
        paths, ages = self.files(logs, part.rank, stream)
        said = f"{said}, {NAMES[stream]} of rank {part.rank}, files {ages}"
        self.assertEqual(list(range(len(ages))), ages, said)
        self.assertLessEqual(len(ages), most, said)
        data, parts = part.data[stream], [path.read_bytes() for path in paths]
        for path, content in zip(paths, parts):
            # A line that has begun is finished in its file.
            self.assertLessEqual(content.rfind(b"\n", 0, -1) + 1, SIZE, f"{said}: {path.name} {len(content)}")
            self.assertTrue(content or path == paths[-1], f"{said}: {path.name} is empty")
            # Only a line that is longer than a file may be is cut, and fills it.
            self.assertTrue(path == paths[-1] or content.endswith(b"\n") or len(content) >= SIZE,
                            f"{said}: {path.name} ends within a line")
        whole = b"".join(parts)
        self.assertTrue(data.endswith(whole), f"{said}: {len(whole)} bytes that are not the last ones written")
        begin = len(data) - len(whole)
        line = data[data.rfind(b"\n", 0, begin) + 1:data.find(b"\n", begin) + 1]
        apart = begin == 0 or data[begin - 1:begin] == b"\n"
        self.assertTrue(apart or len(line) > SIZE, f"{said}: begins within a line")
        if most == ALL or len(paths) < most:
            self.assertEqual(0, begin, f"{said}: too few files for so much lost")
        return len(paths)

    def compose(self, chance, rank):
        part, turns = Part(rank), []
        for stream in STREAMS:
            part.data[stream] = text(chance, rank, stream, chance.choice([0, 100, 1000, 3000]))
            turns += [(stream, size) for size in chunks(chance, part.data[stream])]
        chance.shuffle(turns)
        for stream, size in turns:
            part.write(stream, size)
            if chance.random() < 2 / len(turns):
                part.do(PAUSE, chance.randint(100, 20_000))
        return part

    def one_job(self, seed, most, slow):
        chance = random.Random(seed)
        parts = [self.compose(chance, rank) for rank in range(chance.randint(1, 3))]
        options = chance.choice([["-t", "3"], ["-t", "3"], ["-r", "3", "--log-writer=launch"],
                                 ["-t", "1", "-r", "2", "--log-writer=launch"]])
        logs = self.folder / "logs"
        said = f"seed {seed}, {len(parts)} workers, {' '.join(options)}, at most {most} files"
        out, err = Console(not slow), Console(not slow)
        run = self.play(parts, "-q", f"--nproc-per-node={len(parts)}", f"--log-dir={logs}", "--log-max-size=64K",
                        f"--log-max-files={most}", *options, out=out, err=err)

        def over():
            for console in (out, err) if slow else ():
                console.take(4096, 0.002)
            self.assertLess(self.oldest(logs), most, f"{said}: a file too many while the job runs")
            return all(part.ended for part in parts)

        self.assertTrue(wait_for(over, 40), said)
        for console in (out, err) if slow else ():
            console.read_on()
        shown = [sort_lines(console.text()) for console in (out, err)]
        self.expect([0], [run])
        files = 0
        for part in parts:
            for stream in STREAMS:
                files = max(files, self.check_stream(said, part, stream, logs, most))
                lines = shown[stream][0].pop(part.rank, [])
                if "-t" in options and (stream == OUT or options[1] == "3"):
                    self.check_shown(said, part, stream, part.data[stream], lines)
                else:
                    self.assertEqual([], lines, said)
        self.assertEqual([[], []], [others for _, others in shown], said)
        run.close()
        self.runs.remove(run)
        shutil.rmtree(logs)
        return files

    def jobs(self, most, slow=False):
        seeds = int(os.environ.get("LAUNCH_LOG_SEEDS", 5 if sanitized() else 20))
        first = int(os.environ.get("LAUNCH_LOG_SEED", 1))
        return max(self.one_job(seed, most, slow) for seed in range(first, first + seeds))

    def test_three_files_hold_the_newest_lines(self):
        self.assertEqual(3, self.jobs(3))

    def test_with_enough_files_nothing_is_lost(self):
        self.assertGreater(self.jobs(ALL), 3)

    def test_a_console_that_is_read_slowly_shows_what_the_files_no_longer_hold(self):
        self.assertEqual(3, self.jobs(3, slow=True))
