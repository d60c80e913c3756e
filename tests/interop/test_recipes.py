"""Launch lines as people have them in their scripts, with the word torchrun replaced, against what torchrun's workers
reported; recipe_lines.py has them. Their workers are real ones.
"""
import kinds
import python_env
from comparison import Comparison, Living
from harness import long

KIND = kinds.recipes()


class Recipes(Comparison):
    real = True
    load = 1.5
    at_once = 2

    def check(self, line):
        missing = python_env.missing(self.python("2.13")) if line.recipe.real else []
        self.need(not missing, f"{', '.join(missing)} (tests/interop/python_env.py installs it)")
        self.hold(KIND, [line])


@long("test_recipes.Recipes against the record, and test_living")
class LivingRecipes(Living):
    load = 1.5

    def check(self, line):
        self.live(KIND, [line])


def add_tests(case):
    """One test a recipe, so that each can be run and repeated alone."""
    for line in KIND.lines:
        def body(self, line=line):
            self.check(line)
        body.__name__ = f"test_{line.name}"
        setattr(case, body.__name__, body)


add_tests(Recipes)
add_tests(LivingRecipes)
