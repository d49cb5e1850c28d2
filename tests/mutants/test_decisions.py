"""Every confirmation with one decision of its guards changed gives another outcome for some of the cases.

What survives would be a guard that no test needs.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from answerback.core import confirmation, people
from tests.mutants.decisions import Mutate
from tests.unit.bot.core import confirming_cases as cases

pytestmark = pytest.mark.rule("CONFIRM-3")


def _mutants(module: ModuleType) -> list[tuple[str, ModuleType]]:
    """Return a module with each of its decisions changed, and a description of each change."""
    made: list[tuple[str, ModuleType]] = []
    while True:
        tree, mutate = ast.parse(inspect.getsource(module)), Mutate(len(made))
        tree.body = [mutate.visit(node) for node in tree.body if _decides(node)]
        if not mutate.description:
            return made
        mutant = ModuleType(module.__name__)
        vars(mutant).update(vars(module))
        exec(compile(ast.fix_missing_locations(tree), "mutant", "exec"), vars(mutant))
        made.append((mutate.description, mutant))


def _decides(node: ast.stmt) -> bool:
    """Whether a statement is a function, or a class that is no stored value."""
    return isinstance(node, ast.FunctionDef) or (
        isinstance(node, ast.ClassDef) and node.name == "People"
    )


@pytest.mark.parametrize(
    ("module", "of", "least"),
    [
        (confirmation, lambda mutant: cases.disagreement(mutant.confirm, people.People), 15),
        (people, lambda mutant: cases.wrong_fact(mutant.People), 30),
    ],
    ids=["confirmation", "people"],
)
def test_every_changed_guard_is_noticed(
    module: ModuleType, of: Callable[[Any], str | None], least: int
) -> None:
    assert of(module) is None, "the guards themselves are wrong"
    mutants = _mutants(module)
    assert len(mutants) >= least, "the mutator does not reach the guards"
    survivors = [what for what, mutant in mutants if of(mutant) is None]
    assert not survivors, "\n".join(survivors)
