"""The asks of a place: those that people saw as open there at some time, for which a typed text can be meant."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.escalation import as_left_behind, may_have_been_left_open
from answerback.core.typed_answers import may_have_looked_open
from answerback.ports.live_messages import MessageQueries
from answerback.ports.message_state import mark_outdated
from answerback.ports.store import Decision, Store, Write

MAX_OPEN: Final = 10
_LATELY_SECONDS: Final = 7 * 86_400.0
"""Seconds for which an ask that ended while a bot was out of its channel is looked for once the bot is back."""
_MAX_ENDED: Final = 100
_MARGIN_SECONDS: Final = 3_600.0
"""How much longer ago an ask may have ended by our clock: clocks differ, and messages are updated late."""


async def list_open_at(
    messages: MessageQueries, place: tuple[str, str, str | None], at: float | None, now: float
) -> Sequence[Ask]:
    """Return the asks that looked open at (surface, channel, thread; None: anywhere in the channel).

    If there are none, or the time is unknown, these are the asks that are open now. An ask that has moved away is
    returned as people saw it there (`answerback.core.escalation.as_left_behind`).

    Args:
        at: a time of the platform's clock.
        now: the time by our own clock.
    """
    open_now = await messages.find_open(*place, MAX_OPEN)
    if at is None:
        return open_now
    since = min(at, now) - _MARGIN_SECONDS
    ended = await messages.find_ended(*place, since, _MAX_ENDED)
    seen = {ask.id: ask for ask in (*open_now, *ended) if may_have_looked_open(ask, at)}
    for ask in await messages.find_moved(*place, since, _MAX_ENDED):
        if may_have_been_left_open(ask, at):
            seen.setdefault(ask.id, as_left_behind(ask))
    return list(seen.values()) or open_now


async def show_ended(
    store: Store, show: Callable[[Ask], None], surface: str, channels: Sequence[str], now: float
) -> None:
    """Show the asks again that ended lately in some channels."""
    since = now - _LATELY_SECONDS
    for channel in channels:
        for ask in await store.messages.find_ended(surface, channel, None, since, _MAX_ENDED):
            await store.asks.change(ask.id, decide_outdated)
            show(ask)


async def show_waiting(
    outdated: AsyncIterator[Ask],
    show: Callable[[Ask], None],
    channels: Sequence[str] | None = None,
) -> None:
    """Show the asks with an outdated message: all of them, or those that belong in some channels."""
    async for ask in outdated:
        places = {ask.destination.channel, (ask.message or {}).get("channel")}
        if channels is None or not places.isdisjoint(channels):
            show(ask)


def decide_outdated(ask: Ask | None) -> Decision[None]:
    """Decide that a message which counts as up to date may not be."""
    is_shown = ask is not None and ask.message is not None and ask.shown_revision >= ask.revision
    return Decision(Write(mark_outdated(ask)) if ask is not None and is_shown else None, None)
