"""Tests wait for what they need, not for a fixed time: a sleep of a fixed length is in a loop that looks again."""

import ast
from collections.abc import Iterator

from tests.meta.project import ROOT, sources, tree

FIXED = {
    "tests/acceptance/chaos/cluster.py": "A machine is frozen for as long as the chaos says.",
    "tests/acceptance/test_restarts.py": "A service is away for longer than a moment.",
    "tests/benchmarks/cycle.py": "What follows by itself shall be measured.",
    "tests/benchmarks/processes.py": "What has just started shall not be measured.",
    "tests/benchmarks/replicas.py": "A benchmark samples at intervals.",
    "tests/benchmarks/service.py": "An agent comes a moment after the one before.",
    "tests/budgets/journeys.py": "What follows by itself shall be counted too.",
    "tests/simulation/faults.py": "In a simulation, time is virtual.",
    "tests/unit/bot/workers/test_lost_claims.py": "A suspended process does nothing while time passes.",
}
"""The files that sleep for a fixed time, and why no event can replace it."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.While, ast.For, ast.AsyncFor)


def _sleeps(node: ast.AST, *, in_loop: bool = False) -> Iterator[int]:
    """Yield the lines of sleeps for a fixed time outside loops; a pause of 0 only lets others run."""
    in_loop = not isinstance(node, _FUNCTIONS) and (in_loop or isinstance(node, _LOOPS))
    for child in ast.iter_child_nodes(node):
        yield from _sleeps(child, in_loop=in_loop)
    if (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) in {"asyncio.sleep", "time.sleep"}
        and not in_loop
        and all(map(_is_fixed, node.args))
    ):
        yield node.lineno


def _is_fixed(seconds: ast.expr) -> bool:
    if isinstance(seconds, ast.BinOp):
        return _is_fixed(seconds.left) and _is_fixed(seconds.right)
    if isinstance(seconds, ast.Name):
        return seconds.id.isupper()
    return isinstance(seconds, ast.Constant) and seconds.value != 0


def _found() -> dict[str, list[int]]:
    sleeping = [path for path in sources("tests") if "sleep(" in path.read_text("utf-8")]
    found = {path.relative_to(ROOT): [*_sleeps(tree(path))] for path in sleeping}
    return {str(path): lines for path, lines in found.items() if lines}


def test_no_test_sleeps_for_a_fixed_time() -> None:
    found = _found()
    assert found.keys() == FIXED.keys(), found


def test_a_sleep_of_a_fixed_length_is_found_only_outside_loops() -> None:
    waits = "async def f():\n await asyncio.sleep(2 * A)\n while b:\n  time.sleep(1)\n"
    assert [*_sleeps(ast.parse(waits + " await asyncio.sleep(0)\n time.sleep(c)"))] == [2]
