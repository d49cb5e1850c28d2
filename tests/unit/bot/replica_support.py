"""Shared by tests of several processes on one store: the processes, and their claims."""

from __future__ import annotations

import asyncio
from typing import Any

from answerback.core.ask import Ask
from answerback.ports.claims import Claim
from answerback.ports.store import Store
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync, SyncPace
from answerback_testing.manual_timers import ManualTimers
from tests.service_support import FakePage, FakeSurface, ManualClock, ask_user

ANN, BEN = Claim("ann", 60.0), Claim("ben", 60.0)
SHORT_LEASE = 0.3
"""Seconds of a claim that should expire soon."""
LASTING = 2.0
"""Seconds of a claim that is renewed in time: even a busy machine delays a process less than that."""


class Processes:
    """Services that share a store, a clock and the platforms."""

    def __init__(self, store: Store) -> None:
        self.clock = ManualClock()
        self.timers = ManualTimers()
        self.chat = FakeSurface()
        self._store = store
        self._web = FakePage("web", responders=("anyone",))

    def start(self, claim: Claim, concurrent: int = 32, **more: Any) -> tuple[Service, MessageSync]:
        """Start another process."""
        surfaces = {"chat": self.chat, "web": self._web}
        service = Service(
            self._store, self.clock, surfaces, known_surfaces=frozenset(), claim=claim, **more
        )
        sync = MessageSync(
            service, pace=SyncPace(concurrent, first_pause=0.01), call_later=self.timers.call_later
        )
        return service, sync

    async def due(self, service: Service, sync: MessageSync, **envelope: Any) -> Ask:
        """An ask that is shown and whose reminder is due; from now on the chat does not respond."""
        ask = (await service.submit(ask_user(remind_after=[10], **envelope))).ask
        await sync.wait_until_idle()
        self.chat.hold = asyncio.Event()
        await self.clock.advance(11)
        return ask
