"""A store in this process's memory, for tests and trials: its contents do not outlive the process.

Every write completes between two turns of the event loop, so each one is a transaction. The contract is the same as for
every other store.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Final, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, RecordEntry, Status
from answerback.core.errors import StoreError
from answerback.ports.claims import ClaimKind, Fence
from answerback.ports.message_state import record_shown
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
from answerback.testing.memory_store.ask_limits import find_reached
from answerback.testing.memory_store.claims import MemoryClaims, next_attempt_time
from answerback.testing.memory_store.claims import Tables as Tables
from answerback.testing.memory_store.erasure import MemoryErasure
from answerback.testing.memory_store.late_answers import MemoryLateAnswers
from answerback.testing.memory_store.search import MemorySearch, build_page, iter_newest_first
from answerback_storage import rows

T = TypeVar("T")

_LAST: Final = 2**63 - 1


class MemoryStore(MemoryClaims, MemorySearch, MemoryLateAnswers, MemoryErasure):
    """Asks in memory; see `answerback.ports.store.Store`."""

    async def last_entry_time(self) -> float | None:
        """See `Store.last_entry_time`."""
        record = self._tables().record
        return record[-1][1].entry.at if record else None

    async def shift_schedule(self, seconds: float, at: float) -> None:
        """See `Store.shift_schedule`."""
        tables, name = self._tables(), f"clock:{at!r}"
        if name in tables.seen:
            return
        tables.seen[name] = at, ""
        for key, stored in tables.deliveries.items():
            if stored.next_at is not None and stored.next_at > at:
                tables.deliveries[key] = replace(stored, next_at=stored.next_at - seconds)
        for ask in list(tables.asks.values()):
            if (
                ask.next_due() is not None
                and not at - rows.CLOCK_CHANGE_WINDOW <= ask.created_at <= at
            ):
                self._save(replace(ask, set_back=ask.set_back + seconds))
        entry = RecordEntry(at=at, kind="note", body={"clock_set_back": round(seconds, 3)})
        self._add_entries(tables, [(None, entry)])

    async def check(self) -> None:
        """See `Store.check`."""
        self._tables()

    async def create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits = NO_LIMITS
    ) -> Created | Existing | LimitReached:
        """See `Store.create`."""
        tables, ask = self._tables(), write.ask
        _validate(tables, write)
        if idempotency is not None and (existing := await self.find_created(idempotency)):
            return existing
        if (reached := find_reached(tables.asks.values(), ask, limits)) is not None:
            return reached
        if idempotency is not None:
            key = (idempotency.agent, idempotency.key)
            tables.keys[key] = (idempotency.digest, ask.id, ask.created_at)
        self._save(ask, write.claim)
        tables.numbers[ask.id] = len(tables.numbers) + 1
        self._add_related(tables, write)
        await asyncio.sleep(0)  # yield to other tasks, as writing to a disk would
        return Created(ask)

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        """See `Store.find_created`."""
        tables = self._tables()
        found = tables.keys.get((idempotency.agent, idempotency.key))
        if found is None:
            return None
        digest, ask_id, _ = found
        return Existing(tables.asks[ask_id], digest == idempotency.digest)

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
        """See `Store.change`."""
        tables = self._tables()
        self._check_fence(fence)
        write, result = decide(tables.asks.get(ask_id))
        if delivery in tables.seen:
            rows.check_digest(tables.seen[delivery][1], digest)
            return result, True
        if write is not None:
            if write.ask.id != ask_id or ask_id not in tables.asks:
                raise AssertionError(f"a decision about {ask_id} stored {write.ask.id}")
            _validate(tables, write)
            self._save(write.ask, write.claim)
            self._add_related(tables, write)
            if delivery is not None:
                tables.seen[delivery] = write.ask.updated_at, digest
        if then is not None:
            then(result)
        await asyncio.sleep(0)
        return result, False

    async def get(self, ask_id: str) -> Ask | None:
        """See `Store.get`."""
        rows.dump(ask_id)
        return self._tables().asks.get(ask_id)

    async def find_open(
        self, surface: str, channel: str, thread: str | None, limit: int, after: str | None = None
    ) -> Sequence[Ask]:
        """See `MessageQueries.find_open`."""
        tables = self._tables()
        before = _LAST if after is None else tables.numbers.get(after, 0)
        newest = (ask for _, ask in iter_newest_first(tables, before))
        here = (ask for ask in newest if ask.open and _is_in(ask, surface, channel, thread))
        return list(islice(here, limit))

    async def find_ended(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        """See `MessageQueries.find_ended`."""
        ended = [
            ask
            for ask in self._tables().asks.values()
            if not ask.open
            and ask.erased_at is None
            and ask.updated_at >= since
            and _is_in(ask, surface, channel, thread)
        ]
        return sorted(ended, key=lambda ask: ask.updated_at, reverse=True)[:limit]

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        """See `MessageQueries.find_by_message`."""
        for ask in self._tables().asks.values():
            is_candidate = ask.open and ask.destination.surface == surface
            if is_candidate and ask.message and ask.message.get("id") == message_id:
                return ask
        return None

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
        """See `Store.page`."""
        before, tables = rows.parse_descending_cursor("asks", after), self._tables()
        wanted = (status, surface, conversation, agent)

        def columns_of(ask: Ask) -> tuple[object, ...]:
            request = ask.request
            return ask.status, ask.destination.surface, request.conversation, request.agent

        found = (
            (n, ask)
            for n, ask in iter_newest_first(tables, before)
            if _matches(columns_of(ask), wanted)
        )
        return build_page("asks", found, limit)

    async def record(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        """See `Store.record`."""
        lines = (line for of, line in self._tables().record if of == ask_id and line.seq > after)
        return list(islice(lines, limit))

    async def add_entry(self, ask_id: str | None, entry: RecordEntry) -> None:
        """See `Store.add_entry`."""
        rows.entry_rows(ask_id, [entry])
        self._add_entries(self._tables(), [(ask_id, entry)])

    async def save_shown(self, ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
        """See `Store.save_shown`."""
        tables = self._tables()
        latest = tables.asks.get(ask_id)
        if latest is None:
            return None
        now = record_shown(
            latest,
            of or latest,
            revision=shown.revision,
            message=shown.message,
            thread=shown.thread,
            at=shown.at,
        )
        _validate(tables, Write(now))
        self._save(now)
        return now

    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        """See `MessageQueries.list_outdated`."""
        turns: dict[tuple[object, ...], Iterator[int]] = {}
        found = []
        asks = self._tables().asks.values()
        outdated = [
            ask
            for ask in asks
            if ask.shown_revision < ask.revision
            and self._is_free(ClaimKind.MESSAGE, ask.id, free_for)
        ]
        for ask in sorted(outdated, key=lambda ask: ask.updated_at):
            surface, channel, _ = rows.current_place(ask)
            turn = turns.setdefault((surface, channel, ask.message is None), count())
            found.append((next(turn), ask.updated_at, ask.id))
        return [ask_id for _, _, ask_id in sorted(found)[:limit]]

    async def next_due(self, after: float) -> float | None:
        """See `Store.next_due`."""
        return next((when for when, _ in self._due_asks() if when > after), None)

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question: str
    ) -> tuple[JsonValue] | None:
        """See `Store.get_remembered`."""
        found = self._tables().remembered.get((agent, conversation, turn, tool, question))
        return None if found is None else (rows.load(found[0].encode()),)

    async def draft(self, key: str) -> JsonValue:
        """See `Store.draft`."""
        found = self._tables().drafts.get(key)
        return None if found is None else rows.load(found[0].encode())

    async def save_draft(self, key: str, value: JsonValue, at: float) -> None:
        """See `Store.save_draft`."""
        drafts, text = self._tables().drafts, rows.dump([key, value])
        drafts.pop(key, None)
        if value is not None:
            text = rows.dump(value)
            drafts[key] = (text, at)

    async def next_delivery(self, after: float = 0.0) -> float | None:
        """See `Store.next_delivery`."""
        return next(
            (at for stored in self._first_pending() if (at := next_attempt_time(stored)) > after),
            None,
        )

    async def save_delivery_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        """See `Store.save_delivery_results`."""
        tables, written = self._tables(), holder is None
        for result in results:
            key = result.delivery.id
            if key in tables.deliveries and self._is_held_by(ClaimKind.DELIVERY, key, holder):
                tables.deliveries[key] = result
                tables.claims[ClaimKind.DELIVERY].pop(key, None)
                tables.late_answers.record_delivery(result)
                written = True
        if written:
            self._add_entries(tables, entries)

    async def delivery(self, delivery_id: str) -> StoredDelivery | None:
        """See `Store.delivery`."""
        return self._tables().deliveries.get(delivery_id)

    async def deliveries(
        self, *, state: DeliveryState | None, agent: str | None, after: str | None, limit: int
    ) -> Page[StoredDelivery]:
        """See `Store.deliveries`."""
        before, tables = rows.parse_descending_cursor("deliveries", after), self._tables()
        numbered = reversed(list(enumerate(tables.deliveries.values(), 1)))
        found = (
            (n, stored)
            for n, stored in numbered
            if n < before and _matches((stored.state, stored.delivery.agent), (state, agent))
        )
        return build_page("deliveries", found, limit)

    async def secret(self, name: str) -> bytes:
        """See `Store.secret`."""
        return self._tables().secrets.setdefault(name, secrets.token_bytes(32))

    async def prune(self, before: float) -> int:
        """See `Store.prune`."""
        tables = self._tables()
        old = [
            *((tables.seen, key) for key, (at, _) in tables.seen.items() if at < before),
            *(
                (tables.keys, key)
                for key, (_, ask_id, at) in tables.keys.items()
                if at < before and not tables.asks[ask_id].open
            ),
            *(
                (tables.remembered, key)
                for key, (_, at) in tables.remembered.items()
                if at < before
            ),
            *((tables.drafts, key) for key, (_, at) in tables.drafts.items() if at < before),
            *((tables.late_answers.rows, key) for key in tables.late_answers.forgettable(before)),
        ]
        for table, key in old:
            del table[key]  # type: ignore[attr-defined]  # each key is of its own table
        return len(old)

    async def counts(self) -> Mapping[str, int]:
        """See `Store.counts`."""
        tables = self._tables()
        found: dict[str, int] = dict.fromkeys([*Status, *DeliveryState], 0)
        for ask in tables.asks.values():
            found[ask.status] += 1
        for stored in tables.deliveries.values():
            found[stored.state] += 1
        return found

    @staticmethod
    def _add_entries(tables: Tables, entries: Iterable[tuple[str | None, RecordEntry]]) -> None:
        for ask_id, entry in entries:
            tables.record.append((ask_id, StoredEntry(tables.next_line(), entry)))

    def _add_related(self, tables: Tables, write: Write) -> None:
        self._add_entries(tables, [(write.ask.id, entry) for entry in write.entries])
        for delivery in write.deliveries:
            tables.deliveries[delivery.id] = rows.new_delivery(delivery)
        if write.owed:
            tables.late_answers.add(write.ask)
        if (memory := write.memory) is not None:
            key = (memory.agent, memory.conversation, memory.turn, memory.tool, memory.question)
            tables.remembered[key] = (rows.dump(memory.value), write.ask.updated_at)


def _validate(tables: Tables, write: Write) -> None:
    """Raise StoreError if something cannot be stored, before anything changes."""
    ids = [delivery.id for delivery in write.deliveries]
    if len(set(ids)) < len(ids) or not tables.deliveries.keys().isdisjoint(ids):
        raise StoreError("A delivery with this id is stored already.")
    ask, memory = write.ask, write.memory
    rows.dump_request(ask.request)
    rows.lookup_columns(ask)
    rows.dump_state(ask)
    rows.entry_rows(ask.id, write.entries)
    rows.dump(None if memory is None else memory.value)


def _matches(values: Iterable[object], wanted: Iterable[object]) -> bool:
    return all(want in {None, value} for value, want in zip(values, wanted, strict=True))


def _is_in(ask: Ask, surface: str, channel: str, thread: str | None) -> bool:
    """Whether an ask is in this thread (None: in this channel)."""
    place = rows.current_place(ask)
    return place[:2] == (surface, channel) and thread in {None, place[2]}
