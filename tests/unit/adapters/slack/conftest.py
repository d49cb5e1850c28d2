"""What Slack's tests share."""

from __future__ import annotations

import pytest

from tests.fakes import unhurried
from tests.fakes.slack import rules


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack waits as long as a busy machine needs."""
    unhurried.slack(monkeypatch)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack gives up soon on what is not going to be acknowledged."""
    monkeypatch.setattr(rules, "ACK_SECONDS", 1.0)
