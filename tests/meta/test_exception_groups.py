"""Exceptions raised inside an `except*` come out in a group: Python 3.11.2 prints a `SystemExit` there as a crash."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.meta.project import ROOT

_FILES = [
    file
    for folder in ("bot", "adapters", "storage")
    for file in (ROOT / folder).rglob("*.py")
    if "except*" in file.read_text("utf-8")
]


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)
def test_an_except_star_only_notes_what_happened(file: Path) -> None:
    groups = [
        each for each in ast.walk(ast.parse(file.read_text())) if isinstance(each, ast.TryStar)
    ]
    body = [line for group in groups for handler in group.handlers for line in handler.body]
    assert body
    assert [line for line in body if not isinstance(line, ast.Assign | ast.Pass)] == []
