"""Every bound of a contract or a platform is read by the code that obeys it, and held at its edge by a test.

A constant is changed to the next smaller and the next larger number, in packages that are imported anew for it, and
the tests that guard it (`tests.edges`) run: one of them has to fail each time.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from tests.edges import Test, edge_tests_by_constant
from tests.meta.project import SOURCE_FOLDERS, module_name, sources, tree


@dataclass(frozen=True)
class Bounds:
    """A module that holds bounds.

    Attributes:
        package: what reads them, and is imported anew where one is changed.
        folder: where the tests are that guard them.
        tests: their modules in it.
    """

    module: str
    package: str
    folder: str
    tests: tuple[str, ...]


BOUNDS = (
    Bounds(
        "answerback_discord.limits",
        "answerback_discord",
        "tests.unit.adapters.discord",
        ("test_limits", "test_limits_of_wholes"),
    ),
    Bounds(
        "answerback_slack.limits",
        "answerback_slack",
        "tests.unit.adapters.slack",
        ("test_limits", "test_limits_of_wholes"),
    ),
    Bounds("answerback_web.limits", "answerback_web", "tests.unit.adapters.web", ("test_limits",)),
    Bounds("answerback.core.form", "answerback", "tests.unit.bot", ("test_limits",)),
    Bounds("answerback.core.json_schema.schemas", "answerback", "tests.unit.bot", ("test_limits",)),
    Bounds(
        "answerback.core.json_schema.validation_cost",
        "answerback",
        "tests.unit.bot",
        ("test_limits",),
    ),
    Bounds(
        "answerback.core.clarification",
        "answerback",
        "tests.unit.bot",
        ("test_limits_of_clarifying",),
    ),
    Bounds(
        "answerback.http.unverified_connections",
        "answerback",
        "tests.unit.bot",
        ("test_limits_of_strangers",),
    ),
    Bounds(
        "answerback_storage.postgres.health_checks",
        "answerback_storage",
        "tests.unit.storage",
        ("test_limits_of_doctor",),
    ),
)
MODULES = {module_name(path): path for path in sources(*SOURCE_FOLDERS)}


def test_every_limits_module_is_among_them() -> None:
    limits = {name for name in MODULES if name.endswith(".limits")}
    assert limits <= {bounds.module for bounds in BOUNDS}


def constants(bounds: Bounds) -> list[str]:
    """The names of a module's bounds: its public constants that are numbers, one or several."""
    held = vars(importlib.import_module(bounds.module))
    named = [
        node.target.id
        for node in tree(MODULES[bounds.module]).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    return [
        name
        for name in named
        if not name.startswith("_") and isinstance(held[name], int | float | dict)
    ]


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that is in a file's syntax tree."""
    return tuple(ast.walk(tree(path)))


ALL = [pytest.param(bounds, id=bounds.module) for bounds in BOUNDS]
EACH = [
    pytest.param(bounds, name, id=f"{bounds.module}.{name}")
    for bounds in BOUNDS
    for name in constants(bounds)
]


@pytest.mark.parametrize("bounds", ALL)
def test_code_reads_every_bound(bounds: Bounds) -> None:
    used = {
        name
        for module, path in MODULES.items()
        if f"{module}.".startswith(f"{bounds.package}.")
        for name in read_in(path, module, bounds)
    }
    assert set(constants(bounds)) - used == set()


def read_in(path: Path, module: str, bounds: Bounds) -> Iterator[str]:
    """The bounds that a file of the package reads."""
    package, _, last = bounds.module.rpartition(".")
    own = module == bounds.module
    imported: dict[str, str] = {}
    handles: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module == bounds.module:
            imported |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == package:
            handles |= {alias.asname or last for alias in node.names if alias.name == last}
    for node in nodes(path) if own or imported or handles else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in handles:
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if own:
                yield node.id
            elif node.id in imported:
                yield imported[node.id]


@pytest.mark.parametrize("bounds", ALL)
def test_every_bound_says_its_unit_or_source(bounds: Bounds) -> None:
    body = tree(MODULES[bounds.module]).body
    said = {
        node.target.id: isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        for node, after in zip(body, [*body[1:], None], strict=True)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert [name for name in constants(bounds) if not said[name]] == []


@pytest.mark.parametrize("bounds", ALL)
def test_every_guard_passes_in_packages_imported_anew(bounds: Bounds) -> None:
    with anew(bounds, None, None) as guarded:
        assert set(constants(bounds)) <= set(guarded)
        for guarding in guarded.values():
            for test in guarding:
                test()


@pytest.mark.parametrize(("bounds", "name"), EACH)
def test_a_wrong_number_is_noticed(bounds: Bounds, name: str) -> None:
    right = vars(importlib.import_module(bounds.module))[name]
    for wrong in wrong_for(right):
        with anew(bounds, name, wrong) as guarded:
            failing = any(fails(test) for test in guarded.get(name, []))
            assert failing, f"{name} = {wrong!r} passes every test that is marked as its edge"


def wrong_for(right: object) -> list[object]:
    """What a bound might be by mistake."""
    if isinstance(right, dict):
        first, *rest = right.items()
        return [dict(rest), dict([*rest, (first[0], first[1] << 1)])]
    assert isinstance(right, int | float)
    return [right - 1, right + 1]


def fails(test: Test) -> bool:
    """Whether a test fails."""
    try:
        test()
    except Exception:  # noqa: BLE001
        return True
    return False


@contextmanager
def anew(bounds: Bounds, name: str | None, value: object) -> Iterator[dict[str, list[Test]]]:
    """The guards of bounds by constant, on packages that were imported after a constant was changed."""
    renewed = (f"{bounds.package}.", f"{bounds.folder}.")

    def take_out() -> dict[str, ModuleType]:
        found = [each for each in sys.modules if f"{each}.".startswith(renewed)]
        return {each: sys.modules.pop(each) for each in found}

    kept = take_out()
    finder = KeptSources(renewed)
    sys.meta_path.insert(0, finder)
    try:
        if name is not None:
            imported_with(bounds, name, value)
        found: dict[str, list[Test]] = {}
        for each in bounds.tests:
            tests = importlib.import_module(f"{bounds.folder}.{each}")
            for constant, guarding in edge_tests_by_constant(tests).items():
                found.setdefault(constant, []).extend(guarding)
        yield found
    finally:
        sys.meta_path.remove(finder)
        take_out()
        sys.modules.update(kept)


class KeptSources(MetaPathFinder):
    """Finds the modules that are imported anew, each compiled once for all the times."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not f"{name}.".startswith(self._names):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = KeptSource(name, spec.loader.path)
        return spec


class KeptSource(SourceFileLoader):
    """Loads a module whose source does not change while the tests run."""

    def get_code(self, fullname: str) -> CodeType | None:
        return compiled(self.path)


@cache
def compiled(path: str) -> CodeType:
    """A file's code."""
    code: CodeType = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    return code


def imported_with(bounds: Bounds, name: str, value: object) -> None:
    """Imports a module as if one of its constants were written otherwise."""
    changed = ast.parse(MODULES[bounds.module].read_text("utf-8"))
    for node in changed.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            node.value = ast.parse(repr(value), mode="eval").body
    package, _, last = bounds.module.rpartition(".")
    parent = importlib.import_module(package)
    made = ModuleType(bounds.module)
    made.__file__ = str(MODULES[bounds.module])
    sys.modules[bounds.module] = made
    exec(compile(ast.fix_missing_locations(changed), made.__file__, "exec"), vars(made))
    setattr(parent, last, made)
