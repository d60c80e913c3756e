"""The kinds of lines that are recorded: which lines there are, what each leaves, how launch is held against that."""
import compare
import compare_cases
import event_lines
import log_lines
import log_view
import random_lines
import recipe_lines
from bench import AT_ONCE, Wanted

SEED, CASES = "1", 500  # of the random lines that are recorded


class Kind:
    """One subject of the record, with a folder of it; `group` is the file there."""

    name = ""
    rules = compare.WANTED  # with torchrun itself in launch's place: compare.EACH_RUN
    at_once = AT_ONCE  # launchers, if each costs as much as torchrun does

    def __init__(self, lines, itself=False):
        self.lines, self.itself = lines, itself
        self.by_name = {line.name: line for line in lines}

    def install(self, work):
        """Puts the programs that the lines name into the folder `work`."""

    def group(self, line):
        return line.name.rpartition(" ")[0].replace(",", "").replace(" ", "_")

    def theirs(self, line):
        """(side, line) of torchrun's runs."""
        like = line.expect.like if isinstance(line.expect, Wanted) and not self.itself else None
        return [("torchrun", line)] + ([("like", like)] if like else [])

    def left(self, line, outcome):
        """What torchrun has left, as it is recorded."""
        raise NotImplementedError

    def judge(self, line, left, outcome):
        """(cause, detail) of all that is wrong with launch's outcome, with what torchrun has `left` of the line."""
        raise NotImplementedError

    def entry(self, line, outcomes):
        """What torchrun's runs of a line, at each side, have left, with what was asked for."""
        entry = {"asked": asked(line), **self.left(line, outcomes["torchrun"])}
        if "like" in outcomes:
            like = outcomes["like"].line
            entry["like"] = {"asked": asked(like), **self.left(like, outcomes["like"])}
        return entry


class Table(Kind):
    name = "table"

    def install(self, work):
        compare_cases.install(work)

    def theirs(self, line):
        # The line alike inherits what the line does.
        return [(side, compare.with_state(one, line.state)) for side, one in super().theirs(line)]

    def left(self, line, outcome):
        return compare.left_of(line, outcome)

    def judge(self, line, left, outcome):
        rules = compare.EACH_RUN if self.itself else self.rules
        return compare.judge(line, left, outcome, rules, self.itself)


class Random(Table):
    name = "random"

    def group(self, line):
        first = int(line.name.rpartition("/")[2]) // 100 * 100
        return f"{first:03}_to_{first + 99:03}"


class Logs(Kind):
    name = "logs"

    def install(self, work):
        log_lines.install(work)

    def group(self, line):
        return line.name.rpartition(",")[0].replace(" ", "_")

    def left(self, line, outcome):
        return log_view.left_of(line, outcome)

    def judge(self, line, left, outcome):
        return log_view.judge(line, left, outcome)


class Events(Kind):
    name = "events"

    def install(self, work):
        work.mkdir()

    def group(self, line):
        return "events"

    def left(self, line, outcome):
        return event_lines.left_of(outcome)

    def judge(self, line, left, outcome):
        return event_lines.judge(left, outcome)


class Recipes(Kind):
    name = "recipes"
    at_once = 2  # its workers are real ones

    def install(self, work):
        work.mkdir()

    def group(self, line):
        return "recipes"

    def left(self, line, outcome):
        return recipe_lines.left_of(line, outcome)

    def judge(self, line, left, outcome):
        return recipe_lines.judge(line, left, outcome)


def asked(line):
    """What was run, without what a Line has by default."""
    if hasattr(line, "asked"):
        return line.asked
    words = {"argv": list(line.argv), "env": line.env, "nodes": [list(words) for words in line.nodes],
             "state": line.state, "meets": line.meets, "run_id": line.run_id, "folder": line.folder,
             "after": line.after}
    plain = {"env": {}, "nodes": [[]], "state": {}, "meets": "home", "run_id": "", "folder": "@WORK@", "after": ""}
    return {name: compare.shortened(value) for name, value in words.items() if value != plain.get(name)}


def table(itself=False):
    return Table(compare_cases.table(), itself)


def random(seed=SEED, cases=CASES, itself=False):
    return Random(random_lines.random_lines(seed, cases), itself)


def logs():
    return Logs(log_lines.table())


def events():
    return Events(event_lines.LINES)


def recipes():
    return Recipes(recipe_lines.table())


def all_kinds():
    return [table(), random(), logs(), events(), recipes()]
