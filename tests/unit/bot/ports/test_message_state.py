"""The stored state of an ask's live message."""

from __future__ import annotations

from dataclasses import replace

from answerback.core.ask import Destination, Thread
from answerback.ports.message_state import replace_channel_id
from answerback_testing.example_asks import new_ask


def test_a_channel_with_a_new_id_takes_only_its_own_asks_along() -> None:
    """An ask may be moved elsewhere while its channel gets a new id."""
    there = Destination(surface="slack", channel="C2")
    ask = new_ask(
        to=there, message={"channel": "C2", "ts": "1"}, thread=Thread(channel="C2", id="1")
    )
    assert replace_channel_id(ask, "C1", "C9") == ask
    moved = replace_channel_id(ask, "C2", "C9")
    assert moved.placement.message == {"channel": "C9", "ts": "1"}
    assert moved.placement.thread == Thread(channel="C9", id="1")
    unseen = replace(
        ask,
        placement=replace(ask.placement, message=None, thread=None),
    )
    assert replace_channel_id(unseen, "C1", "C9") == unseen
    assert replace_channel_id(unseen, "C2", "C9").placement.destination.channel == "C9"
