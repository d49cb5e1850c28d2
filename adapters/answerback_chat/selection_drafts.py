"""What is selected in a multi-select before it is handed in: kept beside the ask, changed by one click at a time."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from weakref import WeakValueDictionary

from answerback.core.ask import Ask
from answerback.core.clarification import walk_revision
from answerback.ports.surface import Asks


class SelectionDrafts:
    """The selection of every ask at its open question. It outlives what is asked back there, and explained."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, ask_id: str) -> AbstractAsyncContextManager[None]:
        """A click's turn at the selection of an ask: clicks have theirs in the order in which they came."""
        return self._turns.setdefault(ask_id, asyncio.Lock())

    async def load(self, ask: Ask) -> tuple[int, ...] | None:
        """What is selected, where anybody has changed it; None: what the prefill has selected."""
        kept = await self._asks.draft(_key(ask))
        chosen = kept.get("chosen") if isinstance(kept, dict) else None
        return tuple(i for i in chosen if isinstance(i, int)) if isinstance(chosen, list) else None

    async def save(self, ask: Ask, chosen: tuple[int, ...]) -> None:
        """Keeps what is selected now."""
        await self._asks.save_draft(_key(ask), {"chosen": [*chosen]})


def _key(ask: Ask) -> str:
    return f"{ask.id}:{walk_revision(ask)}:ticks"
