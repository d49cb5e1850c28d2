"""A pytest plugin that lets two tests of a run fail once: ``pytest -p tests.second_tries``, as `.ci/run` does.

A race that shows once in some ten thousand tests would else refuse a change that did not bring it. Each such test is
named at the end; its race is a defect, to fix next or to enter in `.ci/quarantine.txt`. More than two fail the run.
"""

from __future__ import annotations

from typing import Final

import pytest

MAX_FLAKY: Final = 2
_FLAKY: Final = pytest.StashKey[list[str]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a worker of xdist
        return
    tried_again = {report.nodeid for report in reporter.stats.get("rerun", ())}
    failed = {report.nodeid for report in reporter.stats.get("failed", ())}
    flaky = session.config.stash[_FLAKY] = sorted(tried_again - failed)
    if len(flaky) > MAX_FLAKY:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if flaky := config.stash.get(_FLAKY, []):
        terminalreporter.section("Flaky tests")
        terminalreporter.write_line(
            f"These failed once, and passed when they ran again; a run may have {MAX_FLAKY}. Fix the race of each, or"
            " enter it in .ci/quarantine.txt:"
        )
        for test in flaky:
            terminalreporter.write_line(f"  {test}")
