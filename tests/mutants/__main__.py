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
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple, TypeVar

from tests.meta.project import ROOT, files
from tests.mutants.guards import GUARDS, Guards
from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

T = TypeVar("T")

_TIMEOUT: Final = 600
"""Seconds for the tests of a slow mutant, or of a decision."""
_QUICK_TIMEOUT: Final = 120
"""Seconds for the tests of any other mutant."""
_TEST_TIMEOUT = 20
"""Seconds for one test, unless the mutant is slow: with a mutant, tests often wait for what never happens."""
_QUICK_SHARE: Final = 3
"""With ``--quick``, of so many decisions of a module one is changed."""
_RESULTS: Final = {0: "SURVIVED", 1: "noticed", 5: "SURVIVED"}
"""The meaning of pytest's exit status for a mutant: no test failed, some did, none ran. Others say nothing about it."""
_NOTHING: Final = "NO RESULT"
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


class Collected(NamedTuple):
    """The process that has collected the tests of guards, and runs them with a decision changed."""

    process: subprocess.Popen[str]

    def first_failure(self, guards: Guards, number: int | None) -> str | None:
        """Return the id of the first test that failed, None if none did, or "?" if they took too long.

        Args:
            number: the decision that is changed; None: none is.
        """
        to, answers = self.process.stdin, self.process.stdout
        if to is None or answers is None:
            raise AssertionError("both are pipes")
        to.write(json.dumps([_TIMEOUT, guards.module, number, guards.tests]) + "\n")
        to.flush()
        failed: str | None = json.loads(answers.readline())
        return failed


@contextmanager
def checkout_in(path: Path, libraries: Sequence[str] = ()) -> Iterator[Checkout]:
    """Start the process that runs pytest in a checkout, with libraries that it imports before all tests."""
    command = ("-P", str(ROOT / "tests/mutants/forks.py"), *libraries)
    with _python(path, command) as process:
        yield Checkout(path, process)


@contextmanager
def _collected_in(path: Path, tests: Sequence[str]) -> Iterator[Collected]:
    """Start the process that collects tests in a checkout."""
    options = ("-q", "-p", "no:cacheprovider", "--assert=plain", "-o", f"timeout={_TEST_TIMEOUT}")
    command = ("-m", "tests.mutants.collected", *options, *tests)
    with _python(path, command) as process:
        yield Collected(process)


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
        (guards, number)
        for guards in GUARDS
        for number, decision in enumerate(guards.decisions())
        if is_chosen(f"{guards.file} {decision}")
        if number % _QUICK_SHARE == 0 or "--quick" not in arguments
    ]
    if not chosen and not decisions:
        sys.exit("No mutant has one of these words in its file or line.")
    workers = len(os.sched_getaffinity(0)) + 1  # some tests wait for what never happens
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        copies = [_copy(folder / str(number)) for number in range(workers)]
        pool = stack.enter_context(ThreadPoolExecutor(workers))
        verify = "--quick" not in arguments
        results = [
            *_run_mutants(chosen, copies, pool, verify=verify),
            *_change_decisions(decisions, copies, pool, verify=verify),
        ]
    wrong = [result.line for result in results if not result.noticed]
    # Once more at the end, because many who read this see only the last lines.
    sys.stdout.writelines(wrong)
    sys.stdout.write(f"{len(results)} mutants, {len(wrong)} survived or without a result\n")
    return int(bool(wrong))


def _run_mutants(
    chosen: Sequence[Mutant], copies: Sequence[Path], pool: Executor, *, verify: bool
) -> list[Result]:
    """Return what the tests say about each mutant of the table."""
    if not chosen:
        return []
    with ExitStack() as stack:
        checkouts = [stack.enter_context(checkout_in(copy, _LIBRARIES)) for copy in copies]
        if verify:
            verify_passing(chosen, checkouts[0])
        free = _queue(checkouts)
        return [*pool.map(lambda mutant: _in_a_copy(mutant, free), chosen)]


def _change_decisions(
    decisions: Sequence[tuple[Guards, int]],
    copies: Sequence[Path],
    pool: Executor,
    *,
    verify: bool,
) -> list[Result]:
    """Return what the tests of guards say about each of their decisions, changed."""
    if not decisions:
        return []
    tests = list(dict.fromkeys(test for guards, _ in decisions for test in guards.tests))
    with ExitStack() as stack:
        processes = [stack.enter_context(_collected_in(copy, tests)) for copy in copies]
        of_all = [guards for guards in GUARDS if any(guards is each for each, _ in decisions)]
        for guards in of_all if verify else ():
            if failed := processes[0].first_failure(guards, None):
                sys.exit(f"Without any mutant: {failed}")
        free = _queue(processes)
        return [*pool.map(lambda each: _with_decision_changed(each[0], each[1], free), decisions)]


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
    return _report(result, f"{mutant.file}: {mutant.line.strip()}", reason)


def _with_decision_changed(guards: Guards, number: int, free: SimpleQueue[Collected]) -> Result:
    collected = free.get()
    try:
        failed = collected.first_failure(guards, number)
    finally:
        free.put(collected)
    decision = guards.decisions()[number]
    same = guards.equivalent.get((decision.function, decision.change))
    result = _NOTHING if failed == "?" else "SURVIVED" if failed is None else "noticed"
    reason = failed or ""
    if same is not None:
        result = "noticed" if failed is None else _NOTHING
        reason = f"does the same: {same}" if failed is None else f"does not do the same: {failed}"
    return _report(result, f"{guards.file}, {decision}", reason)


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
