"""`PostgresStore`: asks in a PostgreSQL database that any number of processes share.

Every write is a single statement, and so a single transaction. The exceptions are erasure, late answers, clock changes
and migrations.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, RecordEntry, Status
from answerback.ports.claims import Fence
from answerback.ports.message_state import record_shown
from answerback.ports.search import Search
from answerback.ports.store import Decision, Write
from answerback.ports.store_values import (
    NO_LIMITS,
    AskLimits,
    Created,
    DeliveryState,
    Existing,
    Idempotency,
    LimitReached,
    Page,
    StoredDelivery,
    StoredEntry,
)
from answerback.ports.surface import Shown
from answerback_storage import rows
from answerback_storage.postgres import ask_writes, asks, erasure, maintenance, search
from answerback_storage.postgres.change_batches import ChangeJob
from answerback_storage.postgres.claims import PostgresClaims
from answerback_storage.postgres.late_answers import PostgresLateAnswers

T = TypeVar("T")


class PostgresStore(PostgresClaims, PostgresLateAnswers):
    """The protocol `answerback.ports.store.Store` on a PostgreSQL database."""

    async def check(self) -> None:
        """Durably write a row, and read it."""
        await self._write("UPDATE health SET checks = checks + 1")
        await self._read("SELECT checks FROM health")

    async def last_entry_time(self) -> float | None:
        """Return when the last line of the record was written, or None."""
        found = await self._read("SELECT at FROM record ORDER BY seq DESC LIMIT 1")
        return found[0][0] if found else None

    async def shift_schedule(self, seconds: float, at: float) -> None:
        """Reschedule after the clock was set back; see `answerback.ports.store.Store.shift_schedule`."""
        await self._run(
            lambda: maintenance.shift_schedule(self._database, self._requests, seconds, at)
        )

    async def create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits = NO_LIMITS
    ) -> Created | Existing | LimitReached:
        """Store a new ask, or find the one that this idempotency key stored before."""

        async def run() -> Created | Existing | LimitReached:
            statement, params = ask_writes.build_insert(write, idempotency, limits)
            while True:
                [(stored, limit, wait)] = await self._database.write(statement, params.values)
                if stored is not None:
                    self._notifier.notify([write.ask.id])
                    return Created(write.ask)
                # The first one is found, unless its key is being pruned at this very moment.
                if idempotency and (existing := await self._existing(idempotency)):
                    return existing
                if limit is not None:
                    return LimitReached(limit, wait)

        began = time.perf_counter()
        try:
            return await self._run(run)
        finally:
            self._timed(time.perf_counter() - began)

    async def _existing(self, idempotency: Idempotency) -> Existing | None:
        found = await self._database.read(
            "SELECT ask_id, digest FROM idempotency WHERE hash = $1",
            (asks.unique_hash(idempotency.agent, idempotency.key),),
        )
        if not found:
            return None
        stored_ask = await asks.load(self._database, self._requests, found[0][0])
        return (
            None if stored_ask is None else Existing(stored_ask, found[0][1] == idempotency.digest)
        )

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        """Return what this idempotency key stored before, or None."""
        return await self._run(lambda: self._existing(idempotency))

    async def change(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        *,
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
    ) -> tuple[T, bool]:
        """Load an ask, decide and store. If somebody else changed the ask in the meantime, start again."""
        began = time.perf_counter()
        try:
            return await self._change(ChangeJob(ask_id, decide, delivery, digest, then, fence))
        finally:
            self._timed(time.perf_counter() - began)

    async def get(self, ask_id: str) -> Ask | None:
        """Return an ask, or None."""
        return await self._run(lambda: asks.load(self._database, self._requests, ask_id))

    async def find_open(
        self, surface: str, channel: str, thread: str | None, limit: int, after: str | None = None
    ) -> Sequence[Ask]:
        """Return the open asks in this thread (None: in this channel), newest first, older than the ask ``after``."""
        place = (surface, channel, thread)
        return await self._run(lambda: self._reader.find_open(place, limit, after))

    async def find_ended(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        """Return the asks in this thread (None: in this channel) that ended since a time, latest end first."""
        place = (surface, channel, thread)
        return await self._run(lambda: self._reader.find_ended(place, since, limit))

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        """Return the open ask whose live message has this ``id``, or None."""
        return await self._run(lambda: self._reader.find_by_message(surface, message_id))

    async def page(
        self,
        *,
        status: Status | None = None,
        surface: str | None = None,
        conversation: str | None = None,
        agent: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Page[Ask]:
        """Return a page of asks, newest first. Raises ValueError if ``after`` is not the cursor of a page."""
        filters = {
            "status": status and status.value,
            "surface": surface,
            "conversation": conversation,
            "agent": agent,
        }
        behind = rows.parse_descending_cursor("asks", after)
        return await self._run(lambda: self._reader.page(filters, behind, limit))

    async def search(self, query: Search, after: str | None, limit: int) -> Page[Ask]:
        """See `answerback.ports.search.AskSearch.search`."""
        behind = rows.parse_descending_cursor("search", after)
        return await self._run(
            lambda: search.search(self._database, self._reader, query, behind, limit)
        )

    async def list_for_responder(
        self, surface: str, user_id: str, after: str | None, limit: int
    ) -> Page[Ask]:
        """See `answerback.ports.search.AskSearch.list_for_responder`."""
        place, behind = (surface, user_id), rows.parse_ascending_cursor("waiting", after)
        return await self._run(
            lambda: search.list_for_responder(self._database, self._reader, place, behind, limit)
        )

    async def record(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        """Return the entries of an ask after a line number, oldest first."""
        return await self._run(lambda: asks.record(self._database, ask_id, after, limit))

    async def add_entry(self, ask_id: str | None, entry: RecordEntry) -> None:
        """Append an entry to the record that does not come with a change of an ask."""
        await self._run(lambda: asks.add_entry(self._database, ask_id, entry))

    async def save_shown(self, ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
        """Record what the live message shows, using `answerback.ports.message_state.record_shown`."""

        def decide(latest: Ask | None) -> Decision[Ask | None]:
            if latest is None:
                return Decision(None, None)
            now = record_shown(
                latest,
                of or latest,
                revision=shown.revision,
                message=shown.message,
                thread=shown.thread,
                at=shown.at,
            )
            return Decision(Write(now), now)

        updated, _ = await self._change(ChangeJob(ask_id, decide))
        return updated

    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        """See `answerback.ports.live_messages.MessageQueries.list_outdated`."""
        return [name for (name,) in await self._read(maintenance.OUTDATED, limit, free_for)]

    async def next_due(self, after: float) -> float | None:
        """Return when, later than ``after``, a timer is due next, or None."""
        found = await self._read("SELECT min(due) FROM asks WHERE due > $1", after)
        when: float | None = found[0][0]
        return when

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question: str
    ) -> tuple[JsonValue] | None:
        """Return the remembered answer in a tuple of one, or None."""
        key = asks.unique_hash(agent, conversation, turn, tool, question)
        found = await self._read("SELECT value FROM remembered WHERE hash = $1", key)
        return rows.read_value(found[0][0].encode(), "remembered") if found else None

    async def draft(self, key: str) -> JsonValue:
        """Return a draft, or None."""
        found = await self._read("SELECT value FROM drafts WHERE hash = $1", asks.unique_hash(key))
        stored_draft = rows.read_value(found[0][0].encode(), "drafts") if found else None
        return None if stored_draft is None else stored_draft[0]

    async def save_draft(self, key: str, value: JsonValue, at: float) -> None:
        """Store a draft; None deletes it."""
        if value is None:
            await self._write("DELETE FROM drafts WHERE hash = $1", asks.unique_hash(key))
            return
        await self._write(
            """INSERT INTO drafts (hash, key, value, at) VALUES ($1, $2, $3, $4)
                ON CONFLICT (hash) DO UPDATE SET value = excluded.value, at = excluded.at""",
            *(asks.unique_hash(key), key, rows.dump(value), at),
        )

    async def next_delivery(self, after: float = 0.0) -> float | None:
        """Return when, later than ``after``, the next pending delivery is due, or None."""
        return await self._run(lambda: self._outbox.next_due(after))

    async def save_delivery_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        """Store the results of deliveries, which ends their claims, and the entries about the attempts."""
        await self._run(lambda: self._outbox.save_results(results, entries, holder))

    async def delivery(self, delivery_id: str) -> StoredDelivery | None:
        """Return one delivery, or None."""
        return await self._run(lambda: self._outbox.get(delivery_id))

    async def deliveries(
        self, *, state: DeliveryState | None, agent: str | None, after: str | None, limit: int
    ) -> Page[StoredDelivery]:
        """Return a page of deliveries, newest first. Raises ValueError if ``after`` is not the cursor of a page."""
        filters = {"state": state and state.value, "agent": agent}
        behind = rows.parse_descending_cursor("deliveries", after)
        return await self._run(lambda: self._outbox.page(filters, behind, limit))

    async def secret(self, name: str) -> bytes:
        """Return 32 random bytes for this name, created once and stored."""
        await self._write(
            "INSERT INTO secrets VALUES ($1, $2) ON CONFLICT DO NOTHING",
            *(name, secrets.token_bytes(32)),
        )
        found = await self._read("SELECT value FROM secrets WHERE name = $1", name)
        return bytes(found[0][0])

    async def prune(self, before: float) -> int:
        """Delete older delivery ids, idempotency keys, remembered answers and drafts, and return how many."""
        return await self._run(lambda: maintenance.prune(self._database, before))

    async def prune_audit(self, before: float) -> int:
        """Delete older lines of the record that belong to no ask, and return how many."""
        return await self._run(lambda: maintenance.prune_audit(self._database, before))

    async def erase(self, ask_id: str, at: float, opaque: Collection[str]) -> Ask | None:
        """See `answerback.ports.store.Store.erase`. Overwritten data leaves the files with the next VACUUM."""

        async def run() -> Ask | None:
            ask = await erasure.erase(self._database, self._requests, (ask_id, at, opaque))
            self._requests.drop(ask_id)
            self._notifier.notify([ask_id])
            return ask

        return await self._run(run)

    async def scrub_erased(self) -> None:
        """See `Store.scrub_erased`. The server's autovacuum does it."""

    async def list_erasable(self, before: float, limit: int) -> Sequence[str]:
        """Return the ids of asks that ended before the given time and are not erased, in the order they ended."""
        found = await self._read(erasure.ERASABLE, before, limit)
        return [ask_id for (ask_id,) in found]

    async def counts(self) -> Mapping[str, int]:
        """Return the number of asks by status and of deliveries by state, from counters. Every name is present."""
        found = await self._read("SELECT name, sum(n)::bigint FROM counters GROUP BY name")
        return dict.fromkeys([*Status, *DeliveryState], 0) | dict(found)
