"""Decides about the permissions that a person has ticked in the inbox, each on its own."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from answerback.core.errors import StoreError
from answerback.core.intents import Decide, Intent
from answerback.core.walker import Person
from answerback.ports.surface import Acted, Actor, Asks
from answerback.presentation import batch_rows
from answerback_web.parse import Post
from answerback_web.site import NAME

logger = logging.getLogger(__name__)

MAX_TICKED: Final = 100
"""The most asks that one post decides about; a page shows fewer."""
_DECISIONS: Final = {"allow_once": True, "deny": False}


async def decide(service: Asks, person: Person, post: Post) -> int:
    """Decide about what is ticked; returns how many of those asks are left undecided."""
    allow = _DECISIONS.get(post.first("do"))
    ticked = dict.fromkeys(post.all_values("ask"))
    if allow is None or len(ticked) > MAX_TICKED:
        return max(len(ticked), 1)
    done = await asyncio.gather(
        *(_decide_one(service, person, each, post.digest, allow=allow) for each in ticked)
    )
    return done.count(False)


async def _decide_one(
    service: Asks, person: Person, ticked: str, digest: str, *, allow: bool
) -> bool:
    ask_id, _, revision = ticked.partition(":")
    if not (revision.isascii() and revision.isdecimal() and len(revision) < 10):
        return False
    # A double click sends the same post twice: it counts once, and succeeds both times.
    delivery = f"{NAME}:{ask_id}:{person.user_id}:{digest}"
    intent = Intent(ask_id, Decide(allow=allow), int(revision), delivery, surface=NAME)
    try:
        if allow and not await _stands_in_its_row(service, ask_id):
            return False
        return isinstance(await service.apply(intent, Actor(person)), Acted)
    except StoreError:
        logger.exception("A decision failed", extra={"action": "page", "ask_id": ask_id})
        return False


async def _stands_in_its_row(service: Asks, ask_id: str) -> bool:
    """Whether the person has read all of it; if it has ended, acting on it says so."""
    ask = await service.get(ask_id)
    return ask is not None and (not ask.open or batch_rows.whole_prompt(ask) is not None)
