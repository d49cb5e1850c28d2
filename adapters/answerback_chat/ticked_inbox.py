"""An inbox whose permissions are ticked by buttons, and decided together: for chats without boxes to tick.

What is ticked is stored with the message, because clicks may come faster than the message changes: only what the person
saw as ticked is decided.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.ports.claims import Fence
from answerback.ports.surface import Asks, Batch
from answerback_chat.control_codec import BATCH_VERBS, Control, Verb
from answerback_chat.interactions import MessageInteraction


class ShownPage(NamedTuple):
    """The page that an inbox's message shows, and what is ticked on it."""

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
        control, key = click.control, f"{self.surface}.inbox:{click.message}"
        async with self._locks.setdefault(click.message, asyncio.Lock()):
            match control.verb:
                case Verb.INBOX:
                    shown = ShownPage(control.argument or None)
                    await self.asks.save_draft(key, _draft(shown))
                    return shown, ""
                case Verb.TICK:
                    return await self._change(key, partial(_toggled, control)), ""
                case verb:
                    return await self._decide(click, key, allow=BATCH_VERBS[verb])

    async def _decide(
        self, click: MessageInteraction, key: str, *, allow: bool
    ) -> tuple[ShownPage, str]:
        labels, shown = self.labels, _shown(await self.asks.draft(key))
        if click.control.argument != ticked_digest(shown.ticked):
            label = labels.allow_once if allow else labels.deny
            return shown, labels.selection_changed.format(submit=label)
        batch = Batch(shown.ticked, allow, click.delivery, self.shows_whole)
        left = await self.asks.decide_batch(batch, click.actor, fence=self.fence())
        note = labels.batch_left.format(count=left) if left else ""
        return await self._change(key, partial(_without, shown.ticked)), note

    async def _change(
        self, key: str, change: Callable[[tuple[str, ...]], tuple[str, ...]]
    ) -> ShownPage:
        """Change what is ticked, however many clicks arrive at the same time, here and at other processes."""

        def changed(draft: JsonValue) -> JsonValue:
            shown = _shown(draft)
            return _draft(shown._replace(ticked=change(shown.ticked)))

        return _shown(await self.asks.change_draft(key, changed))


def _toggled(row: Control, ticked: tuple[str, ...]) -> tuple[str, ...]:
    tick = f"{row.ask_id}:{row.revision}"
    return _without([tick], ticked) if tick in ticked else (*ticked, tick)


def _without(decided: Sequence[str], ticked: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(each for each in ticked if each not in decided)


def _shown(draft: JsonValue) -> ShownPage:
    match draft:
        case [None | str() as after, *ticked]:
            return ShownPage(after, tuple(map(str, ticked)))
        case _:
            return FIRST_PAGE


def _draft(shown: ShownPage) -> JsonValue:
    return [shown.after, *shown.ticked]


def ticked_digest(ticked: Sequence[str]) -> str:
    """Return a digest of what is ticked, by which a button says what the person saw as ticked."""
    return hashlib.sha256(" ".join(ticked).encode()).hexdigest()[:8]
