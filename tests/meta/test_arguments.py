"""No argument is packed into a tuple only to be unpacked in the call: the reader would lose its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.meta.project import ROOT, SOURCE_FOLDERS, sources, tree


def packed_arguments(module: ast.AST) -> Iterator[int]:
    """Yield the lines of calls with ``*(a, b)``, or ``*packed`` where ``packed = (a, b)`` has no other use."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            yield from (each.value.lineno for each in _unpacked(node) if _is_packed(each.value))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _packed_names(node)


def _packed_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[int]:
    nodes = [*ast.walk(function)]
    packed = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_packed(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    } | {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for targets in node.targets
        if isinstance(targets, ast.Tuple) and len(targets.elts) == len(node.value.elts)
        for target, value in zip(targets.elts, node.value.elts, strict=True)
        if isinstance(target, ast.Name) and _is_packed(value)
    }
    unpacked = {
        id(each.value): each.value
        for node in nodes
        if isinstance(node, ast.Call)
        for each in _unpacked(node)
        if isinstance(each.value, ast.Name) and each.value.id in packed
    }
    used_otherwise = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and id(node) not in unpacked
    }
    yield from (node.lineno for node in unpacked.values() if node.id not in used_otherwise)


def _unpacked(call: ast.Call) -> Iterator[ast.Starred]:
    return (each for each in call.args if isinstance(each, ast.Starred))


def _is_packed(value: ast.expr) -> bool:
    """Return True if it is a tuple or list whose parts are all written out."""
    return (
        isinstance(value, ast.Tuple | ast.List)
        and bool(value.elts)
        and not any(isinstance(each, ast.Starred) for each in value.elts)
    )


def _is_command_line(value: ast.expr) -> bool:
    """Return True if it has a text: tests put a program's options and their values on lines of their own."""
    return any(isinstance(each, ast.Constant) for each in ast.iter_child_nodes(value))


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("f(*(a, b))", [1]),
        ("f(c, *[a, b], d=1)", [1]),
        ("def g():\n    parts = (a, b)\n    return f(*parts, c)", [3]),
        ("async def g():\n    parts = a, b\n    f(*parts)\n    f(*parts)", [3, 4]),
        ("def g():\n    c, parts = d, (a, b)\n    return f(c, *parts)", [3]),
        ("def g():\n    key = (a, b)\n    return known[key] or f(*key)", []),
        ("def g(*parts):\n    return f(*parts)", []),
        ("def g():\n    names = (a, *b)\n    return f(*names)", []),
        ("f(*(*a, *b))", []),
        ("f(*([a] if a else []))", []),
        ("[*(a, b), c]", []),
    ],
)
def test_packed_arguments_are_found(code: str, lines: list[int]) -> None:
    assert [*packed_arguments(ast.parse(code))] == lines


def test_arguments_keep_their_names() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources(*SOURCE_FOLDERS)
        for line in packed_arguments(tree(path))
    } | {
        f"{path.relative_to(ROOT)}:{each.value.lineno}"
        for path in sources("tests")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        for each in _unpacked(node)
        if _is_packed(each.value) and not _is_command_line(each.value)
    }
    assert found == set(), "write the arguments out, or make a value of what belongs together"
