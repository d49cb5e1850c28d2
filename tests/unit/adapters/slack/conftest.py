"""What Slack's tests share."""

from __future__ import annotations

import pytest

from tests.fakes.slack import rules


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack gives up soon on what is not going to be acknowledged."""
    monkeypatch.setattr(rules, "ACK_SECONDS", 1.0)
