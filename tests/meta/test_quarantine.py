"""Tests in quarantine exist, and leave it within two weeks."""

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests import quarantine
from tests.meta.project import PYTHONPATH, ROOT

_TODAY = date(2030, 1, 31)


def test_no_test_is_in_quarantine_for_more_than_two_weeks() -> None:
    found = list(quarantine.entries(quarantine.FILE.read_text("utf-8")))
    assert quarantine.expired(found, datetime.now(UTC).date()) == [], (
        "fix the race that makes the test fail, and remove its line from .ci/quarantine.txt"
    )
    for entry in found:
        file, _, test = entry.node_id.partition("::")
        assert f"def {test.split('::')[-1]}(" in (ROOT / file).read_text("utf-8")


@pytest.mark.parametrize(("age", "is_expired"), [(-1, True), (0, False), (14, False), (15, True)])
def test_an_entry_expires_after_two_weeks(age: int, is_expired: bool) -> None:
    entry = quarantine.Entry(_TODAY - timedelta(days=age), "tests/test_a.py::test_b")
    assert bool(quarantine.expired([entry], _TODAY)) is is_expired


@pytest.mark.parametrize("line", ["tests/test_a.py::test_b", "2030-01-31", "2030-01-31 tests"])
def test_an_entry_has_a_date_and_a_test(line: str) -> None:
    with pytest.raises(ValueError, match="not `YYYY"):
        list(quarantine.entries(line))


_TESTS = """
tries = []

def test_listed():
    tries.append("listed")
    assert tries.count("listed") == 2

def test_other():
    tries.append("other")
    assert tries.count("other") == 2
"""
_CONFTEST = """
from pathlib import Path

from tests import quarantine

quarantine.FILE = Path(__file__).with_name("quarantine.txt")

def pytest_collection_modifyitems(items):
    quarantine.allow_second_tries(items)
"""


@pytest.mark.long
def test_only_a_test_in_quarantine_runs_again(tmp_path: Path) -> None:
    (tmp_path / "test_flaky.py").write_text(_TESTS, "utf-8")
    (tmp_path / "conftest.py").write_text(_CONFTEST, "utf-8")
    (tmp_path / "quarantine.txt").write_text("2030-01-31 test_flaky.py::test_listed\n", "utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": PYTHONPATH, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        check=False,
        text=True,
    )
    assert "1 failed, 1 passed, 1 rerun" in ran.stdout
    assert "FAILED test_flaky.py::test_other" in ran.stdout
