"""The surfaces' folders have the same file names for the same things, as the tables in docs/architecture.md say."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from answerback.runtime.plugins import installed_plugins
from tests.meta.project import ROOT, sources, tree

CHAT = "answerback_chat"
_ROW = re.compile(r"^\| `(\w+\.py)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def _rows(heading: str) -> dict[str, str]:
    """Return the last column of a table by the file names in its first."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    _, _, after = page.partition(f"| file | holds | {heading} |\n")
    rows = _ROW.findall(after.partition("\n\n")[0])
    assert len(rows) == len({name for name, _, _ in rows}) > 0
    return {name: where for name, _, where in rows}


SHARED = _rows("in")
OWN = _rows("only in")
TITLES = {type(plugin).__module__.partition(".")[0]: plugin.title for plugin in installed_plugins()}


def _folders() -> dict[str, set[str]]:
    """Return the names of the files in each surface's folder."""
    found: dict[str, set[str]] = {}
    for path in sources("adapters"):
        if (path.parent / "plugin.py").exists() and path.name != "__init__.py":
            found.setdefault(path.parent.name, set()).add(path.name)
    return found


FOLDERS = _folders()


def _imports(folder: Path) -> Iterator[str]:
    for path in sources("adapters"):
        if path.parent == folder:
            for node in ast.walk(tree(path)):
                if isinstance(node, ast.ImportFrom) and node.module is not None:
                    yield node.module.partition(".")[0]


BASES: Final = tuple((ROOT / "adapters" / "answerback_chat").glob("*_surface.py"))
"""What chat surfaces derive from."""


@pytest.mark.parametrize("name", FOLDERS)
def test_each_file_of_a_surface_has_the_name_of_what_it_holds(name: str) -> None:
    own = {file for file, where in OWN.items() if where == TITLES[name]}
    needed = {"every surface"}
    if CHAT in _imports(ROOT / "adapters" / name):
        needed.add("every chat")
    assert {file for file, where in SHARED.items() if where in needed} <= FOLDERS[name]
    assert FOLDERS[name] - SHARED.keys() == own


@pytest.mark.parametrize("file", SHARED)
def test_a_shared_name_is_used_by_several_surfaces(file: str) -> None:
    assert SHARED[file] in {"every surface", "every chat", "some"}
    assert sum(file in files for files in FOLDERS.values()) > 1, "list it as one surface's own"


def test_a_file_of_one_surface_has_a_name_of_its_own() -> None:
    assert OWN.keys().isdisjoint(SHARED)
    assert set(OWN.values()) <= set(TITLES.values())


@pytest.mark.rule("PLUGIN-6")
@pytest.mark.parametrize("name", FOLDERS)
def test_starting_a_surface_creates_none_of_its_parts(name: str) -> None:
    files = (ROOT / "adapters" / name / "adapter.py", *BASES)
    starts = [
        node
        for file in files
        for node in ast.walk(tree(file))
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "start"
    ]
    assert starts
    assigned = [
        node for start in starts for node in ast.walk(start) if isinstance(node, ast.Assign)
    ]
    assert [
        ast.unparse(node) for node in assigned if not isinstance(node.value, ast.Constant)
    ] == []
