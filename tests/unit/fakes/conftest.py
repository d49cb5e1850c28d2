"""Fixtures for the tests of the fakes: platforms that wait as long as a busy machine needs."""

from __future__ import annotations

import pytest

from tests.fakes import unhurried


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extend the platforms' time limits; a test of a limit advances the platform's clock."""
    unhurried.slack(monkeypatch)
    unhurried.discord(monkeypatch)
