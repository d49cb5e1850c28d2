"""Bolt as the dispatcher of Slack's payloads. What it dispatches is tested by the surface's contract."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from answerback_slack.bolt_app import BoltDispatcher
from answerback_slack.interactions import Ack
from answerback_slack.parse import BotIdentity


async def test_bolt_leaves_the_level_of_our_loggers_to_the_configuration() -> None:
    events = []

    async def on_click(_: Mapping[str, Any]) -> Ack:
        return Ack()

    async def on_event(event: Mapping[str, Any]) -> None:
        events.append(event)

    dispatcher = BoltDispatcher("xoxb-1", BotIdentity(), on_click, on_event)
    logger = logging.getLogger("answerback")
    level = logger.level
    logger.setLevel(logging.NOTSET)
    try:
        await dispatcher.dispatch({"type": "event_callback", "event": {"type": "message"}})
        assert logger.level == logging.NOTSET
    finally:
        logger.setLevel(level)
    assert events == [{"type": "message"}]


async def test_a_click_passes_bolt_by() -> None:
    clicks = []

    async def on_click(payload: Mapping[str, Any]) -> Ack:
        clicks.append(payload)
        return Ack()

    async def on_event(_: Mapping[str, Any]) -> None:
        raise AssertionError("a click is not an event")

    dispatcher = BoltDispatcher("xoxb-1", BotIdentity(), on_click, on_event)
    click = {"type": "block_actions"}  # without what Bolt routes by
    assert await dispatcher.dispatch(click) == Ack()
    assert clicks == [click]
