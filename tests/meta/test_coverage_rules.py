"""Every coverage exclusion has a written reason and excludes something that exists."""

from __future__ import annotations

import re
import tomllib
from functools import cache

import pytest

from tests.meta.project import ROOT, SOURCE_FOLDERS, sources

_PRAGMA = re.compile(r"#.*\bpragma\b.*")
_REASON = re.compile(r"# pragma: no branch - \w+( \S+){3,}$")
"""A reason has a few words, and ends the line."""


def _report() -> tuple[dict[str, list[str]], str]:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    table = tomllib.loads(text)["tool"]["coverage"]["report"]
    return table, text.partition("[tool.coverage.report]")[2].partition("\n[")[0]


RULES = [rule for name in ("exclude_lines", "partial_branches") for rule in _report()[0][name]]


@cache
def _lines() -> list[tuple[str, str]]:
    """Return every line of the packages, with its location."""
    return [
        (f"{path.relative_to(ROOT)}:{number}", line)
        for path in sources(*SOURCE_FOLDERS)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
    ]


def test_every_rule_is_in_one_of_the_two_lists_and_has_a_reason() -> None:
    table, text = _report()
    assert not {"exclude_also", "partial_also", "omit", "ignore_errors"} & table.keys()
    lines = text.splitlines()
    for rule in RULES:
        (at,) = [n for n, line in enumerate(lines) if _as_written(rule) in line]
        assert "# " in lines[at].partition('",')[2] or lines[at - 1].lstrip().startswith("# "), rule


def _as_written(rule: str) -> str:
    """Return a rule as it is written in the file."""
    return '"' + rule.replace("\\", "\\\\") + '",'


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_excludes_something(rule: str) -> None:
    assert any(re.search(rule, line) for _, line in _lines())


def test_every_pragma_has_a_reason() -> None:
    without_reason = [
        f"{place}: {found[0]}"
        for place, line in _lines()
        if (found := _PRAGMA.search(line)) and not _REASON.search(line)
    ]
    assert without_reason == []
