"""Every limit of a contract or platform is read by the code that obeys it, and tested at its edge.

Each constant is changed to the next smaller or the next larger number, with `MATRIX=whole` to both, in freshly imported
packages. Then the tests that guard it (`tests.limit_edges`) run, and one of them has to fail each time.
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

from tests import matrix
from tests.limit_edges import Test, edge_tests_by_constant
from tests.meta.project import ROOT, SOURCE_FOLDERS, module_name, sources, tree


@dataclass(frozen=True)
class LimitsModule:
    """A module that defines limits.

    Attributes:
        package: the package that reads them, imported again after each change.
        folder: the package of the tests that guard them.
        tests: the test modules in it.
    """

    module: str
    package: str
    folder: str
    tests: tuple[str, ...]


def _of_surface(package: str) -> LimitsModule:
    folder = ROOT / "tests" / "unit" / "adapters" / package.removeprefix("answerback_")
    tests = tuple(sorted(path.stem for path in folder.glob("test_limits*.py")))
    return LimitsModule(f"{package}.limits", package, f"tests.unit.adapters.{folder.name}", tests)


LIMITS_MODULES = (
    *(_of_surface(path.parent.name) for path in (ROOT / "adapters").glob("*/limits.py")),
    LimitsModule("answerback.core.form", "answerback", "tests.unit.bot.core", ("test_limits",)),
    LimitsModule(
        "answerback.core.json_schema.schemas", "answerback", "tests.unit.bot.core", ("test_limits",)
    ),
    LimitsModule(
        "answerback_push.limits", "answerback_push", "tests.unit.bot.push", ("test_limits",)
    ),
    LimitsModule(
        "answerback.core.json_schema.validation_cost",
        "answerback",
        "tests.unit.bot.core",
        ("test_limits",),
    ),
    LimitsModule(
        "answerback.core.clarification",
        "answerback",
        "tests.unit.bot.core",
        ("test_limits_of_clarification",),
    ),
    LimitsModule(
        "answerback.http.unverified_connections",
        "answerback",
        "tests.unit.bot.http",
        ("test_limits_of_unverified_connections",),
    ),
    LimitsModule(
        "answerback_postgres.health_checks",
        "answerback_postgres",
        "tests.unit.storage.postgres",
        ("test_limits_of_doctor",),
    ),
)
MODULES = {module_name(path): path for path in sources(*SOURCE_FOLDERS)}


def test_every_limits_module_is_listed() -> None:
    names = {name for name in MODULES if name.endswith(".limits")}
    assert names <= {limits.module for limits in LIMITS_MODULES}


def constants(limits: LimitsModule) -> list[str]:
    """Return the names of a module's limits: its public constants that are numbers or mappings to numbers."""
    namespace = vars(importlib.import_module(limits.module))
    named = [
        node.target.id
        for node in tree(MODULES[limits.module]).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    return [
        name
        for name in named
        if not name.startswith("_") and isinstance(namespace[name], int | float | dict)
    ]


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file's syntax tree."""
    return tuple(ast.walk(tree(path)))


EACH_MODULE = [pytest.param(limits, id=limits.module) for limits in LIMITS_MODULES]
EACH_CONSTANT = [
    pytest.param(limits, name, id=f"{limits.module}.{name}")
    for limits in LIMITS_MODULES
    for name in constants(limits)
]


@pytest.mark.parametrize("limits", EACH_MODULE)
def test_code_reads_every_limit(limits: LimitsModule) -> None:
    used = {
        name
        for module, path in MODULES.items()
        if f"{module}.".startswith(f"{limits.package}.")
        for name in names_read(path, module, limits)
    }
    assert set(constants(limits)) - used == set()


def names_read(path: Path, module: str, limits: LimitsModule) -> Iterator[str]:
    """Yield the limits that a file of the package reads."""
    package, _, last = limits.module.rpartition(".")
    is_defining_module = module == limits.module
    imported: dict[str, str] = {}
    handles: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module == limits.module:
            imported |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == package:
            handles |= {alias.asname or last for alias in node.names if alias.name == last}
    for node in nodes(path) if is_defining_module or imported or handles else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in handles:
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if is_defining_module:
                yield node.id
            elif node.id in imported:
                yield imported[node.id]


@pytest.mark.parametrize("limits", EACH_MODULE)
def test_every_limit_documents_its_unit_or_source(limits: LimitsModule) -> None:
    body = tree(MODULES[limits.module]).body
    documented = {
        node.target.id: isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        for node, after in zip(body, [*body[1:], None], strict=True)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert [name for name in constants(limits) if not documented[name]] == []


@pytest.mark.parametrize("limits", EACH_MODULE)
def test_every_guard_passes_in_freshly_imported_packages(limits: LimitsModule) -> None:
    with fresh_import(limits, None, None) as guarded:
        assert set(constants(limits)) <= set(guarded)
        for guarding in guarded.values():
            for test in guarding:
                test()


@pytest.mark.parametrize(("limits", "name"), EACH_CONSTANT)
def test_a_wrong_number_is_noticed(limits: LimitsModule, name: str) -> None:
    right = vars(importlib.import_module(limits.module))[name]
    for wrong in matrix.one_of(wrong_values(right), name):
        with fresh_import(limits, name, wrong) as guarded:
            failing = any(fails(test) for test in guarded.get(name, []))
            assert failing, f"{name} = {wrong!r} passes every test that is marked as its edge"


def wrong_values(right: object) -> list[object]:
    """Return wrong values for a limit."""
    if isinstance(right, dict):
        first, *rest = right.items()
        return [dict(rest), dict([*rest, (first[0], first[1] << 1)])]
    assert isinstance(right, int | float)
    return [right - 1, right + 1]


def fails(test: Test) -> bool:
    """Return whether a test fails."""
    try:
        test()
    except Exception:  # noqa: BLE001
        return True
    return False


@contextmanager
def fresh_import(
    limits: LimitsModule, name: str | None, value: object
) -> Iterator[dict[str, list[Test]]]:
    """Yield the guarding tests by constant, in packages that were imported again after a constant was changed."""
    renewed = (
        f"{limits.package}.",
        f"{limits.folder}.",
        "answerback_testing.",
        "answerback_hosts.",
    )

    def remove_modules() -> dict[str, ModuleType]:
        found = [name for name in sys.modules if f"{name}.".startswith(renewed)]
        return {name: sys.modules.pop(name) for name in found}

    original_modules = remove_modules()
    finder = CachedFinder(renewed)
    sys.meta_path.insert(0, finder)
    try:
        if name is not None:
            import_with(limits, name, value)
        found: dict[str, list[Test]] = {}
        for test_module in limits.tests:
            tests = importlib.import_module(f"{limits.folder}.{test_module}")
            for constant, guarding in edge_tests_by_constant(tests).items():
                found.setdefault(constant, []).extend(guarding)
        yield found
    finally:
        sys.meta_path.remove(finder)
        remove_modules()
        sys.modules.update(original_modules)


class CachedFinder(MetaPathFinder):
    """Finds modules for the repeated imports, and compiles each only once."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not f"{name}.".startswith(self._names):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = CachedLoader(name, spec.loader.path)
        return spec


class CachedLoader(SourceFileLoader):
    """Loads a module whose source does not change while the tests run."""

    def get_code(self, fullname: str) -> CodeType | None:
        return compiled(self.path)


@cache
def compiled(path: str) -> CodeType:
    """Return a file's compiled code."""
    code: CodeType = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
    return code


def import_with(limits: LimitsModule, name: str, value: object) -> None:
    """Import a module as if one of its constants had another value."""
    changed = ast.parse(MODULES[limits.module].read_text("utf-8"))
    for node in changed.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            node.value = ast.parse(repr(value), mode="eval").body
    package, _, last = limits.module.rpartition(".")
    parent = importlib.import_module(package)
    module = ModuleType(limits.module)
    module.__file__ = str(MODULES[limits.module])
    sys.modules[limits.module] = module
    exec(compile(ast.fix_missing_locations(changed), module.__file__, "exec"), vars(module))
    setattr(parent, last, module)
