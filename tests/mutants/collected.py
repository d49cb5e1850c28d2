"""Runs tests that pytest has collected once, in a fork for each change of the product.

The command's arguments are a file of tasks, how many run at a time, and those of pytest. In the file, each line is a
JSON object, the fields of a `Task`. Each task's result is one line on the standard output, a JSON array: its number, an
`Outcome`, the first test that failed, and the seconds that it took.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.meta.project import ROOT
from tests.mutants.decisions import change_decision
from tests.mutants.replaced_code import CannotReplaceError, Functions, functions_of, replace_code

PRODUCT: Final = ("bot", "adapters", "storage")
"""The folders of what is changed."""

_LONGEST: Final = 100
"""Characters of what a test says when it fails."""


class Task(NamedTuple):
    """Tests to run with the product changed, or as it is."""

    number: int
    seconds: float
    tests: Sequence[str]
    """The files, classes or functions of tests, the ones to run first in front."""
    decision: tuple[str, int] | None = None
    """A module and the number of its decision to change."""
    source: tuple[str, str, str] | None = None
    """A module's file, its text, and the changed text."""


class Outcome(StrEnum):
    FAILED = "failed"
    """A test failed."""
    PASSED = "passed"
    """No test failed."""
    NONE = "none"
    """There are no such tests, they took too long, or their process ended."""
    CANNOT = "cannot"
    """A module would have to be imported anew."""


class _Running(NamedTuple):
    process: ForkProcess
    number: int
    since: float
    seconds: float
    """For how long it may run."""

    @property
    def until(self) -> float:
        return self.since + self.seconds


class RunInForks:
    """Instead of running the tests that it has collected, pytest runs tasks in forks."""

    def __init__(self, tasks: Iterable[Task], at_a_time: int) -> None:
        self._tasks = iter(tasks)
        self._at_a_time = at_a_time
        self._failed: str | None = None
        self._running: dict[Connection, _Running] = {}
        # What is printed is no result.
        self._output = os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._failed is None:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message.partition("\n")[0] if crash else "failed"
            self._failed = f"{report.nodeid} - {message[:_LONGEST]}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions = functions_of([ROOT / folder for folder in PRODUCT])
        for task in self._tasks:
            if len(self._running) == self._at_a_time:
                self._report_ended()
            self._start(session, task, functions)
        while self._running:
            self._report_ended()
        return True

    def _start(self, session: pytest.Session, task: Task, functions: Functions) -> None:
        receiver, sender = get_context("fork").Pipe(duplex=False)
        arguments = (session, task, functions, sender)
        process = get_context("fork").Process(target=self._run, args=arguments)
        process.start()
        sender.close()
        self._running[receiver] = _Running(process, task.number, time.monotonic(), task.seconds)

    def _report_ended(self) -> None:
        """Wait until a task has ended or has to end, and print its result."""
        first = min(each.until for each in self._running.values())
        ended = wait(self._running, max(0.0, first - time.monotonic()))
        for receiver, running in [*self._running.items()]:
            if receiver not in ended and running.until > time.monotonic():
                continue
            del self._running[receiver]
            result: tuple[Outcome, str | None] = (Outcome.NONE, None)
            try:
                if receiver.poll():
                    result = receiver.recv()
            except EOFError:
                pass  # it ended without a result
            receiver.close()
            running.process.kill()
            running.process.join()
            took = time.monotonic() - running.since
            line = json.dumps([running.number, *result, took])
            os.write(self._output, f"{line}\n".encode())

    def _run(
        self, session: pytest.Session, task: Task, functions: Functions, results: Connection
    ) -> None:
        results.send(self._result(session, task, functions))
        os._exit(0)

    def _result(
        self, session: pytest.Session, task: Task, functions: Functions
    ) -> tuple[Outcome, str | None]:
        """Change the product as the task says, and run its tests until one fails."""
        if task.decision is not None:
            change_decision(*task.decision)
        if task.source is not None:
            file, before, after = task.source
            try:
                replace_code(Path(file), before, after, functions)
            except CannotReplaceError:
                return Outcome.CANNOT, None
        chosen = [item for test in task.tests for item in session.items if _is_below(item, test)]
        for item, following in zip(chosen, [*chosen, None][1:], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed is not None:
                return Outcome.FAILED, self._failed
        return (Outcome.PASSED if chosen else Outcome.NONE), None


def _is_below(item: pytest.Item, test: str) -> bool:
    """Return True if a test is what an argument of pytest names, or a part of it."""
    return item.nodeid == test or item.nodeid.startswith((f"{test}::", f"{test}[", f"{test}/"))


def _read(file: str) -> Iterator[Task]:
    for line in Path(file).read_text("utf-8").splitlines():
        yield Task(**json.loads(line))


if __name__ == "__main__":
    tasks, at_a_time, *arguments = sys.argv[1:]
    sys.exit(pytest.main(arguments, plugins=[RunInForks(_read(tasks), int(at_a_time))]))
