"""Shared by tests of webhooks: an outbox over a real file, with names that resolve as a test says."""

from __future__ import annotations

import asyncio
import base64
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from answerback.core.actions import Answer
from answerback.core.ask import Ask, RecordEntry
from answerback.core.errors import StoreError
from answerback.outbox.address_policy import AddressRules, guarded_session
from answerback.outbox.dispatcher import OutboxDispatcher
from answerback.ports.claims import SOLE_CLAIM, Claim
from answerback.ports.store_values import StoredDelivery
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback_storage.sqlite.database import SqliteDatabase
from answerback_storage.sqlite.outbox import SqliteOutbox
from answerback_storage.sqlite.store import SqliteStore
from answerback_webhooks.sender import CallbackPolicy, WebhookSender
from tests.service_support import (
    STORES_WEBHOOKS,
    WAIT,
    FakePage,
    FakeSurface,
    ManualClock,
    actor,
    ask_user,
)

SECRET = "whsec_" + base64.b64encode(b"a secret of the tests, 32 bytes.").decode()
OTHER_SECRET = "whsec_" + base64.b64encode(b"another secret, also of 32 bytes").decode()


class WatchedOutbox(SqliteOutbox):
    """An outbox that signals when attempts are stored, and fails as often as a test says."""

    def __init__(self, db: SqliteDatabase) -> None:
        super().__init__(db)
        self.changed = asyncio.Condition()
        self.failures = 0
        self.claimed: list[str] = []
        """Ids of deliveries in the order in which they were claimed."""
        self.renewed: list[str] = []
        self._taken_by: Claim | None = None
        self._claiming = asyncio.Lock()

    async def take_over(self, whose: Claim, claim: Claim, now: float) -> None:
        """Let another process take over claims before their holder can claim again."""
        # A claim that the holder has begun ends first: it would take what is released below.
        async with self._claiming:
            self._taken_by = claim
            await self.release(whose.holder)
        await self.claim(claim, now, 10)

    async def claim(self, claim: Claim, now: float, limit: int) -> Sequence[StoredDelivery]:
        async with self._claiming:
            if self._taken_by not in (None, claim):
                return []
            found = await super().claim(claim, now, limit)
        async with self.changed:
            self.claimed += [one.delivery.id for one in found]
            self.changed.notify_all()
        return found

    async def renew(self, delivery_id: str, claim: Claim) -> bool:
        renewed = await super().renew(delivery_id, claim)
        async with self.changed:
            self.renewed += [delivery_id] * renewed
            self.changed.notify_all()
        return renewed

    async def save_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        if self.failures and entries:
            self.failures -= 1
            raise StoreError("the disk is full")
        await super().save_results(results, entries, holder)
        async with self.changed:
            self.changed.notify_all()


class WatchedStore(SqliteStore):
    """A store whose outbox is watched."""

    outbox: WatchedOutbox

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.outbox = WatchedOutbox(self.database)


class Names(AbstractResolver):
    """Resolves names as a test says; the last result for a name is repeated."""

    def __init__(self) -> None:
        self.answers: dict[str, list[list[str]]] = {}
        self.closed = False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        answers = self.answers[host]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in found
        ]

    async def close(self) -> None:
        self.closed = True


@dataclass
class Outbox:
    """A service with its outbox and dispatchers."""

    store: WatchedStore
    clock: ManualClock
    service: Service
    names: Names
    callbacks: CallbackPolicy
    deliverers: list[OutboxDispatcher] = field(default_factory=list)

    async def ask(self, url: str, **envelope: Any) -> Ask:
        """An open ask with a callback."""
        body = ask_user(callback={"url": url}, **envelope)
        return (await self.service.submit(body)).ask

    async def answered(self, url: str) -> Ask:
        """An answered ask, whose webhook is due."""
        ask = await self.ask(url)
        await self.service.act(ask.id, Answer(value=True), actor())
        return ask

    @asynccontextmanager
    async def draining(
        self,
        *,
        timeout: float = WAIT,
        claim: Claim = SOLE_CLAIM,
        **more: Any,
    ) -> AsyncIterator[OutboxDispatcher]:
        """Drain the outbox while the context lasts; then stop at once, as if killed."""
        async with guarded_session(self.callbacks.rules, self.names) as http:
            sender = WebhookSender(
                http, self.callbacks.rules, self.callbacks.secrets_of, timeout=timeout
            )
            dispatcher = OutboxDispatcher(
                self.store.outbox,
                self.clock,
                sender,
                self.service.hooks,
                self.service.late_answer_tracker.save_seen,
                jitter=lambda: 1.0,
                claim=claim,
                **more,
            )
            task = asyncio.create_task(dispatcher.run())
            try:
                yield dispatcher
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await dispatcher.stop(grace=0)

    async def set_back(self, seconds: float) -> None:
        """Set the clock back, and reschedule in the store as the scheduler does."""
        await self.clock.set(-seconds)
        await self.store.maintenance.shift_schedule(seconds, self.clock.now())

    async def delivery(self, ask: Ask) -> StoredDelivery:
        """The one delivery of an ask."""
        page = await self.store.outbox.page(state=None, agent=None, after=None, limit=200)
        (found,) = [row for row in page.rows if row.delivery.ask_id == ask.id]
        return found

    async def wait_for_tries(self, ask: Ask, tries: int) -> StoredDelivery:
        """The ask's delivery, once that many attempts are stored."""
        async with asyncio.timeout(WAIT), self.store.outbox.changed:
            while (found := await self.delivery(ask)).tries < tries:
                await self.store.outbox.changed.wait()
        return found

    async def lines(self, ask: Ask) -> list[dict[str, Any]]:
        """The record's lines about attempts."""
        record = await self.store.record.read(ask.id)
        return [dict(one.entry.body) for one in record if one.entry.kind == "delivery"]


@asynccontextmanager
async def outbox(
    folder: Path,
    *,
    allow: Sequence[str] = (),
    secrets: Sequence[str] = (SECRET,),
    rules: Rules | None = None,
) -> AsyncIterator[Outbox]:
    """An outbox in a folder."""
    store = WatchedStore(folder / "asks.db")
    await store.open()
    clock = ManualClock(float(int(time.time())))
    callbacks = CallbackPolicy(AddressRules(allow), {None: secrets})
    service = Service(
        store,
        clock,
        {"chat": FakeSurface(), "web": FakePage("web", responders=("anyone",))},
        known_surfaces=frozenset({"pager"}),
        rules=rules,
        check_callback=lambda url, agent: callbacks.check(url, agent.name if agent else None),
        extensions=[STORES_WEBHOOKS],
    )
    yield Outbox(store, clock, service, Names(), callbacks)
    await store.close()
