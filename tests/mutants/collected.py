"""Runs tests that pytest has collected once, in a fork for each decision that is changed.

The command's arguments are those of pytest. A line on the standard input is a JSON array: seconds, the decision as a
module and a number, and the tests to run, by the beginnings of their ids. Its result is one line, too: the id of the
first test that failed, null if none did, or "?" after those seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection

import pytest

from tests.mutants.decisions import change_decision


class RunInForks:
    """Instead of running the tests that it has collected, pytest waits for decisions and runs them in forks."""

    def __init__(self) -> None:
        self.failed: str | None = None
        # While pytest runs, nothing can be read from the standard input, and what is printed is no result.
        self._input, self._output = os.fdopen(os.dup(0)), os.dup(1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for line in self._input:
            seconds, module, number, tests = json.loads(line)
            receiver, sender = get_context("fork").Pipe(duplex=False)
            process = get_context("fork").Process(
                target=self.run, args=(session, module, number, tests, sender)
            )
            process.start()
            sender.close()
            result: str | None = "?"
            try:
                if receiver.poll(seconds):
                    result = receiver.recv()
            except EOFError:
                pass  # it ended without a result
            process.kill()
            process.join()
            os.write(self._output, (json.dumps(result) + "\n").encode())
        return True

    def run(
        self,
        session: pytest.Session,
        module: str,
        number: int | None,
        tests: Sequence[str],
        results: Connection,
    ) -> None:
        """Change the decision, if it is one, and run tests until one fails."""
        if number is not None:
            change_decision(module, number)
        chosen = [item for test in tests for item in session.items if item.nodeid.startswith(test)]
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed is not None:
                break
        results.send(self.failed)
        os._exit(0)


if __name__ == "__main__":
    sys.exit(pytest.main(sys.argv[1:], plugins=[RunInForks()]))
