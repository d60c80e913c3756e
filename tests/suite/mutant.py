"""A fault that is put into the program: tests of the quick suite must find it."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Mutant:
    area: str
    path: str
    right: str
    wrong: str
    words: tuple  # that choose tests
