"""The rules of the specification, and the tests that claim to prove them.

Both are read from source without importing anything, so the check is fast.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeGuard

from tests.meta.project import ROOT, sources, tree

PAGE: Final = ROOT / "docs" / "specification.md"
_RULE: Final = re.compile(
    r"^- \*\*(?P<id>[A-Z]+-\d+)\*\* (?P<planned>\*\(planned\)\* )?\S", re.MULTILINE
)
_BOLD_ITEM: Final = re.compile(r"^ *[-*] \*\*.*$", re.MULTILINE)


@dataclass(frozen=True)
class Rules:
    """The ids of the specification's rules, in order."""

    built: tuple[str, ...]
    planned: tuple[str, ...]
    duplicates: tuple[str, ...]
    unreadable: tuple[str, ...]
    """Items that look like rules but are not written as one."""


@dataclass
class Marks:
    """The rules that the tests claim to prove."""

    proofs: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    """For each rule, the file and the function or class in it. An empty name stands for the whole file."""
    unread: list[str] = field(default_factory=list)
    """Marks that prove nothing: on something that is not a test, or with arguments other than literal ids."""


def rules_of(text: str) -> Rules:
    """Parse the rules of a page like the specification."""
    found = list(_RULE.finditer(text))
    times = Counter(rule["id"] for rule in found)
    starts = {rule.start() for rule in found}
    items = _BOLD_ITEM.finditer(text)
    return Rules(
        built=tuple(rule["id"] for rule in found if not rule["planned"]),
        planned=tuple(rule["id"] for rule in found if rule["planned"]),
        duplicates=tuple(name for name, count in times.items() if count > 1),
        unreadable=tuple(item[0] for item in items if item.start() not in starts),
    )


@cache
def rules() -> Rules:
    """Return the rules of the specification."""
    return rules_of(PAGE.read_text("utf-8"))


@cache
def marks() -> Marks:
    """Return the marks of all tests."""
    found = Marks()
    for path in (*sources("tests"), *sources("bot")):
        if "mark.rule" in path.read_text("utf-8"):
            note_marks(found, str(path.relative_to(ROOT)), tree(path))
    return found


def note_marks(found: Marks, file: str, module: ast.Module) -> None:
    """Add the marks of one source file."""
    read = 0
    for name, calls in _marked(module):
        for call in calls:
            read += 1
            if not call.args or call.keywords or not all(map(_is_text, call.args)):
                found.unread.append(f"{file}:{call.lineno}")
            for argument in call.args:
                if isinstance(argument, ast.Constant):
                    found.proofs[str(argument.value)].append((file, name))
    if read != sum(_is_mark(node) for node in ast.walk(module)):
        found.unread.append(f"{file}: a mark that is not on a test")


def table() -> str:
    """Build the table of rules and the tests that prove them."""
    proofs = marks().proofs
    rows = [f"| {rule} | {_format_tests(proofs.get(rule, []))} |" for rule in rules().built]
    return "\n".join(["| rule | tests |", "|---|---|", *rows])


def _format_tests(proofs: list[tuple[str, str]]) -> str:
    by_file: dict[str, list[str]] = defaultdict(list)
    for file, name in proofs:
        by_file[file].append(name)
    return "<br>".join(
        f"`{file}`" + "".join(f" `{name}`" for name in names if name)
        for file, names in sorted(by_file.items())
    )


def _marked(module: ast.Module) -> Iterator[tuple[str, list[ast.Call]]]:
    """Yield the tests of a module, its test classes and the module itself, each with its marks."""
    if _has_tests(module):
        yield "", _module_marks(module)
    for node in ast.walk(module):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (is_function and _is_test(node)) or (
            isinstance(node, ast.ClassDef) and _has_tests(node)
        ):
            yield node.name, [decorator for decorator in node.decorator_list if _is_mark(decorator)]


def _module_marks(module: ast.Module) -> list[ast.Call]:
    values = [
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    parts = [
        part
        for value in values
        for part in (value.elts if isinstance(value, ast.List) else [value])
    ]
    return [part for part in parts if _is_mark(part)]


def _has_tests(node: ast.Module | ast.ClassDef) -> bool:
    return any(_is_test(inner) or _is_class_of_tests(inner) for inner in ast.walk(node))


def _is_class_of_tests(node: ast.AST) -> bool:
    """Return whether pytest collects it by name, whatever it inherits: a class, or a name assigned to one."""
    names = [node.name] if isinstance(node, ast.ClassDef) else []
    if isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
    return any(name.startswith("Test") for name in names)


def _is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
        "test_"
    )


def _is_mark(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
