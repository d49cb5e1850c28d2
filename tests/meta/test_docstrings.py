"""No docstring is a riddle, only refers elsewhere, or repeats what the definition says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.meta.project import ROOT, SOURCE_FOLDERS, sources, tree

_FILLERS = re.compile(
    r"\b(a|all|also|an|and|any|are|as|at|be|been|by|each|every|for|from|given|got|has|have|if|in|into|is"
    r"|it|its|none|not|of|on|one|or|other|return|returns|same|that|the|their|them|there|these|they"
    r"|this|those|to|was|were|what|whether|which|with|yield)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_CODE = re.compile(r"``([^`]+)``")
_RIDDLE = re.compile(r"(How|What|Whether)\b")
"""The beginning of half a sentence, such as "Whether this is so", which a reader has to complete."""
_ENDING = re.compile(r"(ies|ing|ed|es|er|en|e|s|y)$")


@pytest.mark.parametrize("folder", SOURCE_FOLDERS)
def test_every_docstring_says_something(folder: str) -> None:
    empty = [
        f"{path.relative_to(ROOT)}:{number} {text}"
        for path in sources(folder)
        for number, text in empty_docstrings(tree(path), " ".join(path.relative_to(ROOT).parts))
    ]
    assert empty == [], (
        "Delete these, or say what the name and the types do not: units, errors, what None means, a reason."
    )


@pytest.mark.parametrize("folder", [*SOURCE_FOLDERS, "docs", "tests"])
def test_no_docstring_begins_with_half_a_sentence(folder: str) -> None:
    riddles = [
        f"{path.relative_to(ROOT)}:{number} {text.splitlines()[0]}"
        for path in sources(folder)
        for number, text in docstrings(tree(path))
        if _RIDDLE.match(text)
    ]
    assert riddles == [], (
        "Say what a function returns or does (Return …, Return True if …), when a value is true (True if …), "
        "or what a class, a module or a value is for (The …, A …)."
    )


def test_docstrings_of_modules_classes_functions_and_values_are_read() -> None:
    source = (
        '"""What."""\nLIMIT = 1\n"""Whether."""\nclass Row:\n    """A."""\n    at: int\n    """B."""\n'
        '    def get(self):\n        """C."""\n        self.x = 1\n        """D."""\n'
    )
    found = [text for _, text in docstrings(ast.parse(source))]
    assert sorted(found) == ["A.", "B.", "C.", "D.", "What.", "Whether."]
    assert [text for text in found if _RIDDLE.match(text)] == ["What.", "Whether."]


@pytest.mark.parametrize(
    "source",
    [
        'class Button:\n    """A button."""',
        'def read_lines(path: Path) -> list[str]:\n    """Read the lines of a path."""',
        'class Lock:\n    def release(self):\n        """Releases the lock."""',
        'def send(self):\n    """See `Sender.send`."""',
        'def send(self):\n    """See `Sender.send`: a request is repeated."""',
    ],
)
def test_a_docstring_that_says_nothing_is_found(source: str) -> None:
    assert len(list(empty_docstrings(ast.parse(source), "module"))) == 1


@pytest.mark.parametrize(
    "source",
    [
        'def read_lines(path: Path) -> list[str]:\n    """Read the lines, without their ends."""',
        'def docs(request):\n    """``GET /docs``."""',
        'def read_lines(path):\n    """Read lines.\n\n    Args:\n        path: may be missing."""',
        "def undocumented(path): ...",
    ],
)
def test_a_docstring_that_says_something_is_not(source: str) -> None:
    assert list(empty_docstrings(ast.parse(source), "module")) == []


def docstrings(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring, of values too: each string that is a statement."""
    for node in ast.walk(module):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text)), lineno=line):
                yield line, text.strip()
            case _:
                pass


def empty_docstrings(within: ast.Module | ast.ClassDef, context: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each docstring without news; ``context`` names what contains the definitions."""
    for node in within.body:
        match node:
            case ast.ClassDef(name=name, bases=bases):
                signature = " ".join([name, *map(ast.unparse, bases)])
                yield from empty_docstrings(node, f"{context} {name}")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                returns = ast.unparse(node.returns) if node.returns else ""
                signature = f"{name} {ast.unparse(node.args)} {returns}"
            case _:
                continue
        text = ast.get_docstring(node)
        if text and _is_empty(text, f"{context} {signature}"):
            yield node.lineno, text


def _is_empty(text: str, known: str) -> bool:
    if text.startswith("See "):
        return True
    has_example = any(not code.isidentifier() for code in _CODE.findall(text))
    return not has_example and "\n\n" not in text and _stems(text) <= _stems(known)


def _stems(text: str) -> set[str]:
    """Return the words of a text or of names, without fillers and without what declension adds."""
    found = {word.lower() for word in _WORD.findall(_FILLERS.sub("", text.replace("'s", "")))}
    return {_ENDING.sub("", word) if len(word) > 4 else word.rstrip("s") for word in found}
