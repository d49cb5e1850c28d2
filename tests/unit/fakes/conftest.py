"""What tests of the fakes share: platforms that wait as long as a busy machine needs."""

from __future__ import annotations

import pytest

from tests.fakes import unhurried


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The platforms wait for long; a test that is about that moves their clocks."""
    unhurried.slack(monkeypatch)
    unhurried.discord(monkeypatch)
