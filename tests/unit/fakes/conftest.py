"""Fixtures for the tests of the fakes: platforms that wait as long as a busy machine needs."""

from __future__ import annotations

import pytest

from tests.fakes import long_timeouts


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extend the platforms' time limits; a test of a limit advances the platform's clock."""
    long_timeouts.slack(monkeypatch)
    long_timeouts.discord(monkeypatch)
