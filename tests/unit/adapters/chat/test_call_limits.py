"""Limits on the number of calls that a platform takes, remembered for a bounded number of chats."""

from __future__ import annotations

import pytest

from answerback_chat import call_limits
from answerback_chat.call_limits import CallLimits, Window


async def test_what_still_counts_is_not_forgotten_however_many_chats_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(call_limits, "MAX_KEYS", 2)
    limits = CallLimits()
    group: Window = ("group", 1, 60.0)
    limits.count((group,))
    for number in range(3):
        limits.count(((f"person {number}", 1, 0.0),))
    assert limits.wait_for("", (group,)) > 50
    assert limits.wait_for("", (("person 2", 1, 0.0),)) == 0


async def test_a_pause_is_not_forgotten_before_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_limits, "MAX_KEYS", 2)
    limits = CallLimits()
    for chat, seconds in (("over", 0.0), ("group", 60.0), ("person", 60.0)):
        limits.close(chat, seconds)
    assert [limits.wait_for(chat, ()) > 50 for chat in ("over", "group", "person")] == [
        False,
        True,
        True,
    ]
