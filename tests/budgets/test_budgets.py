"""The costs of a click, a submission, an answer, a waiter and a start that do not depend on the machine."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from typing import Any

import pytest

from tests.budgets import measure, table
from tests.meta.project import ROOT
from tests.postgres import STORES, Server

MOST_FILES = 60
"""Files that a click in Slack passes until it is noted that the message shows it."""
MOST_CALLS = 600
"""Calls of the project's own functions on that way."""
FILES_UNTIL_COMMIT = {"back in Slack": 12, "back in Discord": 12, "submission": 25}
"""Files that the plainest click, and a submission, pass until they are committed."""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


@pytest.fixture(scope="module", autouse=True)
def as_the_table_was_measured() -> None:
    """Other Pythons and libraries make other calls."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("the budgets are those of Python 3.11")
    pinned = _PIN.findall((ROOT / "manifests" / "constraints.txt").read_text())
    versions = {
        each.metadata["Name"].lower(): each.version for each in importlib.metadata.distributions()
    }
    other = {name for name, version in pinned if versions.get(name.lower(), version) != version}
    if other:
        pytest.skip(f"the budgets are those of the pinned libraries, unlike {', '.join(other)}")


class Store:
    """Measures on a new database each time."""

    def __init__(self, name: str, server: Server | None) -> None:
        self.name = name
        self._server = server

    def measure(self, part: str) -> dict[str, Any]:
        """Return the numbers of one of `measure.PARTS`."""
        if self._server is None:
            return measure.measured(part, None)
        with self._server.borrow_database() as database:
            return measure.measured(part, self._server.url(database))

    def check(self, part: str) -> None:
        """Fail with everything that is over its budget, each time of two: other load may once have added to it."""
        budgets = table.load()[self.name][part]
        lines = table.exceeded(self.measure(part), budgets)
        if lines:
            found = table.exceeded(self.measure(part), budgets)
            names = {line.partition(":")[0] for line in lines}
            lines = [line for line in found if line.partition(":")[0] in names]
        assert not lines, "\n".join([f"Over budget on {self.name}:", *lines, table.HOW_TO_RAISE])


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Store:
    """Each store."""
    sqlite = request.param == "sqlite"
    return Store(request.param, None if sqlite else request.getfixturevalue("postgres_server"))


def test_each_journey_stays_within_its_budget(store: Store) -> None:
    store.check("journeys")


def test_a_click_passes_few_files_and_functions_until_it_is_shown() -> None:
    """One person can follow it: these bounds are not raised by `make budgets`."""
    way = measure.measured("way", None)
    assert way["files"] <= MOST_FILES, f"{way}: a part that a message does not have needs no file"
    assert way["calls"] <= MOST_CALLS, f"{way}: see `python -m tests.budgets calls`"


def test_a_click_and_a_submission_pass_few_files_until_they_are_committed() -> None:
    """These bounds are not raised by `make budgets` either."""
    journeys = table.load()["sqlite"]["journeys"]
    found = {name: journeys[name]["commit"]["files"] for name in FILES_UNTIL_COMMIT}
    assert {name: files for name, files in found.items() if files > FILES_UNTIL_COMMIT[name]} == {}


def test_a_start_loads_no_more_modules_than_its_budget(store: Store) -> None:
    store.check("modules")


@pytest.mark.long
def test_an_open_ask_and_a_waiter_stay_within_their_memory(store: Store) -> None:
    store.check("memory")


def test_a_number_that_grows_by_more_than_a_fiftieth_is_over_its_budget() -> None:
    budgets = {"submission": {"calls": 100, "commits": 1}}
    assert table.exceeded({"submission": {"calls": 102, "commits": 1}}, budgets) == []
    assert table.exceeded({"submission": {"calls": 103, "commits": 2}}, budgets) == [
        "submission / calls: 103, budget 100",
        "submission / commits: 2, budget 1",
    ]


def test_a_number_without_a_budget_and_a_budget_without_a_number_are_reported() -> None:
    assert table.exceeded({"a": {"calls": 1}}, {"b": {"calls": 1}}) == [
        "b / calls: measured no more",
        "a / calls: 1, without a budget",
    ]
