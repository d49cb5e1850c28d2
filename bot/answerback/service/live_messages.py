"""The service's part for live messages and places: what is shown where, and what people saw as open there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from answerback.core.ask import Ask, Status
from answerback.core.errors import UnreadableRowError
from answerback.core.escalation import (
    as_left_behind,
    may_have_been_left_open,
    undo_move,
)
from answerback.core.typed_answers import may_have_looked_open
from answerback.ports.clock import Clock
from answerback.ports.message_state import mark_outdated, record_retired, replace_channel_id
from answerback.ports.store import Decision, Store, Write
from answerback.service.notify import Hooks

_PAGE: Final = 100
_SETTLING_SECONDS: Final = 5.0
"""Seconds after a change in which people may still use the previous copy, although the message was edited."""
_MAX_OPEN: Final = 10
_LATELY_SECONDS: Final = 7 * 86_400.0
"""Seconds for which an ask that ended while a bot was out of its channel is looked for once the bot is back."""
_MAX_ENDED: Final = 100
_MARGIN_SECONDS: Final = 3_600.0
"""Seconds longer ago that an ask may have ended by our clock: clocks differ, and messages are updated late."""


class ShownAsks:
    """Implements `answerback.ports.live_messages.LiveMessages` and the reading of places, which say what this does."""

    store: Store
    clock: Clock
    hooks: Hooks

    # --- places ------------------------------------------------------------------------------------

    async def list_open_in(
        self,
        surface: str,
        channel: str,
        thread: str | None,
        *,
        wanted: Callable[[Ask], bool] = lambda _ask: True,
    ) -> Sequence[Ask]:
        found: list[Ask] = []
        async for ask in self.each_open(surface, channel, thread):
            if wanted(ask):
                found.append(ask)
                if len(found) == _MAX_OPEN:
                    break
        return found

    async def list_open_at(
        self,
        surface: str,
        channel: str,
        thread: str | None,
        at: float | None,
        *,
        wanted: Callable[[Ask], bool] = lambda _ask: True,
    ) -> Sequence[Ask]:
        list_open = partial(self.list_open_in, surface, channel, thread)
        if at is None:
            return await list_open(wanted=wanted)

        def looked_open(ask: Ask) -> bool:
            return may_have_looked_open(ask, at) and wanted(ask)

        def was_left_open(ask: Ask) -> bool:
            return may_have_been_left_open(ask, at) and wanted(as_left_behind(ask))

        messages, since = self.store.messages, min(at, self.clock.now()) - _MARGIN_SECONDS
        find_ended = partial(messages.find_ended, surface, channel, thread, since)
        find_moved = partial(messages.find_moved, surface, channel, thread, since)
        still_open = await list_open(wanted=looked_open)
        ended = await _find_wanted(find_ended, looked_open)
        seen = {ask.id: ask for ask in (*still_open, *ended)}
        for ask in await _find_wanted(find_moved, was_left_open):
            seen.setdefault(ask.id, as_left_behind(ask))
        return list(seen.values()) or await list_open(wanted=wanted)

    async def each_open(
        self, surface: str, channel: str | None = None, thread: str | None = None
    ) -> AsyncIterator[Ask]:
        after: str | None = None
        while True:
            if channel is not None:
                asks = await self.store.messages.find_open(surface, channel, thread, _PAGE, after)
                after = asks[-1].id if len(asks) == _PAGE else None
            else:
                page = await self.store.asks.page(
                    status=Status.OPEN, surface=surface, after=after, limit=_PAGE
                )
                asks, after = page.rows, page.after
            for ask in asks:
                yield ask
            if after is None:
                return

    async def each_outdated(self, surface: str) -> AsyncIterator[Ask]:
        for ask_id in await self.store.messages.list_outdated(10 * _PAGE):
            with suppress(UnreadableRowError):  # showing it logs the error
                ask = await self.store.asks.get(ask_id)
                if ask is not None and ask.placement.destination.surface == surface:
                    yield ask

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        return await self.store.messages.find_by_message(surface, message_id)

    # --- messages ----------------------------------------------------------------------------------

    async def save_retired(self, retired: Ask, at: float | None) -> None:
        """Note that the message which an ask left behind is a note, or cannot become one, since ``at`` (None: now)."""
        until = self.clock.now() if at is None else at
        await self.store.asks.change(retired.id, lambda ask: record_retired(ask, retired, until))

    async def show_again(self, ask_id: str, *, deleted: bool = False, found: bool = False) -> None:
        at = self.clock.now()

        def decide(ask: Ask | None) -> Decision[Ask | None]:
            if ask is None or ask.placement.message is None or (deleted and not ask.open):
                return Decision(None, None)
            shown = ask.placement.shown_revision >= ask.revision
            is_recent = at - ask.updated_at < _SETTLING_SECONDS
            if shown and is_recent and not (deleted or found):
                return Decision(None, None)
            outdated = mark_outdated(ask) if shown or deleted else ask
            return Decision(Write(outdated) if outdated is not ask else None, outdated)

        ask, _ = await self.store.asks.change(ask_id, decide)
        if ask is not None:
            self.hooks.show(ask)

    async def show_outdated(self, surface: str) -> None:
        async for ask in self.each_outdated(surface):
            self.hooks.show(ask)

    async def show_reopened(self, surface: str, channels: Sequence[str]) -> None:
        since = self.clock.now() - _LATELY_SECONDS
        for channel in channels:
            found = await self.store.messages.find_ended(surface, channel, None, since, _MAX_ENDED)
            for ask in found:
                await self.store.asks.change(ask.id, decide_outdated)
                self.hooks.show(ask)
        async for ask in self.each_outdated(surface):
            places = {
                ask.placement.destination.channel,
                (ask.placement.message or {}).get("channel"),
            }
            if not places.isdisjoint(channels):
                self.hooks.show(ask)

    async def note_seen(self, asks: Iterable[Ask]) -> None:
        at = self.clock.now()

        def decide(ask: Ask | None) -> Decision[Ask | None]:
            if ask is None or ask.placement.was_visible or not ask.open:
                return Decision(None, None)
            return Decision(
                Write(
                    replace(
                        ask,
                        placement=replace(ask.placement, was_visible=True, seen_since=at),
                    )
                ),
                ask,
            )

        for each in asks:
            if each.open and not each.placement.was_visible:
                ask, _ = await self.store.asks.change(each.id, decide)
                if ask is not None and ask.placement.first_seen is None:
                    self.hooks.shown(ask, at - ask.created_at + ask.schedule.clock_set_back)

    async def change_channel_id(self, ask_id: str, old: str, new: str) -> None:
        await self.store.asks.change(
            ask_id,
            lambda ask: Decision(Write(replace_channel_id(ask, old, new)) if ask else None, None),
        )


async def _find_wanted(
    find: Callable[[int], Awaitable[Sequence[Ask]]], wanted: Callable[[Ask], bool]
) -> Sequence[Ask]:
    """Return the first asks that a query finds and that are wanted. More are read only if too many of them are not."""
    limit = _MAX_ENDED
    while True:
        found = await find(limit)
        those_wanted = [ask for ask in found if wanted(ask)][:_MAX_ENDED]
        if len(found) < limit or len(those_wanted) == _MAX_ENDED:
            return those_wanted
        limit *= 4


def decide_outdated(ask: Ask | None) -> Decision[None]:
    """Decide that a message which counts as up to date may not be."""
    is_shown = (
        ask is not None
        and ask.placement.message is not None
        and ask.placement.shown_revision >= ask.revision
    )
    return Decision(Write(mark_outdated(ask)) if ask is not None and is_shown else None, None)


def decide_returned(ask: Ask | None) -> Decision[None]:
    """Decide that an ask which ended before it was shown at its new place is shown where it was."""
    if ask is None or ask.open or ask.placement.place_before is None:
        return Decision(None, None)
    change = undo_move(ask, ask.updated_at, "it ended before it was shown there")
    return Decision(Write(change.ask, change.entries), None)
