"""Which combinations `make test` runs: every test, and of those that are alike a fixed share; `MATRIX=whole` runs all.

Each run, on each machine, leaves out the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar
from zlib import crc32

import pytest

T = TypeVar("T")

_WHOLE = os.environ.get("MATRIX") == "whole"


def one_of(choices: Sequence[T], name: str) -> Sequence[T]:
    """Return the one choice with which a test of this name runs."""
    place = crc32(name.encode()) % len(choices)
    return choices if _WHOLE else choices[place : place + 1]


def every(number: int, cases: Sequence[T]) -> Sequence[T]:
    """Return the first of each so many cases."""
    return cases if _WHOLE else cases[::number]


def in_one_of(choices: Sequence[object], fixture: str) -> Callable[[pytest.Metafunc], None]:
    """Return a module's ``pytest_generate_tests``, which gives a fixture one of these choices as its parameter."""

    def parametrize(metafunc: pytest.Metafunc) -> None:
        if fixture in metafunc.fixturenames:
            chosen = one_of(choices, metafunc.function.__name__)
            metafunc.parametrize(fixture, chosen, indirect=True)

    return parametrize
