"""Every confirmation with one decision of its guards changed gives another outcome for some of the cases.

What survives would be a guard that no test needs.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from answerback.core import confirmation, people
from tests.mutants.decisions import Mutate, change_decision, list_decisions
from tests.mutants.guards import GUARDS, Guards
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
    """Return True if a statement is a function, or a class that is no stored value."""
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


@pytest.mark.parametrize("guards", GUARDS, ids=lambda guards: guards.module)
def test_the_mutator_reaches_the_guards_and_every_change_that_does_the_same(guards: Guards) -> None:
    decisions = guards.decisions()
    assert len(decisions) >= 15
    known = {(each.function, each.change) for each in decisions}
    assert guards.equivalent.keys() <= known


_SOURCE = """
from functools import wraps

def wrapped(function):
    @wraps(function)
    def call(*arguments): return function(*arguments)
    return call

def flat(a): return a in (1, 2) or a == 3

@wrapped
def decorated(a):
    if a is None: return 1
    return 0

class Part:
    @property
    def first(self): return 1 if vars(self) else 2

    @staticmethod
    def inner(a):
        def nested(b): return not b
        return nested(a)

def invariant(a):
    if a is None: raise AssertionError
    return [b for b in (1, a) if b]
"""


def test_a_decision_is_changed_wherever_its_function_was_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "part.py").write_text(_SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    expected: list[tuple[str, str, Callable[[Any], object], object, object]] = [
        ("flat", "a in (1, 2) flipped", lambda part: part.flat(1), True, False),
        ("flat", "a == 3 flipped", lambda part: part.flat(4), False, True),
        (
            "flat",
            "a in (1, 2) or a == 3 with and/or swapped",
            lambda part: part.flat(3),
            True,
            False,
        ),
        ("decorated", "a is None always true", lambda part: part.decorated(2), 0, 1),
        ("decorated", "a is None never true", lambda part: part.decorated(None), 1, 0),
        (
            "Part.first",
            "1 if vars(self) else 2 always the first",
            lambda part: part.Part().first,
            2,
            1,
        ),
        (
            "Part.first",
            "1 if vars(self) else 2 always the second",
            lambda part: part.Part().first,
            2,
            2,
        ),
        ("Part.inner", "not b without not", lambda part: part.Part.inner(True), False, True),
        ("invariant", "1 left out", lambda part: part.invariant(2), [1, 2], [2]),
        ("invariant", "a left out", lambda part: part.invariant(2), [1, 2], [1]),
    ]
    found = [(each.function, each.change) for each in list_decisions(_SOURCE)]
    assert found == [(function, change) for function, change, *_ in expected]
    for number, (_, what, call, before, after) in enumerate(expected):
        monkeypatch.delitem(sys.modules, "part", raising=False)
        part = importlib.import_module("part")
        assert call(part) == before
        change_decision("part", number)
        assert call(part) == after, what
