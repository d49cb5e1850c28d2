"""Every module of the product has tests of its name, or a suite that reaches it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.meta.project import ROOT, SOURCE_FOLDERS, sources, tree
from tests.meta.suites import SUITES

TESTS = {path: path.stem for path in sources("tests") if path.name.startswith("test_")}


@cache
def _modules() -> dict[str, Path]:
    """Return the files of the product and of the tests, by the name under which they are imported."""
    found = {}
    for path in sources(*SOURCE_FOLDERS, "tests"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        inside = parts if parts[0] == "tests" else parts[1:]
        found[".".join(inside[:-1] if inside[-1] == "__init__" else inside)] = path
    return found


def _row_of(path: Path) -> str | None:
    """Return the pattern under which a module's suite is listed; None if there are tests of its name."""
    own = f"test_{path.stem.strip('_')}"
    if any(name == own or name.startswith(f"{own}_") for name in TESTS.values()):
        return None
    found = path.relative_to(ROOT)
    return next(
        (row for row in SUITES if found.match(row) and len(found.parts) == len(Path(row).parts)),
        "",
    )


@cache
def _without_their_own() -> dict[Path, str]:
    """Return the modules without tests of their name, and their rows."""
    return {
        path: row
        for path in sources(*SOURCE_FOLDERS)
        if not path.stem.startswith("__") and (row := _row_of(path)) is not None
    }


LOADS_BY_NAME = {
    "bot/answerback_base/hosts.py": "bot/answerback_hosts/*/*.py",
    "bot/answerback_agents/cli/main.py": "bot/answerback/cli/*.py",
    "bot/answerback/dialects/installed.py": "bot/answerback/dialects/*.py",
    "bot/answerback/runtime/stores.py": "storage/**/plugin.py",
    "tests/acceptance/test_third_party_extension.py": "docs/examples/outcomefile/tests/*.py",
    "tests/acceptance/test_third_party_dialect.py": "docs/examples/releaseplan/tests/*.py",
}
"""The files that import modules for commands or entry points, or run the tests of an example; and which."""


@cache
def _imported(path: Path) -> frozenset[Path]:
    """Return the files that a file names: in its imports, or as a string."""
    loaded = LOADS_BY_NAME.get(str(path.relative_to(ROOT)))
    return frozenset([*_names(path), *(ROOT.glob(loaded) if loaded else ())])


def _names(path: Path) -> Iterator[Path]:
    for node in ast.walk(tree(path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value.partition(":")[0]]
        for name in names:
            if name in _modules():
                yield _modules()[name]


@cache
def _reached(suite: str) -> frozenset[Path]:
    """Return every file of the project that a suite's tests and their conftests import, directly or not."""
    reached: set[Path] = set()
    waiting = _files(suite)
    folders = {folder for path in waiting for folder in path.parents}
    waiting += [
        path for path in sources("tests") if path.name == "conftest.py" and path.parent in folders
    ]
    while waiting:
        if (path := waiting.pop()) not in reached:
            reached.add(path)
            waiting += _imported(path)
    return frozenset(reached)


def _files(suite: str) -> list[Path]:
    folder = ROOT / suite
    return [
        path
        for path in TESTS
        if (path.is_relative_to(folder) if folder.is_dir() else path.match(suite))
    ]


def test_every_module_has_tests_of_its_name_or_a_suite() -> None:
    assert [path for path, row in _without_their_own().items() if not row] == []


def test_no_row_is_without_a_module() -> None:
    assert SUITES.keys() - set(_without_their_own().values()) == set()


def test_every_suite_exists_and_reaches_its_modules() -> None:
    """One test for all rows: each process that runs a part of them would read all files of the project."""
    missing = [suite for suites in SUITES.values() for suite in suites if not _files(suite)]
    assert missing == []
    reached = {
        row: frozenset[Path]().union(*(_reached(suite) for suite in suites))
        for row, suites in SUITES.items()
    }
    assert [
        path for path, row in _without_their_own().items() if row and path not in reached[row]
    ] == []
