"""Every changed decision in the walker is noticed: mutants of its source replay walks, and must behave differently.

The walks are random but always the same. The expected behaviour is that of the walker, which
`tests/unit/bot/test_walker_model.py` compares with an independent model. A mutant that no walk distinguishes from the
original would be a transition that the tests do not cover.
"""

from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from answerback.core import walker
from answerback.core.form import AnswerType, Form, Option, Persistence, Question, When

pytestmark = pytest.mark.rule("WALK-17")

_OPTIONS = (Option(value="x", label="X"), Option(value="y", label="Y"))
_VALUES: dict[AnswerType, list[Any]] = {
    AnswerType.BOOLEAN: [True, False, "true"],
    AnswerType.TEXT: ["", "words", 3],
    AnswerType.SELECT: ["x", "y", "z"],
    AnswerType.MULTI_SELECT: [[], ["x"], ["y", "x"], "x"],
}
_SOMEBODY = walker.Person(surface="web", user_id="u")
_REPLIES = [None, " ", "words", "\ud800"]
_STATE = {"at", "answers", "again", "kept", "editing", "other", "source", "by", "remembered"}
_WALKS = 800
_STEPS = 24


def _form(rng: random.Random) -> Form:
    questions: list[Question] = []
    for i in range(rng.randint(1, 6)):
        kind = rng.choice(list(_VALUES))
        chosen = kind in {AnswerType.SELECT, AnswerType.MULTI_SELECT}
        when = None
        if questions and rng.random() < 0.6:
            parent = rng.choice(questions)
            equals = (
                None
                if parent.when and rng.random() < 0.4
                else rng.choice(_VALUES[parent.answer_type][:2])
            )
            when = When(question_id=parent.id, equals=equals)
        questions.append(
            Question(
                id=f"q{i}",
                text="?",
                answer_type=kind,
                options=_OPTIONS if chosen else (),
                other=chosen and rng.random() < 0.5,
                other_beside=rng.random() < 0.5,
                when=when,
                persistence=rng.choice(list(Persistence)),
            )
        )
    return Form(
        questions=tuple(questions), review=rng.random() < 0.6, reply_needs_text=rng.random() < 0.5
    )


def _action(rng: random.Random, form: Form, walk: Any) -> dict[str, Any]:
    kind = rng.choices(
        ["answer", "other", "back", "edit", "submit", "reply", "end_turn"], [60, 8, 20, 20, 8, 3, 1]
    )[0]
    match kind:
        case "answer":
            question = form.questions[walk.at if walk.at is not None else 0]
            return {
                "value": rng.choice(_VALUES[question.answer_type]),
                "remember": rng.random() < 0.2,
            }
        case "other":
            return {"text": rng.choice(["mine", "  "]), "value": rng.choice([None, [], ["x"]])}
        case "edit":
            return {"question_id": rng.choice([*(q.id for q in form.questions), "none"])}
        case "reply":
            return {"text": rng.choice(_REPLIES)}
        case _:
            return {"kind": kind}


def _replay(module: ModuleType | Any) -> Iterator[str]:
    """Yield a walker's behaviour on the walks, line by line.

    A mutant may fail in any way, which counts as a difference.
    """
    rng = random.Random(8420)
    for _ in range(_WALKS):
        try:
            yield from _walk(module, rng)
        except Exception as error:  # noqa: BLE001
            yield f"failed: {type(error)}"
            return


def _walk(module: ModuleType | Any, rng: random.Random) -> Iterator[str]:
    sources = list(walker.Source)
    form = _form(rng)
    walk = module.start(form)
    yield repr(walk)
    for number in range(_STEPS):
        arguments = _action(rng, form, walk)
        source = rng.choice([sources[0], sources[0], sources[0], rng.choice(sources)])
        action = _build_action(module, arguments)
        result = module.step(form, walk, action, source=source, by=_SOMEBODY, at=float(number))
        problems = [p.pointer + p.code + p.message for p in getattr(result, "problems", ())]
        resumed = module.resume(form, walk)
        yield f"{arguments} {module.can_go_back(form, walk)} {resumed!r} {problems or result!r}"
        if not problems:
            walk = result
        yield repr(module.current_question(form, walk))


def _build_action(module: Any, arguments: dict[str, Any]) -> Any:
    if "remember" in arguments:
        return module.Answer(**arguments)
    if "question_id" in arguments:
        return module.Edit(**arguments)
    if "kind" in arguments:
        return {"back": module.Back, "submit": module.Submit, "end_turn": module.EndTurn}[
            arguments["kind"]
        ]()
    return module.Other(**arguments) if "value" in arguments else module.Reply(**arguments)


class _Mutate(ast.NodeTransformer):
    """Applies mutation number ``wanted``, and counts all possible ones."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.seen = 0
        self.description = ""

    def _is_wanted(self, description: str) -> bool:
        self.seen += 1
        if self.seen - 1 == self.wanted:
            self.description = description
            return True
        return False

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        flipped = {
            ast.Is: ast.IsNot,
            ast.IsNot: ast.Is,
            ast.Eq: ast.NotEq,
            ast.NotEq: ast.Eq,
            ast.In: ast.NotIn,
        }
        kind = type(node.ops[0])
        if kind in flipped and self._is_wanted(f"line {node.lineno}: {ast.unparse(node)} flipped"):
            node.ops = [flipped[kind]()]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._is_wanted(f"line {node.lineno}: and/or swapped in {ast.unparse(node)}"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and self._is_wanted(
            f"line {node.lineno}: {ast.unparse(node)} without not"
        ):
            return node.operand
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        names = [phase.name for phase in walker.Phase]
        if isinstance(node.value, ast.Name) and node.value.id == "Phase" and node.attr in names:
            other = names[(names.index(node.attr) + 1) % len(names)]
            if self._is_wanted(f"line {node.lineno}: Phase.{node.attr} becomes Phase.{other}"):
                node.attr = other
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        self.generic_visit(node)
        left_out = node.arg in _STATE
        if left_out and self._is_wanted(f"line {node.value.lineno}: argument {node.arg} left out"):
            return None
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self._is_wanted(f"line {node.lineno}: if {ast.unparse(node.test)} always taken"):
            node.test = ast.Constant(True)
        elif self._is_wanted(f"line {node.lineno}: if {ast.unparse(node.test)} never taken"):
            node.test = ast.Constant(False)
        return node


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in tree.body if isinstance(node, ast.FunctionDef)]


def _mutant(wanted: int) -> tuple[str, Any] | None:
    """Return the walker with one decision changed and a description of the change, or None if there are no more."""
    tree = ast.parse(inspect.getsource(walker))
    mutate = _Mutate(wanted)
    tree.body = [
        mutate.visit(node) if isinstance(node, ast.FunctionDef) else node for node in tree.body
    ]
    if not mutate.description:
        return None
    # the models stay the original's, so that only decisions differ
    module = ModuleType("mutant")
    vars(module).update(vars(walker))
    functions = ast.Module(body=list(_functions(ast.fix_missing_locations(tree))), type_ignores=[])
    future = ast.parse("from __future__ import annotations").body
    functions.body = [*future, *functions.body]
    exec(compile(ast.fix_missing_locations(functions), "mutant", "exec"), vars(module))
    return mutate.description, module


def test_every_mutant_of_a_transition_is_noticed() -> None:
    expected = list(_replay(walker))
    assert expected == list(_replay(walker)), "the walks are not repeatable"
    assert [line for line in expected if line.startswith("failed")] == []
    survivors = []
    for wanted in range(1_000):
        mutant = _mutant(wanted)
        if mutant is None:
            break
        what, module = mutant
        noticed = any(a != b for a, b in zip(expected, _replay(module), strict=False))
        if not noticed:
            survivors.append(what)
    assert wanted > 60, (
        "there are fewer mutants than decisions: the mutator does not reach the walker"
    )
    assert not survivors, "\n".join(survivors)
