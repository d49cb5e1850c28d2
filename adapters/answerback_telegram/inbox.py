"""Show a person the asks that wait for them, from all agents: in the chat between them and the bot.

Permissions are ticked by buttons, and decided together. What is ticked is stored with the message, because clicks may
come faster than the message changes: only what the person saw as ticked is decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.ports.claims import Fence
from answerback.ports.surface import Actor, Asks, Batch
from answerback_chat.control_codec import BATCH_VERBS, Verb
from answerback_chat.inbox_reader import read_inbox
from answerback_telegram import inbox_view
from answerback_telegram.helper_messages import HelperMessages
from answerback_telegram.html_text import escape
from answerback_telegram.keyboards import Json
from answerback_telegram.parse import SURFACE, Click, TypedMessage
from answerback_telegram.render import compose
from answerback_telegram.typed_entries import Effect


class _Page(NamedTuple):
    """What an inbox's message shows: the page, and what is ticked on it."""

    after: str | None = None
    ticked: tuple[str, ...] = ()


_FIRST_PAGE: Final = _Page()


@dataclass(frozen=True, eq=False)
class Inbox:
    """Sends inboxes, ticks rows in them, and decides about what is ticked.

    Args:
        fence: returns the lease under which this process receives clicks, if any.
    """

    asks: Asks
    helpers: HelperMessages
    labels: Labels
    fence: Callable[[], Fence | None]
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def send(self, typed: TypedMessage) -> None:
        """Answer the command, where only this person sees it."""
        message = await self._render(typed.actor, _FIRST_PAGE)
        user = typed.actor.person.user_id
        await self.helpers.send_privately(user, message, typed.place, typed.id)

    async def handle_click(self, click: Click) -> Effect:
        """Tick a row, decide about what is ticked, or turn the page; returns what shows it in the same message."""
        key = f"{SURFACE}.inbox:{click.message}"
        async with self._locks.setdefault(click.message, asyncio.Lock()):
            page, note = await self._apply(click, key)
            await self.asks.save_draft(key, [page.after, *page.ticked])

        async def show() -> None:
            await self.helpers.edit(click.message, await self._render(click.actor, page, note))

        return show

    async def _apply(self, click: Click, key: str) -> tuple[_Page, str]:
        """Return what the message shows after a click, and what to tell the person."""
        control, labels = click.control, self.labels
        if control.verb is Verb.INBOX:
            return _Page(control.argument or None), ""
        match await self.asks.draft(key):
            case [None | str() as after, *ticks]:
                page = _Page(after, tuple(map(str, ticks)))
            case _:
                page = _FIRST_PAGE
        if control.verb is Verb.TICK:
            tick = f"{control.ask_id}:{control.revision}"
            others = tuple(each for each in page.ticked if each != tick)
            ticked = others if tick in page.ticked else (*page.ticked, tick)
            return page._replace(ticked=ticked), ""
        allow = BATCH_VERBS[control.verb]
        if control.argument != inbox_view.digest_of(page.ticked):
            label = labels.allow_once if allow else labels.deny
            return page, labels.selection_changed.format(submit=label)
        batch = Batch(page.ticked, allow, click.delivery, inbox_view.BATCH.shows_whole)
        left = await self.asks.decide_batch(batch, click.actor, fence=self.fence())
        note = labels.batch_left.format(count=left) if left else ""
        return page._replace(ticked=()), note

    async def _render(self, actor: Actor, page: _Page, note: str = "") -> Json:
        size = inbox_view.ASKS_PER_PAGE
        try:
            asks, others = await read_inbox(self.asks, SURFACE, actor, page.after, size)
        except StoreError:
            return compose([escape(self.labels.unavailable)], [])
        return inbox_view.page(asks, self.labels, others, page.ticked, note)
