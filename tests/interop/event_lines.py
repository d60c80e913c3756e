"""`--event-log-handler console`: the command lines of test_events.py, and the events that a launcher writes at them."""
import json

from bench import Line

# What differs from run to run: of these the type alone counts. The host's domain is torchrun's own look-up.
PER_RUN = {"run_id", "worker_id", "worker_pid", "total_run_time", "duration_ms", "hostname"}
FAILS = "if [ $RANK = 1 ]; then sleep 1; exit 7; fi; exec sleep 60"
FAILS_AFTER_GOOD = "if [ $RANK = 1 ]; then sleep 3; exit 7; fi; exit 0"
FAILS_TWICE = "if [ $RANK = 1 ]; then sleep 1; exit 3; fi; exec sleep 60"
# Both launchers make $$ of $$$$.
KILLED = "if [ $RANK = 1 ]; then sleep 1; kill -9 $$$$; fi; exec sleep 60"
ERROR = '{"message":{"message":"E: \\303\\244","extraInfo":{"timestamp":"1"}}}'
WRITES = ("if [ $RANK = 0 ]; then exec sleep 60; fi; sleep 1; "
          f"printf '{ERROR}' > $TORCHELASTIC_ERROR_FILE; exit 5")


def line(name, script, *options, **words):
    options = ("--nproc-per-node=2", "--event-log-handler=console", *options)
    return Line(name, (*options, "--no-python", "sh", "-c", script), **words)


LINES = [
    line("success", "exit 0"), line("failure", FAILS), line("failure after a good end", FAILS_AFTER_GOOD),
    line("a signal", KILLED), line("an error file", WRITES),
    line("restart", FAILS_TWICE, "--max-restarts=1", "--role=tr\u00e9"),
    line("static rendezvous", "exit 0", "--master-addr=127.0.0.1", "--master-port=@PORT@", "--rdzv-backend=static",
         "--rdzv-endpoint=127.0.0.1:@PORT@", "--rdzv-id=j"),
]


def plain(fields, above=""):
    """Order, names and values, a line of text for each; of what differs each time, types."""
    result = []
    for name, value in fields.items():
        if isinstance(value, dict):
            result += plain(value, f"{above}{name}.")
        elif name == "metadata":
            result += plain(json.loads(value), f"{above}{name}: ")
        elif name in PER_RUN:
            kind = [type(one).__name__ for one in value] if isinstance(value, list) else type(value).__name__
            result.append(f"{above}{name} is of {kind}")
        else:
            result.append(f"{above}{name}: {json.dumps(value)}")
    return result


def left_of(outcome):
    """What a launcher has left of a line, as it is recorded."""
    lines = (outcome.folder / "0.err").read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line.startswith('{"name"')]
    events = [json.loads(line) for line in lines]
    laid_out = "as Python does" if lines == [json.dumps(event) for event in events] else lines
    return {"events": [plain(event) for event in events], "laid out": laid_out}


def judge(theirs, outcome):
    if len(theirs["events"]) <= 4:
        yield "torchrun writes too few events", repr(theirs["events"])
    ours = left_of(outcome)
    for name in ("events", "laid out"):
        if theirs[name] != ours[name]:
            yield name, f"torchrun {theirs[name]}\nlaunch   {ours[name]}"
