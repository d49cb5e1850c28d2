"""Asks in memory, and asks by where they are shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from operator import itemgetter
from typing import Final, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, Status
from answerback.core.errors import StoreError
from answerback.ports.claims import ClaimKind, Fence
from answerback.ports.live_messages import MessageQueries
from answerback.ports.message_state import record_shown
from answerback.ports.receipts import StoredReceipt
from answerback.ports.store import AskStore, Decision, Write
from answerback.ports.store_values import (
    MINUTE,
    NO_LIMITS,
    AskLimits,
    Created,
    CreateResult,
    Existing,
    GrantGone,
    Idempotency,
    LimitReached,
    Page,
)
from answerback.ports.surface import Shown
from answerback_storage import cursors, rows
from answerback_storage.sql_database import Part
from tests.stores.memory import grants
from tests.stores.memory.database import MemoryDatabase, Tables
from tests.stores.memory.search import matches

T = TypeVar("T")

_LAST: Final = 2**63 - 1


class MemoryAsks(Part[MemoryDatabase], AskStore):
    """Asks in memory."""

    async def create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits = NO_LIMITS
    ) -> CreateResult:
        tables, ask = self._db.tables(), write.ask
        _validate(tables, write)
        if idempotency is not None and (existing := await self.find_created(idempotency)):
            return existing
        if (reached := _find_reached(tables.asks.values(), ask, limits)) is not None:
            return reached
        if write.grant is not None and not grants.store(tables, write.grant):
            return GrantGone()
        if idempotency is not None:
            key = (idempotency.agent, idempotency.key)
            tables.keys[key] = (idempotency.digest, ask.id, ask.created_at)
        self._db.save(ask, write.claim)
        tables.numbers[ask.id] = len(tables.numbers) + 1
        _add_related(tables, write)
        await asyncio.sleep(0)  # yield to other tasks, as writing to a disk would
        return Created(ask)

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        tables = self._db.tables()
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
        tables = self._db.tables()
        self._db.check_fence(fence)
        write, result = decide(tables.asks.get(ask_id))
        if delivery in tables.seen:
            rows.check_digest(tables.seen[delivery][1], digest)
            return result, True
        if write is not None:
            if write.ask.id != ask_id or ask_id not in tables.asks:
                raise AssertionError(f"a decision about {ask_id} stored {write.ask.id}")
            _validate(tables, write)
            self._db.save(write.ask, write.claim)
            _add_related(tables, write)
            if write.grant is not None:
                grants.store(tables, write.grant)
            if delivery is not None:
                tables.seen[delivery] = write.ask.updated_at, digest
        if then is not None:
            then(result)
        await asyncio.sleep(0)
        return result, False

    async def get(self, ask_id: str) -> Ask | None:
        rows.dump(ask_id)
        return self._db.tables().asks.get(ask_id)

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
        behind = cursors.parse_cursor("asks", after)

        def columns_of(ask: Ask) -> tuple[object, ...]:
            request = ask.request
            return ask.status, ask.destination.surface, request.conversation, request.agent

        found = (
            (n, ask)
            for n, ask in self._db.tables().iter_newest_first(behind)
            if matches(columns_of(ask), (status, surface, conversation, agent))
        )
        return cursors.page("asks", found, limit)

    async def save_shown(self, ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
        updated, _ = await self.change(ask_id, partial(record_shown, shown, of))
        return updated

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question: str
    ) -> tuple[JsonValue] | None:
        found = self._db.tables().remembered.get((agent, conversation, turn, tool, question))
        return None if found is None else (rows.load(found[0].encode()),)


class MemoryMessageQueries(Part[MemoryDatabase], MessageQueries):
    """Asks by where they are shown, in memory."""

    async def find_open(
        self, surface: str, channel: str, thread: str | None, limit: int, after: str | None = None
    ) -> Sequence[Ask]:
        tables = self._db.tables()
        before = _LAST if after is None else tables.numbers.get(after, 0)
        newest = (ask for _, ask in tables.iter_newest_first(before))
        here = (ask for ask in newest if ask.open and _is_in(ask, surface, channel, thread))
        return list(islice(here, limit))

    async def find_ended(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        ended = [
            ask
            for ask in self._db.tables().asks.values()
            if not ask.open
            and ask.erased_at is None
            and ask.updated_at >= since
            and _is_in(ask, surface, channel, thread)
        ]
        return sorted(ended, key=lambda ask: ask.updated_at, reverse=True)[:limit]

    async def find_moved(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        here = []
        for ask in self._db.tables().asks.values():
            key, until = rows.lookup_columns(ask)[-2:]
            if key == rows.left_channel_key(surface, channel) and until >= since:
                here += [] if ask.erased_at else [(until, ask)]
        here.sort(key=itemgetter(0), reverse=True)
        return [ask for _, ask in here if rows.was_in(ask, thread)][:limit]

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        for ask in self._db.tables().asks.values():
            is_candidate = ask.open and ask.destination.surface == surface
            if is_candidate and ask.message and ask.message.get("id") == message_id:
                return ask
        return None

    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        turns: dict[tuple[object, ...], Iterator[int]] = {}
        found = []
        asks = self._db.tables().asks.values()
        outdated = [
            ask
            for ask in asks
            if ask.shown_revision < ask.revision
            and self._db.is_free(ClaimKind.MESSAGE, ask.id, free_for)
        ]
        for ask in sorted(outdated, key=lambda ask: ask.updated_at):
            surface, channel, _ = rows.current_place(ask)
            turn = turns.setdefault((surface, channel, ask.message is None), count())
            found.append((next(turn), ask.updated_at, ask.id))
        return [ask_id for _, _, ask_id in sorted(found)[:limit]]


def _add_related(tables: Tables, write: Write) -> None:
    tables.add_lines([(write.ask.id, entry) for entry in write.entries])
    for delivery in write.deliveries:
        tables.deliveries[delivery.id] = rows.new_delivery(delivery)
    if write.owed:
        tables.late_answers.add(write.ask)
    if (new := write.receipt) is not None:
        tables.receipts[write.ask.id] = StoredReceipt(write.ask.id, *new, None, None)
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


def _find_reached(asks: Iterable[Ask], ask: Ask, limits: AskLimits) -> LimitReached | None:
    """Return the limit that keeps a new ask from being stored, or None."""
    own = [each for each in asks if each.request.agent == ask.request.agent]
    per_minute = limits.asks_per_minute
    if per_minute and len(own) >= per_minute:
        age = abs(ask.created_at - own[-per_minute].created_at)
        if age < MINUTE:
            return LimitReached("asks_per_minute", MINUTE - age)
    open_asks = [each for each in own if each.open] if ask.open else []
    if 0 < limits.open_asks <= len(open_asks):
        return LimitReached("open_asks")
    conversation = ask.request.conversation
    together = [each for each in open_asks if each.request.conversation == conversation]
    if conversation is not None and 0 < limits.open_asks_per_conversation <= len(together):
        return LimitReached("open_asks_per_conversation")
    return None


def _is_in(ask: Ask, surface: str, channel: str, thread: str | None) -> bool:
    """Whether an ask is in this thread (None: in this channel)."""
    place = rows.current_place(ask)
    return place[:2] == (surface, channel) and thread in {None, place[2]}
