"""Every byte that a worker has written before its end is in its file, and every line of it once on the console.

A job is its seed. LAUNCH_LOG_SEEDS says how many (300; 30 with sanitizers), LAUNCH_LOG_SEED the first one (1).
"""
import os
import random
import re
import shutil
import time

import processes
from console import Console, sort_lines, whole_lines
from harness import free_port, wait_for
from lines import chunks, steady, text
from player import DEAF, ERR, EXIT, FORK, NAMES, OUT, PAUSE, RAISE, STREAMS, Part, PlayerCase, sanitized

SIGABRT, SIGKILL = 6, 9
LONG_PAUSE = 260_000  # microseconds: after 200 ms launch shows an unfinished line as it stands
STAY = 60_000_000  # microseconds: until it is killed
SOME = {0: 3, 1: 1}
# Options, which streams (bits: 1 stdout, 2 stderr) of a rank are shown, and which are in files.
LAYOUTS = [(["-t", "3"], lambda rank: 3, lambda rank: 3),
           (["-t", "1", "-r", "2"], lambda rank: 1, lambda rank: 3),
           (["-t", "0:3,1:1"], lambda rank: SOME.get(rank, 0), lambda rank: SOME.get(rank, 0)),
           (["-t", "0:3,1:1", "-r", "3"], lambda rank: SOME.get(rank, 0), lambda rank: 3),
           (["-r", "3"], lambda rank: 0, lambda rank: 3),
           (["-r", "3", "--log-writer=launch"], lambda rank: 0, lambda rank: 3),
           (["-t", "3", "--local-ranks-filter=0,2,3"], lambda rank: 3 * (rank in (0, 2, 3)), lambda rank: 3)]


def compose(chance, rank, direct=(), short=()):
    """What a worker writes and when, in short lines to the streams `short`. Those of `direct` go to the console as they
    are, so by whole lines."""
    part, sizes = Part(rank), []
    for stream in STREAMS:
        part.data[stream] = text(chance, rank, stream, chance.choice([0, 1, 5, 30, 100, 200]), stream in short)
        cut = [len(one) + 1 for one in whole_lines(part.data[stream])] if stream in direct else None
        sizes.append(cut or list(chunks(chance, part.data[stream])))
    turns = [OUT] * len(sizes[OUT]) + [ERR] * len(sizes[ERR])
    chance.shuffle(turns)
    following = [iter(sizes[OUT]), iter(sizes[ERR])]
    pauses = 0
    for stream in turns:
        part.write(stream, next(following[stream]))
        if pauses < 15 and chance.random() < 0.05:
            part.do(PAUSE, chance.randint(100, 5000))
            pauses += 1
    return part


def spoil(chance, parts):
    """Gives some workers a bad end, at any moment; the exit codes that are right for the job."""
    codes = set()
    for part in chance.sample(parts, min(len(parts), chance.choice([1, 1, 2]))):
        del part.operations[chance.randint(0, len(part.operations)):]
        end, argument, code = chance.choice([(EXIT, 1, 1), (EXIT, 77, 77), (RAISE, SIGABRT, 128 + SIGABRT),
                                             (RAISE, SIGKILL, 128 + SIGKILL), (FORK, 5, 5)])
        if end == FORK:  # its child goes on writing until launch ends it
            part.operations.insert(chance.randint(0, len(part.operations)), (FORK, argument))
            part.do(PAUSE, STAY)
        else:
            part.do(end, argument)
        part.spoilt = True
        codes.add(code)
    return codes


def vary(chance, parts):
    """The workers of a job end at any moment, some of them badly; the exit codes that are right for it."""
    codes = spoil(chance, parts) if chance.random() < 0.55 else {0}
    for part in parts:
        if part.spoilt:
            continue
        choice = chance.random()
        if choice < 0.2:
            del part.operations[chance.randint(0, len(part.operations)):]
            part.do(EXIT)
        elif choice < 0.25:
            part.operations.insert(chance.randint(0, len(part.operations)), (FORK, 0))
        elif choice < 0.75 and codes != {0}:
            part.do(PAUSE, STAY)
        elif choice < 0.85:
            part.operations.insert(0, (DEAF, 0))
        elif choice < 0.87:
            part.operations.insert(chance.randint(0, len(part.operations)), (PAUSE, LONG_PAUSE))
    return codes


def halting(part, stream):
    """Writes its lines by halves, with a short pause between."""
    for number in range(40):
        name = b"w%d %s %d" % (part.rank, NAMES[stream].encode(), number)
        for half in (name, b" the other half\n"):
            part.write_all(stream, half)
            part.do(PAUSE, 2000)
    return part


class LogLines(PlayerCase):
    def files_of(self, logs):
        (attempt,) = logs.glob("*_*/attempt_0")
        return attempt

    def own_lines(self, said, others):
        """What is no worker's on standard error: lines of launch, and the verdict of a failed job as the last."""
        verdict = False
        for other in others:
            own = other.startswith(b"launch: ")
            verdict = verdict or own and b" FAILED" in other
            self.assertTrue(own or verdict and other.startswith(b"  "), f"{said}: whose line is this? {other[:200]!r}")

    def check_direct(self, said, part, stream, others):
        """Lines that went to the console without launch; what is left of the others."""
        name = b"w%d %s " % (part.rank, NAMES[stream].encode())
        mine = [one for one in others if one.startswith(name)]
        shown = b"".join(one + b"\n" for one in mine)
        self.assertTrue(part.data[stream].startswith(shown), f"{said}: {NAMES[stream]} of rank {part.rank}")
        self.assertLessEqual(part.done(stream), len(shown), said)
        return [one for one in others if not one.startswith(name)]

    def check_job(self, said, run, parts, layout, logs):
        _, shows, files = layout
        attempt = self.files_of(logs)
        for stream in STREAMS:
            shown, others = sort_lines(run.consoles[stream].text(5))
            for part in parts:
                if not files(part.rank) >> stream & 1:
                    others = self.check_direct(said, part, stream, others)
                    continue
                written = self.check_file(said, part, stream, attempt / str(part.rank) / f"{NAMES[stream]}.log")
                lines = shown.pop(part.rank, [])
                if shows(part.rank) >> stream & 1:
                    self.pieces += self.check_shown(said, part, stream, written, lines)
                else:
                    self.assertEqual([], lines, f"{said}: rank {part.rank} is not to be shown")
            self.assertEqual({}, shown, said)
            if stream == OUT:
                self.assertEqual([], others, said)
            else:
                self.own_lines(said, others)

    def one_job(self, seed):
        chance = random.Random(seed)
        layout = chance.choice(LAYOUTS)
        ranks = range(chance.randint(1, 6))
        direct = {rank: [stream for stream in STREAMS if not layout[2](rank) >> stream & 1] for rank in ranks}
        parts = [compose(chance, rank, direct[rank], set().union(*direct.values())) for rank in ranks]
        codes = vary(chance, parts)
        logs = self.folder / "logs"
        stage = self.stage(parts)
        run = self.play(parts, f"--nproc-per-node={len(parts)}", f"--log-dir={logs}", "--shutdown-timeout=2",
                        *layout[0], stage=stage)
        self.finish(run, seconds=40)
        said = f"seed {seed}, {len(parts)} workers, {' '.join(layout[0])}, exit codes {codes}"
        self.assertIn(run.code, codes, f"{said}\n{run}")
        self.check_job(said, run, parts, layout, logs)
        run.close()
        self.runs.remove(run)
        shutil.rmtree(stage)
        shutil.rmtree(logs)

    def test_nothing_is_lost_or_torn(self):
        seeds = int(os.environ.get("LAUNCH_LOG_SEEDS", 30 if sanitized() else 300))
        first = int(os.environ.get("LAUNCH_LOG_SEED", 1))
        self.pieces = 0
        began = time.monotonic()
        for seed in range(first, first + seeds):
            self.one_job(seed)
            processes.collect_adopted()
        print(f"\n  {seeds} jobs in {time.monotonic() - began:.0f} s; {self.pieces} times a line was shown in pieces",
              flush=True)

    def slow_job(self, seed, take):
        """Workers that write much to a console of which `take` is done until they have ended; nothing is lost."""
        chance = random.Random(seed)
        parts = [Part(rank) for rank in range(chance.randint(1, 3))]
        streams = chance.choice([[OUT], [ERR], [OUT, ERR]])
        for part in parts:
            for stream in streams:
                size = 8_000_000 if seed % 4 == 1 else 2_000_000
                part.write_all(stream, steady(part.rank, stream, size), chance.choice([4096, 10_000, 1 << 16]))
        parts.append(halting(Part(len(parts)), streams[-1]))
        logs = self.folder / "logs"
        out, err = Console(reads=False), Console(reads=False)
        run = self.play(parts, f"--nproc-per-node={len(parts)}", f"--log-dir={logs}", "-t", "3", out=out, err=err)
        said = f"seed {seed}, {len(parts)} workers, streams {streams}"

        def all_ended():
            for console in (out, err):
                take(console)
            return all(part.ended for part in parts)

        self.assertTrue(wait_for(all_ended, 40), f"{said}: the console holds the workers up")
        self.assertLess(len(out.taken) + len(err.taken), 1_000_000, f"{said}: this console was not slow")
        layout = LAYOUTS[0]
        err.read_on()
        out.read_on()
        self.expect([0], [run])
        self.check_job(said, run, parts, layout, logs)
        run.close()
        self.runs.remove(run)
        shutil.rmtree(logs)

    def slow_jobs(self, take):
        self.pieces = 0
        for seed in range(1, 4 if sanitized() else 21):
            self.slow_job(seed, take)

    def test_a_console_that_is_read_slowly(self):
        self.slow_jobs(lambda console: len(console.taken) < 400_000 and console.take(1024, 0.002))

    def test_a_console_that_is_not_read_until_the_workers_have_ended(self):
        self.slow_jobs(lambda console: None)

    def shared_job(self, seed):
        """The nodes of one job whose launches have one console, which is read now faster, now slower."""
        chance = random.Random(seed)
        nodes, port, logs = chance.randint(2, 3), free_port(), self.folder / "logs"
        per_node = chance.randint(1, 2)
        parts = [Part(rank) for rank in range(nodes * per_node)]
        for part in parts:
            part.write_all(OUT, steady(part.rank, OUT, 300_000, chance.choice([100, 1000, 3800])),
                           chance.choice([3000, 20_000, 1 << 16]))
            part.write_all(ERR, steady(part.rank, ERR, 30_000))
        console, stage = Console(reads=False), self.stage(parts)
        runs = [self.play(parts, f"--nnodes={nodes}", f"--node-rank={node}", f"--nproc-per-node={per_node}",
                          "--master-addr=127.0.0.1", f"--master-port={port}", f"--log-dir={logs}/{node}", "-t", "3",
                          "--log-line-prefix-template=[${rank}]:", out=console, err=console, shared=True, stage=stage)
                for node in range(nodes)]
        console.handed_over()

        def all_ended():
            console.take(chance.choice([100, 4096, 1 << 16]), 0.002)
            return all(part.ended for part in parts)

        said = f"seed {seed}, {nodes} nodes of {per_node} workers"
        self.assertTrue(wait_for(all_ended, 40), said)
        shown, others = sort_lines(console.text(), re.compile(rb"\[(\d+)\]:"))
        self.expect([0] * nodes, runs)
        self.assertEqual([], others, said)
        for part in parts:
            lines = shown.get(part.rank, [])
            for stream in STREAMS:
                name = b"w%d %s " % (part.rank, NAMES[stream].encode())
                self.check_shown(said, part, stream, part.data[stream], [one for one in lines if one.startswith(name)])
            self.assertEqual(sum(data.count(b"\n") for data in part.data), len(lines), said)
        for run in runs:
            run.close()
            self.runs.remove(run)
        shutil.rmtree(logs)

    def test_several_launches_share_a_console(self):
        for seed in range(1, 6 if sanitized() else 21):
            self.shared_job(seed)
