"""An inbox whose permissions are ticked by buttons, and decided together: for chats without boxes to tick.

What is ticked is stored with the message, because clicks may come faster than the message changes: only what the person
saw as ticked is decided.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.ports.claims import Fence
from answerback.ports.surface import Asks, Batch
from answerback_chat.control_codec import BATCH_VERBS, Verb
from answerback_chat.interactions import MessageInteraction


class ShownPage(NamedTuple):
    """What an inbox's message shows: the page, and what is ticked on it."""

    after: str | None = None
    ticked: tuple[str, ...] = ()


FIRST_PAGE: Final = ShownPage()


@dataclass(frozen=True, eq=False)
class TickedInbox:
    """Ticks rows, and decides about what is ticked.

    Args:
        surface: the surface's name.
        shows_whole: whether an ask's row shows its whole context.
        fence: returns the lease under which this process receives clicks, if any.
    """

    surface: str
    asks: Asks
    labels: Labels
    shows_whole: Callable[[Ask], bool]
    fence: Callable[[], Fence | None]
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def use(self, click: MessageInteraction) -> tuple[ShownPage, str]:
        """Tick a row, decide about what is ticked, or turn the page.

        Returns what the message shows then, and what to tell the person.
        """
        key = f"{self.surface}.inbox:{click.message}"
        async with self._locks.setdefault(click.message, asyncio.Lock()):
            shown, note = await self._apply(click, key)
            await self.asks.save_draft(key, [shown.after, *shown.ticked])
        return shown, note

    async def _apply(self, click: MessageInteraction, key: str) -> tuple[ShownPage, str]:
        control, labels = click.control, self.labels
        if control.verb is Verb.INBOX:
            return ShownPage(control.argument or None), ""
        match await self.asks.draft(key):
            case [None | str() as after, *ticks]:
                shown = ShownPage(after, tuple(map(str, ticks)))
            case _:
                shown = FIRST_PAGE
        if control.verb is Verb.TICK:
            tick = f"{control.ask_id}:{control.revision}"
            others = tuple(each for each in shown.ticked if each != tick)
            ticked = others if tick in shown.ticked else (*shown.ticked, tick)
            return shown._replace(ticked=ticked), ""
        allow = BATCH_VERBS[control.verb]
        if control.argument != ticked_digest(shown.ticked):
            label = labels.allow_once if allow else labels.deny
            return shown, labels.selection_changed.format(submit=label)
        batch = Batch(shown.ticked, allow, click.delivery, self.shows_whole)
        left = await self.asks.decide_batch(batch, click.actor, fence=self.fence())
        note = labels.batch_left.format(count=left) if left else ""
        return shown._replace(ticked=()), note


def ticked_digest(ticked: Sequence[str]) -> str:
    """Return a digest of what is ticked, by which a button says what the person saw as ticked."""
    return hashlib.sha256(" ".join(ticked).encode()).hexdigest()[:8]
