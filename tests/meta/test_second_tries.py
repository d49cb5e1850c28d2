"""Two tests of a run may fail once in CI, and are named; a third, or one that fails again, fails the run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.project import PYTHONPATH

_FLAKY = """
tried = []

def test_{name}():
    tried.append(1)
    assert len(tried) == 2
"""


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", folder, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PYTHONPATH, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        check=False,
        text=True,
    )


@pytest.mark.long
@pytest.mark.parametrize("workers", [[], ["--numprocesses=2"]], ids=["alone", "with xdist"])
@pytest.mark.parametrize(("count", "code"), [(2, 0), (3, 1)])
def test_two_tests_may_fail_once_and_are_named(
    tmp_path: Path, workers: list[str], count: int, code: int
) -> None:
    for number in range(count):
        (tmp_path / f"test_{number}.py").write_text(_FLAKY.format(name=number), "utf-8")
    ran = _run(tmp_path, "-p", "tests.second_tries", *workers)
    assert ran.returncode == code, ran.stdout
    named = ran.stdout.partition("Flaky tests")[2]
    assert all(f"  test_{number}.py::test_{number}\n" in named for number in range(count))


@pytest.mark.long
def test_a_test_that_fails_again_fails_the_run_and_is_not_called_flaky(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("def test_broken():\n    assert False\n", "utf-8")
    ran = _run(tmp_path, "-p", "tests.second_tries")
    assert (ran.returncode, "Flaky tests" in ran.stdout) == (1, False)


@pytest.mark.long
def test_without_the_plugin_a_test_fails_at_once(tmp_path: Path) -> None:
    (tmp_path / "test_flaky.py").write_text(_FLAKY.format(name="flaky"), "utf-8")
    assert _run(tmp_path).returncode == 1
