"""Runs a fuzzer until it has used so many seconds of a processor, at a priority that takes them from nobody.

    python3 tests/suite/fuzz_slice.py NAME SECONDS

What it finds is kept beside its corpus in build/fuzz/corpus. Exit code 0 if it has found nothing.
"""
import os
import pathlib
import signal
import subprocess
import sys

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
INTERRUPTED = 72  # libFuzzer's exit code after SIGINT
LAST_LINES = 40


def used(pid):
    """Seconds of a processor."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ended(process):
    """Waits for that a little."""
    try:
        process.wait(0.5)
        return True
    except subprocess.TimeoutExpired:
        return False


def run(name, seconds):
    corpus = BUILD / "fuzz/corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    # An input may take long since others run; a real endless loop takes longer still.
    command = [BUILD / "fuzz/tests" / name, "-timeout=300", "-print_final_stats=1", "-rss_limit_mb=4096",
               f"-artifact_prefix={corpus}-", corpus]
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    os.nice(19)
    with open(corpus.with_suffix(".log"), "w+", encoding="utf-8", errors="replace") as log:
        with subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as fuzzer:
            signal.signal(signal.SIGTERM, lambda *_: fuzzer.terminate())
            asked = False
            while not ended(fuzzer):
                if not asked and used(fuzzer.pid) >= seconds:
                    fuzzer.send_signal(signal.SIGINT)
                    asked = True
        log.seek(0)
        for line in log.read().splitlines()[-LAST_LINES:]:
            print("  " + line)
    return 0 if fuzzer.returncode == 0 or asked and fuzzer.returncode == INTERRUPTED else 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], float(sys.argv[2])))
