"""Drafts of multi-select answers that are not submitted yet: stored next to the ask, changed by one click at a time."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from weakref import WeakValueDictionary

from answerback.core.ask import Ask
from answerback.core.clarification import walk_revision
from answerback.ports.surface import Asks


class SelectionDrafts:
    """The selection at each ask's open question. Asking back and the agent's explanation leave it as it was."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, ask_id: str) -> AbstractAsyncContextManager[None]:
        """Return the lock on an ask's selection; clicks acquire it in the order in which they came."""
        return self._locks.setdefault(ask_id, asyncio.Lock())

    async def load(self, ask: Ask) -> tuple[int, ...] | None:
        """Return the selected indexes, or None if nobody has changed the prefill's selection."""
        draft = await self._asks.draft(_key(ask))
        chosen = draft.get("chosen") if isinstance(draft, dict) else None
        return tuple(i for i in chosen if isinstance(i, int)) if isinstance(chosen, list) else None

    async def save(self, ask: Ask, chosen: tuple[int, ...]) -> None:
        """Store the current selection."""
        await self._asks.save_draft(_key(ask), {"chosen": [*chosen]})


def _key(ask: Ask) -> str:
    return f"{ask.id}:{walk_revision(ask)}:ticks"
