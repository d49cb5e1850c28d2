"""Decides about the permissions that a person has ticked in a list, each on its own."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from answerback.core.errors import LeaseLostError, StoreError
from answerback.core.intents import LISTED, Decide, Intent
from answerback.ports.claims import Fence
from answerback.ports.surface import Acted, Actor, Asks, Batch

logger = logging.getLogger(__name__)

MAX_BATCH: Final = 100
"""The most asks that are decided at once: what one person can look through."""


async def decide_batch(asks: Asks, batch: Batch, actor: Actor, fence: Fence | None) -> int:
    ticked = dict.fromkeys(batch.ticked)
    if len(ticked) > MAX_BATCH:
        return len(ticked)
    decided = [_decide_one(asks, batch, each, actor, fence) for each in ticked]
    return (await asyncio.gather(*decided)).count(False)


async def _decide_one(
    asks: Asks, batch: Batch, tick: str, actor: Actor, fence: Fence | None
) -> bool:
    ask_id, _, revision = tick.partition(":")
    if not (revision.isascii() and revision.isdecimal() and len(revision) < 10):
        return False
    # A double click sends the same decision twice: it counts once, and succeeds both times.
    wanted, delivery = Decide(allow=batch.allow), f"{batch.delivery}:{ask_id}"
    intent = Intent(ask_id, wanted, int(revision), delivery, place=LISTED)
    try:
        if batch.allow:
            ask = await asks.get(ask_id)
            # The person has read all of it. If it has ended, acting on it says so.
            if ask is None or (ask.open and not batch.is_shown_whole(ask)):
                return False
        return isinstance(await asks.apply(intent, actor, fence=fence), Acted)
    except (StoreError, LeaseLostError):
        logger.exception("A decision failed", extra={"action": "batch", "ask_id": ask_id})
        return False
