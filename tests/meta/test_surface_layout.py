"""The surfaces' folders have the same file names for the same things, as the table in docs/architecture.md says."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.meta.project import ROOT, sources, tree

CHAT = "answerback_chat"
_ROW = re.compile(r"^\| `(\w+\.py)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def _rows() -> dict[str, str]:
    """Return where each file of the table is, by its name."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    _, _, after = page.partition("| file | holds | in |\n")
    rows = _ROW.findall(after.partition("\n\n")[0])
    assert len(rows) == len({name for name, _, _ in rows}) > 0
    return {name: where for name, _, where in rows}


SHARED = _rows()


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
"""The bases of chat surfaces."""


@pytest.mark.parametrize("name", FOLDERS)
def test_each_surface_has_the_files_that_all_have(name: str) -> None:
    needed = {"every surface"}
    if CHAT in _imports(ROOT / "adapters" / name):
        needed.add("every chat")
    assert {file for file, where in SHARED.items() if where in needed} <= FOLDERS[name]


def test_exactly_the_names_that_several_surfaces_use_are_in_the_table() -> None:
    assert set(SHARED.values()) <= {"every surface", "every chat", "some"}
    used = Counter(file for files in FOLDERS.values() for file in files)
    assert SHARED.keys() == {file for file, count in used.items() if count > 1}


STARTED: Final = (
    *(path for path in sources("adapters") if path.name in {"connection.py", "leader_lease.py"}),
    ROOT / "docs/examples/linechat/linechat/surface.py",
)
"""The parts that a surface starts, and the example of one."""


@pytest.mark.rule("PLUGIN-6")
@pytest.mark.parametrize("file", STARTED, ids=lambda file: f"{file.parent.name}.{file.stem}")
def test_starting_gives_no_attribute_its_first_value(file: Path) -> None:
    nodes = list(ast.walk(tree(file)))
    starts = [n for n in nodes if isinstance(n, ast.AsyncFunctionDef) and n.name == "start"]
    assert starts
    empty = {
        ast.unparse(target)
        for target, value in _assignments(nodes)
        if isinstance(target, ast.Attribute)
        and isinstance(value, ast.Constant)
        and value.value is None
    }
    inside = [node for start in starts for node in ast.walk(start)]
    assert empty & {ast.unparse(target) for target, _ in _assignments(inside)} == set()


def _assignments(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield what is assigned, and its value."""
    for node in nodes:
        if isinstance(node, ast.AnnAssign):
            yield node.target, node.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield target, node.value


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
