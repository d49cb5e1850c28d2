"""Show a person the asks that wait for them, from all agents: in the chat between them and the bot.

Permissions are ticked there and decided together. What is ticked is stored with the message, because clicks may come
faster than the message changes: only what the person saw as ticked is decided.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
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


class _Shown(NamedTuple):
    """What an inbox's message shows: the page, and what is ticked on it."""

    after: str | None = None
    ticked: tuple[str, ...] = ()


_FIRST_PAGE: Final = _Shown()


class Inbox:
    """Sends inboxes, and decides about what is ticked in them.

    Args:
        asks: the service.
        fence: returns the lease under which this process receives clicks, if any.
    """

    def __init__(
        self,
        asks: Asks,
        helpers: HelperMessages,
        labels: Labels,
        fence: Callable[[], Fence | None],
    ) -> None:
        self._asks = asks
        self._helpers = helpers
        self._labels = labels
        self._fence = fence
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def send(self, typed: TypedMessage) -> None:
        """Answer the command, where only this person sees it."""
        page = await self._page(typed.actor, _FIRST_PAGE)
        await self._helpers.send_privately(typed.actor.person.user_id, page, typed.place, typed.id)

    async def handle_click(self, click: Click) -> Callable[[], Awaitable[None]]:
        """Tick a row, decide about what is ticked, or turn the page; returns what shows it in the same message."""
        async with self._locks.setdefault(click.message, asyncio.Lock()):
            shown, note = await self._apply(click)
            await self._asks.save_draft(_key(click), [shown.after, *shown.ticked])

        async def show() -> None:
            page = await self._page(click.actor, shown, note)
            await self._helpers.edit(click.message, page)

        return show

    async def _apply(self, click: Click) -> tuple[_Shown, str]:
        """Return what the message shows then, and what to tell the person."""
        control, labels = click.control, self._labels
        if control.verb is Verb.INBOX:
            return _Shown(control.argument or None), ""
        match await self._asks.draft(_key(click)):
            case [None | str() as after, *ticks]:
                shown = _Shown(after, tuple(map(str, ticks)))
            case _:
                shown = _FIRST_PAGE
        if control.verb is Verb.TICK:
            tick = f"{control.ask_id}:{control.revision}"
            others = tuple(each for each in shown.ticked if each != tick)
            ticked = others if tick in shown.ticked else (*shown.ticked, tick)
            return shown._replace(ticked=ticked), ""
        if control.argument != inbox_view.digest_of(shown.ticked):
            label = labels.allow_once if BATCH_VERBS[control.verb] else labels.deny
            return shown, labels.selection_changed.format(submit=label)
        batch = Batch(
            SURFACE,
            shown.ticked,
            BATCH_VERBS[control.verb],
            click.delivery,
            lambda ask: inbox_view.batch_rows([ask])[0].shown is not None,
        )
        left = await self._asks.decide_batch(batch, click.actor, fence=self._fence())
        note = labels.batch_left.format(count=left) if left else ""
        return shown._replace(ticked=()), note

    async def _page(self, actor: Actor, shown: _Shown, note: str = "") -> Json:
        size = inbox_view.ASKS_PER_PAGE
        try:
            asks, others = await read_inbox(self._asks, SURFACE, actor, shown.after, size)
        except StoreError:
            return compose([escape(self._labels.unavailable)], [])
        return inbox_view.page(asks, self._labels, others, shown.ticked, note)


def _key(click: Click) -> str:
    return f"telegram.inbox:{click.message}"
