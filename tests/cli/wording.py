"""What launch says, as far as tests rely on it: the facts of a message, never its whole text."""
import re

MESSAGE = r"^launch: "  # how each line of launch's own begins
WAITING = r"(?mi)^launch: .*wait"
TIMED_OUT = r"(?i)tim(ed|e)[- ]?out|gave up|within"


def failed(rank, local_rank, node):
    """The line of the report that says which worker failed first."""
    return rf"(?s)rank {rank}\b.{{0,20}}local rank {local_rank}\b.{{0,60}}node {node}\b"


def exit_code(code):
    return rf"exit code:? +{code}\b"


def signal_name(number, name):
    return rf"signal {number}\b.{{0,3}}{name}\b"


def missing_nodes(*ranks):
    return r"(?i)node(s| ranks?)?:? +" + ", *".join(str(rank) for rank in ranks) + r"\b"


def busy_port(port, holder):
    return rf"(?s)\b{port}\b.*\b{re.escape(str(holder))}\b"


def own_lines(text):
    return [line for line in text.splitlines() if re.match(MESSAGE, line)]
