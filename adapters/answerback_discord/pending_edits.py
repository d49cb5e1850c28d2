"""Track the interaction responses that are on their way to a live message and may still change it.

Discord does not define whether a response or an edit is applied last, and a late response would undo the edit to a
newer state. So an edit waits for every response that was sent before it.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from typing import Final, NamedTuple

from answerback.core.ask import Ask
from answerback_discord.api_client import ResponseResult

_MAX_TRACKED: Final = 1_024
"""Maximum number of asks whose responses are tracked: the most recently clicked ones."""


class _SentResponse(NamedTuple):
    """A response of which it will become known whether Discord accepted it."""

    message_id: str
    appearance: tuple[int, bool, int, float | None] | None
    """The state that the message shows after it; None if something else may be applied after it."""
    result: asyncio.Future[ResponseResult]


class PendingEdits:
    """Tracks the responses on their way, by ask.

    Args:
        confirm_after: seconds during which Discord may still accept a response whose fate is not reported.
    """

    def __init__(self, confirm_after: float) -> None:
        self._confirm_after = confirm_after
        self._sent: OrderedDict[str, tuple[_SentResponse, ...]] = OrderedDict()
        self._unconfirmed: OrderedDict[str, tuple[str, float]] = OrderedDict()
        """The message, and the time until which Discord may accept a response that updates it (`time.monotonic`)."""

    def track_response(
        self, ask: Ask, message_id: str, result: asyncio.Future[ResponseResult]
    ) -> None:
        """Track a response that shows the ask's current state; ``result`` will say whether Discord accepted it.

        The message that it updates may not be recorded as the ask's yet.
        """
        # Responses that were accepted before this one was sent were applied before it.
        before = (sent for sent in self._sent.get(ask.id, ()) if not sent.result.done())
        _, until = self._unconfirmed.get(ask.id, ("", 0.0))
        appearance = None if until > time.monotonic() else ask.rendered_state
        self._sent[ask.id] = (*before, _SentResponse(message_id, appearance, result))
        while len(self._sent) > _MAX_TRACKED:
            self._sent.popitem(last=False)

    def record_unconfirmed_response(self, ask: Ask, message_id: str) -> None:
        """Track a response that shows the ask's current state, and whose acceptance Discord never reports."""
        self._unconfirmed[ask.id] = message_id, time.monotonic() + self._confirm_after
        while len(self._unconfirmed) > _MAX_TRACKED:
            self._unconfirmed.popitem(last=False)

    def seconds_unconfirmed(self, ask: Ask) -> float:
        """Return for how many seconds Discord may still accept an unconfirmed response; 0 or less if none is open."""
        message_id, until = self._unconfirmed.get(ask.id, ("", 0.0))
        return until - time.monotonic() if message_id == live_message_id(ask) else 0.0

    async def updated_at(self, ask: Ask) -> float | None:
        """Wait for the responses on their way; return when they updated the message to the ask's state.

        None: they did not, or Discord did not say when.
        """
        if in_flight := [sent.result for sent in self._responses_to(ask) if not sent.result.done()]:
            await asyncio.wait(in_flight)  # does not cancel them when it is cancelled
        accepted = [
            sent
            for sent in self._responses_to(ask)
            if sent.result.done() and sent.result.result().accepted
        ]
        times = [sent.result.result().updated_at for sent in accepted]
        known = [at for at in times if at is not None]
        is_current = all(sent.appearance == ask.rendered_state for sent in accepted)
        return max(known, default=None) if is_current and len(known) == len(times) else None

    def record_edit(self, ask: Ask) -> None:
        """Record an edit of the message: it is unknown whether it or a response on its way is applied last."""
        in_flight = (sent for sent in self._responses_to(ask) if not sent.result.done())
        if later := tuple(sent._replace(appearance=None) for sent in in_flight):
            self._sent[ask.id] = later
        else:
            self._sent.pop(ask.id, None)

    def _responses_to(self, ask: Ask) -> tuple[_SentResponse, ...]:
        """The responses that were sent to the ask's current message."""
        message_id = live_message_id(ask)
        return tuple(s for s in self._sent.get(ask.id, ()) if s.message_id == message_id)


def live_message_id(ask: Ask) -> str:
    """Return the id of the live message, or an empty string if there is none yet."""
    message_id = (ask.placement.message or {}).get("id")
    return message_id if isinstance(message_id, str) else ""
