"""Looks at the messages all the time, as people do who click on nothing: a click would have a message shown again."""

from __future__ import annotations

import asyncio
from typing import Final

from tests.simulation.chat import Chat
from tests.simulation.evidence import Evidence
from tests.simulation.faults import Faults
from tests.simulation.loop import SimulatedLoop

SOON: Final = 120.0
"""Seconds within which a message shows what its ask has come to, if nothing goes wrong meanwhile."""
_EVERY: Final = 15.0


class Watch:
    """SHOWN: whoever looks sees how an ask stands, at most two minutes later, whether anybody clicks or not."""

    def __init__(self, loop: SimulatedLoop, chat: Chat, evidence: Evidence, faults: Faults) -> None:
        self._loop = loop
        self._chat = chat
        self._evidence = evidence
        self._faults = faults
        self._outdated_since: dict[str, float] = {}
        """Since when a message has shown less than is known of its ask, by its id."""

        self._missing_since: dict[str, float] = {}
        """Since when an ask has had no message, after somebody deleted it."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            self._look()

    def _look(self) -> None:
        now, evidence, known = self._loop.time(), self._evidence, self._evidence.known_revisions()
        messages = self._chat.messages()
        self._miss_deleted(now, {each.ask_id for each in messages})
        for message in messages:
            ask_id, shown = message.ask_id, [each.revision for each in message.deciding]
            is_latest = max(shown, default=0) >= known.get(ask_id, 0)
            if not (shown and message.is_known) or (ask_id not in evidence.ended and is_latest):
                self._outdated_since.pop(message.id, None)
                continue
            since = self._outdated_since.setdefault(message.id, now)
            if now - max(since, self._faults.quiet_since) > SOON:
                del self._outdated_since[message.id]
                what = "its end" if ask_id in evidence.ended else f"revision {known[ask_id]}"
                evidence.broken.append(
                    f"SHOWN: a message has shown revision {max(shown)} of {evidence.keys.get(ask_id)} "
                    f"for {SOON:.0f} s, and not {what}"
                )

    def _miss_deleted(self, now: float, there: set[str]) -> None:
        """PLACE-1: a message that was deleted is posted again, while its ask is open."""
        for ask_id in sorted(self._chat.deleted) if self._chat.tells_of_deletions else ():
            if ask_id in there:
                self._missing_since.pop(ask_id, None)
                continue
            since = self._missing_since.setdefault(ask_id, now)
            if now - max(since, self._faults.quiet_since) > SOON:
                self._evidence.missing.setdefault(ask_id, now)
