"""A changed module behaves as if it had been imported with the change, or the change is refused."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.mutants.replaced_code import CannotReplaceError, functions_of, replace_code

_SOURCE = """
from dataclasses import dataclass
from functools import wraps

LIMIT = 1

def wrapped(function):
    @wraps(function)
    def call(*arguments): return function(*arguments) + 0
    return call

def flat(a=1): return a + 10

def two(): return (lambda: 5)() + (lambda: 7)()

PAIR = (lambda: 30, lambda: 40)

@wrapped
def decorated(a): return a + 20

def outer(a):
    b = a
    def inner(): return a
    return inner

@dataclass(frozen=True)
class Part:
    width: int = 3

    @property
    def first(self): return self.width + 50

    @staticmethod
    def many(a): return [each + 60 for each in a]
"""


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "replaced_part.py").write_text(_SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("replaced_part")
    del sys.modules["replaced_part"]


def _replace(part: ModuleType, line: str, instead: str) -> None:
    file = Path(str(part.__file__))
    frozen = gc.get_freeze_count()
    functions = functions_of([file.parent])
    assert gc.get_freeze_count() >= frozen
    replace_code(file, _SOURCE, _SOURCE.replace(line, instead), functions)


@pytest.mark.parametrize(
    ("line", "instead", "call", "before", "after"),
    [
        ("a + 10", "a + 11", lambda part: part.flat(), 11, 12),
        ("function(*arguments) + 0", "-function(0)", lambda part: part.decorated(1), 21, -20),
        ("a + 20", "a + 21", lambda part: part.decorated(1), 21, 22),
        ("(lambda: 5)()", "6", lambda part: part.two(), 12, 13),
        (
            "lambda: 40",
            "lambda: 41",
            lambda part: [each() for each in part.PAIR],
            [30, 40],
            [30, 41],
        ),
        ("def inner(): return a", "def inner(): return -a", lambda part: part.outer(2)(), 2, -2),
        ("self.width + 50", "0", lambda part: part.Part().first, 53, 0),
        ("each + 60", "each", lambda part: part.Part.many([1]), [61], [1]),
        ("[each + 60 for each in a]", "[]", lambda part: part.Part.many([1]), [61], []),
    ],
)
def test_a_function_is_changed_wherever_it_is_used(
    part: ModuleType,
    line: str,
    instead: str,
    call: Callable[[Any], object],
    before: object,
    after: object,
) -> None:
    assert call(part) == before
    _replace(part, line, instead)
    assert call(part) == after


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("LIMIT = 1", "LIMIT = 2"),
        ("width: int = 3", "width: int = 4"),
        ("def flat(a=1)", "def flat(a=2)"),
        ("@wrapped", ""),
        ("(lambda: 30, lambda: 40)", "(lambda: 30,)"),
        ("@property", "@staticmethod"),
        ("function(*arguments) + 0", "arguments"),
    ],
)
def test_what_only_an_import_would_change_is_not_replaced(
    part: ModuleType, line: str, instead: str
) -> None:
    with pytest.raises(CannotReplaceError):
        _replace(part, line, instead)


def test_a_module_that_is_not_imported_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "absent_part.py"
    file.write_text("def it(): return 1\n")
    with pytest.raises(CannotReplaceError):
        replace_code(file, "def it(): return 1\n", "def it(): return 2\n", functions_of([tmp_path]))
