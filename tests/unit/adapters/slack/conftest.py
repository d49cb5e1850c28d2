"""Fixtures shared by the Slack tests."""

from __future__ import annotations

import pytest

from tests.fakes import long_timeouts
from tests.fakes.slack import rules


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the fake Slack wait as long as a busy machine needs."""
    long_timeouts.slack(monkeypatch)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the fake Slack give up soon on payloads that will not be acknowledged."""
    monkeypatch.setattr(rules, "ACK_SECONDS", 1.0)
