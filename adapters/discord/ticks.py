"""What is ticked in a multi-select before it is handed in: kept beside the ask, changed by one click at a time."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from weakref import WeakValueDictionary

from bot.ask import Ask
from bot.ports import Asks


class Ticks:
    """The ticks of every ask, at the revision that it stands at."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def turn(self, ask_id: str) -> AbstractAsyncContextManager[None]:
        """A click's turn at the ticks of an ask: clicks have theirs in the order in which they came.

        Who submits right after ticking would otherwise hand in what was ticked before.
        """
        return self._turns.setdefault(ask_id, asyncio.Lock())

    async def of(self, ask: Ask) -> tuple[tuple[int, ...] | None, str]:
        """What is ticked and by whom, as far as anybody has changed it; None: what the prefill has ticked."""
        kept = await self._asks.draft(_key(ask))
        chosen = kept.get("chosen") if isinstance(kept, dict) else None
        if not isinstance(kept, dict) or not isinstance(chosen, list):
            return None, ""
        return tuple(i for i in chosen if isinstance(i, int)), str(kept.get("by"))

    async def keep(self, ask: Ask, chosen: tuple[int, ...], by: str) -> None:
        """Keeps what is ticked now, and who ticked last."""
        await self._asks.save_draft(_key(ask), {"chosen": [*chosen], "by": by})


def _key(ask: Ask) -> str:
    return f"{ask.id}:{ask.revision}:ticks"
