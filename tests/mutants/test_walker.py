"""The walker follows the model on random walks, and every walker with one decision changed does not.

A mutant that agrees with the model on all walks would be a transition that the tests do not cover.
"""

from __future__ import annotations

import ast
import inspect
import os
import random
from types import ModuleType

import pytest

from answerback.core import walker
from tests.mutants import confirmations
from tests.mutants.decisions import Mutate
from tests.mutants.walks import disagreement

pytestmark = pytest.mark.rule("WALK-17")

_FIXED_SEED = 18
"""A seed whose first hundred walks notice even the changes that matter rarely; most seeds need many hundreds."""
_MUTANT_SEEDS = range(_FIXED_SEED, _FIXED_SEED + 8)
"""After a change of the walker or the walks, one of the others may be the one that notices."""
_WALKS = 400
_STATE = {
    "at",
    "answers",
    "again",
    "kept",
    "editing",
    "moves_on",
    "other",
    "source",
    "by",
    "remembered",
}


@pytest.mark.rule("WALK-1")
@pytest.mark.parametrize("seed", [_FIXED_SEED, None], ids=["fixed", "random"])
def test_the_walker_follows_the_model(seed: int | None) -> None:
    """With a new seed in each run; the message names it, and ``WALK_SEED`` repeats it."""
    if seed is None:
        seed = int(os.environ.get("WALK_SEED") or random.SystemRandom().randrange(2**32))
    assert disagreement(walker, seed, _WALKS) is None, f"WALK_SEED={seed} repeats this"


def test_the_walker_has_answers_confirmed() -> None:
    assert confirmations.disagreement(walker) is None


class _Mutate(Mutate, ast.NodeTransformer):
    """Changes phases, the state and the table of transitions, too."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        names = [phase.name for phase in walker.Phase]
        if isinstance(node.value, ast.Name) and node.value.id == "Phase" and node.attr in names:
            other = names[(names.index(node.attr) + 1) % len(names)]
            if self.is_wanted(node, f"becomes Phase.{other}"):
                node.attr = other
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        self.generic_visit(node)
        if node.arg in _STATE and self.is_wanted(node, "left out"):
            return None
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        for i, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            other = node.values[(i + 1) % len(node.values)]
            is_row = isinstance(key, ast.Name) and ast.unparse(value) != ast.unparse(other)
            if is_row and self.is_wanted(value, "replaced"):
                node.values[i] = other
                break
        return node


def _mutant(wanted: int) -> tuple[str, ModuleType] | None:
    """Return the walker with one decision changed and a description of the change, or None if there are no more."""
    tree = ast.parse(inspect.getsource(walker))
    mutate = _Mutate(wanted)
    tree.body = [mutate.visit(node) for node in tree.body if _decides(node)]
    if not mutate.description:
        return None
    # the models stay the original's, so that only decisions differ
    module = ModuleType("mutant")
    vars(module).update(vars(walker))
    exec(compile(ast.fix_missing_locations(tree), "mutant", "exec"), vars(module))
    return mutate.description, module


def _decides(node: ast.stmt) -> bool:
    """Return True if a statement is a function or part of the table of transitions."""
    is_table = isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict)
    return is_table or isinstance(node, ast.FunctionDef | ast.ImportFrom)


@pytest.mark.long
def test_every_mutant_of_a_transition_is_noticed() -> None:
    survivors = []
    for wanted in range(1_000):
        mutant = _mutant(wanted)
        if mutant is None:
            break
        what, module = mutant
        if confirmations.disagreement(module) is not None:
            continue
        if all(disagreement(module, seed, _WALKS) is None for seed in _MUTANT_SEEDS):
            survivors.append(what)
    assert wanted > 90, (
        "there are fewer mutants than decisions: the mutator does not reach the walker"
    )
    assert not survivors, "\n".join(survivors)
