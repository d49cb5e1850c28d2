"""Nothing in the product is left that nothing in the product uses.

A function, method, class or constant is in use if its name occurs in code that is itself in use: at the top level of a
module, in a template, or in the body of something in use. A use in a test does not count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tests.meta.project import ROOT, SOURCE_FOLDERS, sources, tree

PUBLIC: Final = ("bot/answerback/ports/", "bot/answerback_testing/", "bot/answerback_client/")
"""The parts that others call: the interface and the test suites for plug-ins, and the client."""
ENTRY_POINTS: Final = frozenset(
    re.findall(r'^\w+ = "[\w.]+:(\w+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
)
"""The names in the entry points of `pyproject.toml`."""
_OWN_METHODS_ONLY: Final = frozenset(
    {
        "BaseModel",
        "BaseSettings",
        "Enum",
        "Generic",
        "IntEnum",
        "NamedTuple",
        "Protocol",
        "RootModel",
        "StrEnum",
    }
)
"""Classes of libraries that call no method of a subclass by its name; any other may."""
_DECORATORS: Final = frozenset(
    {"abstractmethod", "asynccontextmanager", "cache", "cached_property", "classmethod", "contextmanager", "dataclass",
     "lru_cache", "overload", "override", "property", "runtime_checkable", "staticmethod", "total_ordering"}
)  # fmt: skip
"""Decorators that only change what they decorate; any other may register it somewhere, to be called from there."""
_PARTS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WORD: Final = re.compile(r"\w+")


class Definition(NamedTuple):
    """A named part of a module, and the names that occur in it outside of parts of its own."""

    place: str
    name: str
    uses: frozenset[str]
    live: bool = False


def test_everything_is_used() -> None:
    definitions, live = [], set(ENTRY_POINTS)
    paths = sources(*SOURCE_FOLDERS)
    ours = own_classes(tree(path) for path in paths)
    for path in paths:
        place = path.relative_to(ROOT).as_posix()
        live |= names_in(tree(path))
        parts = [*definitions_in(tree(path), place, ours)]
        if place.startswith(PUBLIC):
            live |= {each.name for each in parts}
        definitions += parts
    for path in (ROOT / "adapters").rglob("*.html"):
        live |= {*_WORD.findall(path.read_text("utf-8"))}
    assert unused(definitions, live) == []


def test_what_only_unused_code_uses_is_unused() -> None:
    source = """
import library
class Base(library.Base): pass
class Extending(Base):
    def called_by_the_library(self): pass
class Kind(Enum):
    def used(self): return _helper()
    def unused(self): return only_here()
    @library.register
    def registered(self): return by_registered()
def _helper(): return CONSTANT
def only_here(): return only_here() + OLD
def by_registered(): pass
CONSTANT: int = 1
OLD = 2
Kind().used(Extending)
"""
    imagined = ast.parse(source)
    found = unused([*definitions_in(imagined, "m.py", own_classes([imagined]))], names_in(imagined))
    assert sorted(found) == ["m.py:12: only_here", "m.py:15: OLD", "m.py:8: unused"]


def unused(definitions: list[Definition], live: set[str]) -> list[str]:
    """Return the definitions that no code in use names."""
    waiting = definitions
    while reached := [each for each in waiting if each.live or each.name in live]:
        waiting = [each for each in waiting if not (each.live or each.name in live)]
        live = live.union(*(each.uses for each in reached))
    return [f"{each.place}: {each.name}" for each in waiting]


def is_always_live(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Return whether a part may be called without being named: a special method, or one that is registered."""
    called = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    names = [each.attr if isinstance(each, ast.Attribute) else ast.unparse(each) for each in called]
    return node.name.startswith("__") or not _DECORATORS.issuperset(names)


def own_classes(trees: Iterable[ast.Module]) -> frozenset[str]:
    """Return the names of the classes that do not, even indirectly, extend a library's that calls their methods."""
    bases: dict[str, set[str]] = {}
    for module in trees:
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                names = {ast.unparse(base).partition("[")[0] for base in node.bases}
                bases.setdefault(node.name, set()).update(names)
    ours = _OWN_METHODS_ONLY | bases.keys()
    while extending := {name for name in ours if bases.get(name, set()) - ours}:
        ours -= extending
    return ours


def definitions_in(part: ast.AST, place: str, ours: frozenset[str]) -> Iterator[Definition]:
    """Yield the parts of a part, and the methods of its classes, but nothing inside functions."""
    called_by_library = isinstance(part, ast.ClassDef) and part.name not in ours
    for node in ast.iter_child_nodes(part):
        if isinstance(node, _PARTS):
            live = called_by_library or is_always_live(node)
            yield Definition(f"{place}:{node.lineno}", node.name, frozenset(names_in(node)), live)
        if isinstance(node, ast.ClassDef):
            yield from definitions_in(node, place, ours)
        if isinstance(part, ast.Module):
            for target in targets_of(node):
                yield Definition(f"{place}:{target.lineno}", target.id, frozenset())


def targets_of(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the names that an assignment defines."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    yield from (target for target in targets if isinstance(target, ast.Name))


def names_in(part: ast.AST) -> set[str]:
    """Return the names that occur in a part, without those inside parts of its own; decorators count."""
    names: set[str] = set()
    inside = not isinstance(part, (ast.Module, ast.ClassDef))
    waiting = [*ast.iter_child_nodes(part)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _PARTS) and not inside:
            waiting += node.decorator_list
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        waiting += ast.iter_child_nodes(node)
    return names
