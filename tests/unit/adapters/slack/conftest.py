"""Fixtures shared by the Slack tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback_chat.delays import Delays
from tests.fakes import long_timeouts
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.slack import rules
from tests.unit.adapters.slack.rig import Rig, rig


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the fake Slack wait as long as a busy machine needs."""
    long_timeouts.slack(monkeypatch)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the fake Slack give up soon on payloads that will not be acknowledged."""
    monkeypatch.setattr(rules, "ACK_SECONDS", 1.0)


@pytest.fixture
def delays() -> Delays:
    """Those of the surface in a test, which may have others."""
    return PATIENT


@pytest.fixture
async def up(tmp_path: Path, delays: Delays) -> AsyncIterator[Rig]:
    """Everything, in Socket Mode. The contract of surfaces shows that people's actions count in either mode."""
    async with rig(tmp_path, delays=delays) as made:
        yield made
