"""Each mutant changes one line that exists, and names tests that exist; only a test that fails notices it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.project import ROOT
from tests.mutants.__main__ import checkout_in, run_tasks, tried, verify_passing
from tests.mutants.collected import Outcome, Task
from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.file}: {mutant.line}")
def test_a_mutant_changes_one_line(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text("utf-8")
    assert text.count(mutant.line) == 1
    assert mutant.line != mutant.mutant
    assert "\n" not in mutant.line + mutant.mutant


def test_pytest_knows_every_test_that_a_mutant_names(request: pytest.FixtureRequest) -> None:
    named = {test for mutant in MUTANTS for test in mutant.tests}
    assert {test for test in named if not (ROOT / test.partition("::")[0]).exists()} == set()
    collected = {part.nodeid for item in request.session.items for part in item.listchain()}
    collected |= {test.partition("[")[0] for test in collected}
    # All of them are collected when the whole suite runs.
    if parts := sorted(test for test in named - collected if "::" in test):
        options = ["--collect-only", "-q", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, *parts]
        ran = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("mutant", "test", "result"),
    [
        ("return 2", "test_part.py::test_it", "noticed"),
        ("return 1 + 0", "test_part.py::test_it", "SURVIVED"),
        ("return 2", "test_none.py", "SURVIVED"),
        ("return 2", "test_part.py::test_misspelt", "NO RESULT"),
        ("return (", "test_part.py", "NO RESULT"),
        ("return 2", "test_exit.py", "NO RESULT"),
    ],
    ids=["noticed", "survived", "no test", "no such test", "not Python", "no test failed"],
)
def test_only_a_test_that_fails_notices_a_mutant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: str, test: str, result: str
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    part = tmp_path / "part.py"
    part.write_text("def it():\n    return 1\n")
    (tmp_path / "test_none.py").touch()
    (tmp_path / "test_exit.py").write_text(
        "import pytest\n\n\ndef test_it(): pytest.exit('Why?', 1)\n"
    )
    (tmp_path / "test_part.py").write_text(
        "import part\n\n\ndef test_it():\n    assert part.it() == 1\n"
    )
    with checkout_in(tmp_path) as checkout:
        assert tried(Mutant("part.py", "return 1", mutant, (test,)), checkout)[0] == result
    assert "return 1\n" in part.read_text()


def test_a_test_that_fails_without_a_mutant_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "test_part.py").write_text(
        "def test_it(): pass\ndef test_other(): raise ValueError\n"
    )
    with checkout_in(tmp_path) as checkout:
        verify_passing([Mutant("part.py", "", "", ("test_part.py::test_it",))], checkout)
        failing = Mutant("part.py", "", "", ("test_part.py",))
        with pytest.raises(
            SystemExit, match=r"Without any mutant: FAILED test_part\.py::test_other"
        ):
            verify_passing([failing], checkout)


def test_tests_that_take_too_long_say_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "test_part.py").write_text(
        "import threading\n\n\ndef test_it(): threading.Event().wait()\ndef test_other(): pass\n"
    )
    with checkout_in(tmp_path) as checkout:
        assert checkout.run(["test_part.py"], 0.5) == (None, "")
        assert checkout.run(["test_part.py::test_other"], 60.0) == (0, "")


_PAUSES = "tests/unit/bot/base/test_backoff.py"
_BOUNDED = f"{_PAUSES}::test_a_pause_stays_bounded_however_often_it_has_failed"


def test_a_task_runs_only_its_tests_on_what_it_changed_and_leaves_the_others_alone() -> None:
    file = ROOT / "bot/answerback_base/backoff.py"
    text = file.read_text("utf-8")

    def changed(line: str, instead: str) -> tuple[str, str, str]:
        assert text.count(line) == 1
        return str(file), text, text.replace(line, instead)

    never_reset = changed(
        "        self._failures = 0\n\n    def delay", "        pass\n\n    def delay"
    )
    tasks = [
        Task(0, 60.0, [_PAUSES], source=never_reset),
        Task(1, 60.0, [_BOUNDED], source=never_reset),
        Task(2, 60.0, [_PAUSES]),
        Task(3, 60.0, [f"{_PAUSES}::test_a_pause"]),
        Task(4, 0.0, [_PAUSES]),
        Task(
            5,
            60.0,
            [_PAUSES],
            source=changed("_MAX_FAILURES: Final = 64", "_MAX_FAILURES: Final = 2"),
        ),
    ]
    results = {number: (outcome, reason) for number, outcome, reason in run_tasks(tasks, 2)}
    assert {number: outcome for number, (outcome, _) in results.items()} == {
        0: Outcome.FAILED,
        1: Outcome.PASSED,
        2: Outcome.PASSED,
        3: Outcome.NONE,
        4: Outcome.NONE,
        5: Outcome.CANNOT,
    }
    assert "::test_a_pause_grows_up_to_its_bound" in results[0][1]


def test_tasks_whose_tests_cannot_be_collected_have_no_result() -> None:
    [(number, outcome, reason)] = run_tasks([Task(7, 60.0, ["tests/absent/test_part.py"])], 1)
    assert (number, outcome) == (7, Outcome.NONE)
    assert "4" in reason  # a wrong argument
