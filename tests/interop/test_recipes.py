"""Launch lines as people have them in their scripts, with the word torchrun replaced, against what torchrun's workers
reported; recipe_lines.py has them. Their workers are real ones.
"""
import kinds
import python_env
from comparison import Comparison, Living
from harness import long

KIND = kinds.recipes()


class Real(Comparison):
    real = True
    load = 1.5

    def check(self, line):
        missing = python_env.missing(self.python("2.13")) if line.recipe.real else []
        self.need(not missing, f"{', '.join(missing)} (tests/interop/python_env.py installs it)")
        self.hold(KIND, [line])


class Recipes(Real):
    """Of one script; it may start two nodes."""


class RecipesOfNodes(Real):
    """Of a script for each node."""


@long("test_recipes.Recipes against the record, and test_living")
class LivingRecipes(Living):
    load = 1.5

    def check(self, line):
        self.live(KIND, [line])


def add_tests(case, lines):
    """One test a recipe, so that each can be run and repeated alone."""
    for line in lines:
        def body(self, line=line):
            self.check(line)
        body.__name__ = f"test_{line.name}"
        setattr(case, body.__name__, body)


add_tests(Recipes, [line for line in KIND.lines if len(line.nodes) == 1])
add_tests(RecipesOfNodes, [line for line in KIND.lines if len(line.nodes) > 1])
add_tests(LivingRecipes, KIND.lines)
