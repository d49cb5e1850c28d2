"""Every input in ``tests/data/cases`` has a test that names it, beside its expected outcome."""

from __future__ import annotations

import re

import pytest

from tests.meta.project import ROOT
from tests.unit.cases import CASES

NAMES = sorted(path.stem for path in CASES.glob("*.json"))
TESTS = {
    path: path.read_text()
    for folder in ("unit", "browser", "acceptance", "recipes")
    for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))
}


def test_there_are_cases() -> None:
    assert len(NAMES) >= 36


@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_named_by_a_test(name: str) -> None:
    quoted = re.compile(rf"""["']{re.escape(name)}(\.json)?["']""")
    assert [path.name for path, text in TESTS.items() if quoted.search(text)]
