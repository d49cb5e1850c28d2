"""The answers to interactions that are on their way to a live message, and may still change it.

Owns what Discord leaves open: which of an answer and an edit is applied last. An answer that comes
late would undo the edit of a newer state; so an edit waits for every answer that was sent before.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import Final, NamedTuple

from answerback.core.ask import Ask

_KEPT: Final = 1_024
"""Asks whose answers are kept: those that were clicked on last."""


class _Sent(NamedTuple):
    """An answer of which it will be known whether Discord took it."""

    message_id: str
    appearance: tuple[int, bool, int] | None
    """What it makes the message show; None: something else may be applied after it."""
    taken: asyncio.Future[bool]


class PendingEdits:
    """What is on its way, by ask.

    Args:
        confirm_after: seconds for which an answer that is not known to be taken may still be.
    """

    def __init__(self, confirm_after: float) -> None:
        self._confirm_after = confirm_after
        self._sent: OrderedDict[str, tuple[_Sent, ...]] = OrderedDict()
        self._unknown: OrderedDict[str, tuple[str, float]] = OrderedDict()
        """The message, and until when Discord may take an answer that brings it up to date (`time.monotonic`)."""

    def track_response(self, ask: Ask, taken: asyncio.Future[bool]) -> None:
        """An interaction is being answered with the ask as it stands; it will be known whether Discord took that."""
        if message_id := live_message_id(ask):
            # What was taken before this one was sent was applied before it.
            before = (sent for sent in self._of(ask) if not sent.taken.done())
            appearance = None if self.seconds_unconfirmed(ask) > 0 else ask.rendered_state
            self._sent[ask.id] = (*before, _Sent(message_id, appearance, taken))
            while len(self._sent) > _KEPT:
                self._sent.popitem(last=False)

    def record_unconfirmed_response(self, ask: Ask) -> None:
        """An interaction is answered with the ask as it stands, and nobody will tell whether Discord took that."""
        if message_id := live_message_id(ask):
            self._unknown[ask.id] = message_id, time.monotonic() + self._confirm_after
            while len(self._unknown) > _KEPT:
                self._unknown.popitem(last=False)

    def seconds_unconfirmed(self, ask: Ask) -> float:
        """The seconds for which Discord may still take an answer nobody will tell of."""
        message_id, until = self._unknown.get(ask.id, ("", 0.0))
        return until - time.monotonic() if message_id == live_message_id(ask) else 0.0

    async def brought(self, ask: Ask) -> bool:
        """Whether answers have brought the message to what the ask is now; waits for those that are on their way."""
        if under_way := [sent.taken for sent in self._of(ask) if not sent.taken.done()]:
            await asyncio.wait(under_way)  # it leaves them alone when it is cancelled
        taken = [s for s in self._of(ask) if s.taken.done() and s.taken.result()]
        return bool(taken) and all(sent.appearance == ask.rendered_state for sent in taken)

    def record_edit(self, ask: Ask) -> None:
        """The message was edited: nobody knows which is applied last, that or what is on its way now."""
        under_way = (sent for sent in self._of(ask) if not sent.taken.done())
        if later := tuple(sent._replace(appearance=None) for sent in under_way):
            self._sent[ask.id] = later
        else:
            self._sent.pop(ask.id, None)

    def _of(self, ask: Ask) -> tuple[_Sent, ...]:
        """What was sent to the message that the ask has now."""
        message_id = live_message_id(ask)
        return tuple(s for s in self._sent.get(ask.id, ()) if s.message_id == message_id)


def live_message_id(ask: Ask) -> str:
    """The live message; empty where there is none yet."""
    found = (ask.message or {}).get("id")
    return found if isinstance(found, str) else ""
