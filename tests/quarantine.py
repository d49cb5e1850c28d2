"""Flaky tests that may fail once, each until a date.

A test that fails is run again only while its entry in `.ci/quarantine.txt` is younger than two weeks. The race that
made it fail is a defect to fix in that time; afterwards the entry fails the build.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

FILE = Path(__file__).parents[1] / ".ci" / "quarantine.txt"
MAX_AGE = timedelta(days=14)


class Entry(NamedTuple):
    """One test in quarantine."""

    since: date
    node_id: str
    """The test's id, without parameters."""


def entries(text: str) -> Iterator[Entry]:
    """Yield the entries of a quarantine file: a date and a test's id on each line that is not a comment.

    Raises:
        ValueError: a line is neither.
    """
    for line in text.splitlines():
        if line and not line.startswith("#"):
            since, _, node_id = line.partition(" ")
            if "::" not in node_id:
                raise ValueError(f"not `YYYY-MM-DD tests/FILE.py::TEST`: {line!r}")
            yield Entry(date.fromisoformat(since), node_id)


def expired(found: Iterable[Entry], today: date) -> list[str]:
    """Return the tests whose time in quarantine is over, or has not begun."""
    return [entry.node_id for entry in found if not timedelta() <= today - entry.since <= MAX_AGE]


def allow_second_tries(items: Iterable[pytest.Item]) -> None:
    """Let each test in quarantine run once more if it fails."""
    tests = {entry.node_id for entry in entries(FILE.read_text("utf-8"))}
    for item in items:
        if re.sub(r"\[.*", "", item.nodeid) in tests:
            item.add_marker(pytest.mark.flaky(reruns=1))
