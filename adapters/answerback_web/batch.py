"""Decides about the permissions that a person has ticked in the inbox."""

from __future__ import annotations

from typing import Final

from answerback.core.walker import Person
from answerback.ports.surface import Actor, Asks, Batch
from answerback.presentation.batch_rows import whole_prompt
from answerback_web.parse import Post
from answerback_web.site import NAME

_DECISIONS: Final = {"allow_once": True, "deny": False}


async def decide(service: Asks, person: Person, post: Post) -> int:
    """Decide about what is ticked; returns how many of those asks are left undecided."""
    allow, ticked = _DECISIONS.get(post.first("do")), post.all_values("ask")
    if allow is None:
        return max(len(ticked), 1)
    delivery = f"{NAME}:{person.user_id}:{post.digest}"
    batch = Batch(ticked, allow, delivery, lambda ask: whole_prompt(ask) is not None)
    return await service.decide_batch(batch, Actor(person))
