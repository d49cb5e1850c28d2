"""`make mutants`: change one line of the product at a time, and see the named tests fail.

`python -m tests.mutants [--quick] [WORD …]` runs every mutant of the table, and then changes every decision of the
modules in `guards`; `--quick` leaves out those whose tests need minutes and two thirds of the decisions, and words
select those whose file or line has one of them. The tests first have to pass without a mutant, save with `--quick`:
`make check` has run them all by then. Exit status 1: a mutant survived, or one of the tables is wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple, TypeVar

from tests.meta.project import ROOT, files
from tests.mutants.collected import Outcome, Task
from tests.mutants.guards import GUARDS, Guards
from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

T = TypeVar("T")

_TIMEOUT: Final = 600
"""Seconds for the tests of a slow mutant, or of a decision."""
_QUICK_TIMEOUT: Final = 120
"""Seconds for the tests of any other mutant."""
_TEST_TIMEOUT: Final = 10
"""Seconds for one test, unless the mutant is slow: with a mutant, tests often wait for what never happens."""
_QUICK_SHARE: Final = 3
"""With ``--quick``, of so many decisions of a module one is changed."""
_RESULTS: Final = {0: "SURVIVED", 1: "noticed", 5: "SURVIVED"}
"""The meaning of pytest's exit status for a mutant: no test failed, some did, none ran. Others say nothing about it."""
_NOTHING: Final = "NO RESULT"
_OUTCOMES: Final = {Outcome.FAILED: "noticed", Outcome.PASSED: "SURVIVED", Outcome.NONE: _NOTHING}
"""The same for a task."""
_LIBRARIES: Final = (
    "aiohttp.web",
    "blockbuster",
    "hypothesis.strategies",
    "inline_snapshot",
    "jsonschema_rs",
    "psycopg",
    "pydantic_settings",
    "pytest_asyncio",
    "rich",
    "sqlite_utils",
    "syrupy",
)
"""The libraries that nearly all tests import, and no mutant changes."""


class Result(NamedTuple):
    """The result of the tests of a mutant, as a line to print."""

    line: str
    noticed: bool


class Checkout(NamedTuple):
    """A copy of the project, and the process that runs pytest in it."""

    path: Path
    pytest: subprocess.Popen[str]

    def run(self, tests: Sequence[str], timeout: float) -> tuple[int | None, str]:
        """Return pytest's exit status, None if it took too long, and the first line that says what failed."""
        to, answers = self.pytest.stdin, self.pytest.stdout
        if to is None or answers is None:
            raise AssertionError("both are pipes")
        # Plain, because pytest rewrites no assertions of libraries that are imported already.
        arguments = ("-q", "-x", "-p", "no:cacheprovider", "--assert=plain", *tests)
        to.write(json.dumps([timeout, *arguments]) + "\n")
        to.flush()
        status, output = json.loads(answers.readline())
        # Captured logs have lines that begin with ERROR, too.
        beginnings = ("FAILED ", "ERROR tests", "ERROR: ")
        lines = output.splitlines()
        return status, next((line for line in lines if line.startswith(beginnings)), "")


class DecisionChange(NamedTuple):
    """A decision of a guard that is changed."""

    guards: Guards
    number: int


@contextmanager
def checkout_in(path: Path, libraries: Sequence[str] = ()) -> Iterator[Checkout]:
    """Start the process that runs pytest in a checkout, with libraries that it imports before all tests."""
    command = ("-P", str(ROOT / "tests/mutants/forks.py"), *libraries)
    with _python(path, command) as process:
        yield Checkout(path, process)


@contextmanager
def _python(path: Path, arguments: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    # The processes that tests start must import the changed copy, not what is installed.
    paths = os.pathsep.join(str(path / each) for each in (".", "bot", "adapters", "storage"))
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=path,
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


def main(arguments: Sequence[str]) -> int:
    """Run the chosen mutants, one more at a time than there are processors."""
    if unknown := {each for each in arguments if each.startswith("-")} - {"--quick"}:
        is_asked = unknown <= {"-h", "--help"}
        sys.exit(__doc__ if is_asked else f"There is no option {', '.join(sorted(unknown))}.")
    options = [argument for argument in arguments if not argument.startswith("--")]

    def is_chosen(text: str) -> bool:
        return not options or any(word in text for word in options)

    chosen = [
        mutant
        for mutant in MUTANTS
        if is_chosen(f"{mutant.file} {mutant.line}")
        if not ("--quick" in arguments and mutant.slow)
    ]
    decisions = [
        DecisionChange(guards, number)
        for guards in GUARDS
        for number, decision in enumerate(guards.decisions())
        if is_chosen(f"{guards.file} {decision}")
        if number % _QUICK_SHARE == 0 or "--quick" not in arguments
    ]
    if not chosen and not decisions:
        sys.exit("No mutant has one of these words in its file or line.")
    at_a_time = len(os.sched_getaffinity(0)) + 2  # some tests wait for what never happens
    verify = "--quick" not in arguments
    left = [mutant for mutant in chosen if mutant.slow]
    results: list[Result] = []
    changes: list[Mutant | DecisionChange] = [each for each in chosen if not each.slow]
    changes += decisions
    again: list[Mutant | DecisionChange] = []
    for change, outcome, failed in _run_in_forks(changes, at_a_time, verify=verify):
        if outcome == Outcome.FAILED and isinstance(change, Mutant):
            results.append(_report("noticed", change.describe(), failed))
        elif isinstance(change, Mutant):
            left.append(change)
        elif outcome == Outcome.NONE:  # a process that hangs or is killed says nothing
            again.append(change)
        else:
            results.append(_result_of_decision(change, outcome, failed))
    results += [
        _result_of_decision(change, outcome, failed)
        for change, outcome, failed in _run_in_forks(again, at_a_time, verify=False)
        if isinstance(change, DecisionChange)
    ]
    results += _run_in_copies(left, at_a_time, verify=verify)
    wrong = [result.line for result in results if not result.noticed]
    # Once more at the end, because many who read this see only the last lines.
    sys.stdout.writelines(wrong)
    sys.stdout.write(f"{len(results)} mutants, {len(wrong)} survived or without a result\n")
    return int(bool(wrong))


def _run_in_forks(
    changes: Sequence[Mutant | DecisionChange], at_a_time: int, *, verify: bool
) -> Iterator[tuple[Mutant | DecisionChange, Outcome, str]]:
    """Yield what the tests of each change say, and the first that failed, as far as no module is imported anew for it.

    A mutant that they do not notice here has to be run in a copy: it may change what only another process runs.
    """
    if not changes:
        return
    tests = dict.fromkeys(test for change in changes for test in _tests_of(change))
    tasks = [_task(change, number) for number, change in enumerate(changes)]
    as_it_is = [Task(-number, _TIMEOUT, [test]) for number, test in enumerate(tests, 1)]
    for number, outcome, failed in run_tasks([*(as_it_is if verify else ()), *tasks], at_a_time):
        if number >= 0:
            yield changes[number], outcome, failed
        elif outcome != Outcome.PASSED:
            sys.exit(f"Without any mutant: {failed or as_it_is[-number - 1].tests}")


def run_tasks(tasks: Sequence[Task], at_a_time: int) -> Iterator[tuple[int, Outcome, str]]:
    """Yield the number of each task when it has ended, its outcome, and the first test that failed."""
    files = dict.fromkeys(test.partition("::")[0] for task in tasks for test in task.tests)
    # --tb=native: pytest's own tracebacks read the source of every module that is imported.
    options = ["-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=native"]
    options += ["-o", f"timeout={_TEST_TIMEOUT}"]
    left = {task.number for task in tasks}
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.writelines(json.dumps(task._asdict()) + "\n" for task in tasks)
        file.flush()
        command = ["-m", "tests.mutants.collected", file.name, str(at_a_time), *options, *files]
        with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as ran:
            try:
                for line in ran.stdout or ():
                    number, outcome, failed, seconds = json.loads(line)
                    left.remove(number)
                    yield number, Outcome(outcome), f"{seconds:.1f} s: {failed or 'no test failed'}"
            finally:
                ran.kill()
    for number in left:
        yield number, Outcome.NONE, f"collecting the tests ended with {ran.returncode}"


def _tests_of(change: Mutant | DecisionChange) -> Sequence[str]:
    return change.tests if isinstance(change, Mutant) else change.guards.tests


def _task(change: Mutant | DecisionChange, number: int) -> Task:
    if isinstance(change, DecisionChange):
        decision = (change.guards.module, change.number)
        return Task(number, _TIMEOUT, change.guards.tests, decision=decision)
    file = ROOT / change.file
    text = file.read_text("utf-8")
    changed = text.replace(change.line, change.mutant)
    return Task(number, _QUICK_TIMEOUT, change.tests, source=(str(file), text, changed))


def _run_in_copies(mutants: Sequence[Mutant], at_a_time: int, *, verify: bool) -> list[Result]:
    """Return what the tests of mutants say in copies of the project, where all of it is imported anew for each."""
    if not mutants:
        return []
    workers = min(at_a_time, len(mutants))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        checkouts = [
            stack.enter_context(checkout_in(_copy(folder / str(number)), _LIBRARIES))
            for number in range(workers)
        ]
        pool = stack.enter_context(ThreadPoolExecutor(workers))
        if verify:
            verify_passing(mutants, checkouts[0])
        free = _queue(checkouts)
        return [*pool.map(lambda mutant: _in_a_copy(mutant, free), mutants)]


def _queue(items: Iterable[T]) -> SimpleQueue[T]:
    queue: SimpleQueue[T] = SimpleQueue()
    for each in items:
        queue.put(each)
    return queue


def _copy(target: Path) -> Path:
    """Copy the checkout, so that its own files never change."""
    for path in files():
        copied = target / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copied)
    (target / ".venv").symlink_to(ROOT / ".venv")
    subprocess.run(["git", "init", "--quiet", target], check=True)
    return target


def _in_a_copy(mutant: Mutant, free: SimpleQueue[Checkout]) -> Result:
    checkout = free.get()
    try:
        result, reason = tried(mutant, checkout)
        if result == _NOTHING:  # a process that hangs or is killed says nothing about the mutant
            result, reason = tried(mutant, checkout)
    finally:
        free.put(checkout)
    return _report(result, mutant.describe(), reason)


def _result_of_decision(change: DecisionChange, outcome: Outcome, failed: str) -> Result:
    decision = change.guards.decisions()[change.number]
    what = f"{change.guards.file}, {decision}"
    same = change.guards.equivalent.get((decision.function, decision.change))
    if same is None:
        return _report(_OUTCOMES[outcome], what, failed)
    if outcome == Outcome.PASSED:
        return _report("noticed", what, f"does the same: {same}")
    return _report(_NOTHING, what, f"does not do the same: {failed}")


def _report(result: str, what: str, reason: str) -> Result:
    line = f"{result:9} {what}\n          {reason}\n"
    sys.stdout.write(line)
    sys.stdout.flush()
    return Result(line, noticed=result == "noticed")


def tried(mutant: Mutant, checkout: Checkout) -> tuple[str, str]:
    """Return what the tests of a mutant say about it, and the first line in which they say so."""
    file = checkout.path / mutant.file
    original = file.read_text("utf-8")
    try:
        file.write_text(original.replace(mutant.line, mutant.mutant), "utf-8")
        limit = () if mutant.slow else ("-o", f"timeout={_TEST_TIMEOUT}")
        timeout = _TIMEOUT if mutant.slow else _QUICK_TIMEOUT
        status, reason = checkout.run((*limit, *mutant.tests), timeout)
    finally:
        file.write_text(original, "utf-8")
    if status is None:  # neither noticed nor survived: it has to be run again
        return _NOTHING, f"{timeout} s"
    result = _RESULTS.get(status, _NOTHING)
    return (_NOTHING if result == "noticed" and not reason else result), reason


def verify_passing(mutants: Iterable[Mutant], checkout: Checkout) -> None:
    """Exit if one of their tests fails without a mutant: it would seem to notice them all."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    status, reason = checkout.run(tests, len(tests) * _TIMEOUT)
    if status != 0:
        sys.exit(f"Without any mutant: {reason}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
