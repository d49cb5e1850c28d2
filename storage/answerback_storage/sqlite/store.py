"""`SqliteStore`: asks in one SQLite file."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask, RecordEntry, Status
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
from answerback_storage import rows
from answerback_storage.sqlite import ask_limits, asks, outbox, record_lines
from answerback_storage.sqlite.change_batches import ChangeJob, insert_related
from answerback_storage.sqlite.claims import SqliteClaims
from answerback_storage.sqlite.erasure import SqliteErasure
from answerback_storage.sqlite.late_answers import SqliteLateAnswers
from answerback_storage.sqlite.search import SqliteSearch

T = TypeVar("T")

_PRUNE_STEP: Final = 1_000
"""Rows deleted in one transaction, so that no click waits for all of them."""


class SqliteStore(SqliteClaims, SqliteLateAnswers, SqliteErasure, SqliteSearch):
    """The protocol `answerback.ports.store.Store` on an SQLite file."""

    async def last_entry_time(self) -> float | None:
        """Return when the last line of the record was written, or None."""
        statement = "SELECT at FROM record ORDER BY seq DESC LIMIT 1"
        found = await self._read(lambda db: db.execute(statement).fetchone())
        return None if found is None else float(found[0])

    async def shift_schedule(self, seconds: float, at: float) -> None:
        """Reschedule after the clock was set back; see `answerback.ports.store.Store.shift_schedule`."""

        def run(db: sqlite3.Connection) -> None:
            inserted = db.execute(
                "INSERT OR IGNORE INTO seen (id, at) VALUES (?, ?)", (f"clock:{at!r}", at)
            )
            if inserted.rowcount:
                outbox.shift_schedule(db, seconds, at)
                asks.shift_schedule(db, self._requests, seconds, at)
                entry = RecordEntry(at=at, kind="note", body={"clock_set_back": round(seconds, 3)})
                record_lines.add(db, [(None, entry)])
                self._batch.forget()

        await self._write(run)

    async def create(
        self, write: Write, idempotency: Idempotency | None, limits: AskLimits = NO_LIMITS
    ) -> Created | Existing | LimitReached:
        """Store a new ask, or find the one that this idempotency key stored before."""

        def run(db: sqlite3.Connection) -> Created | Existing | LimitReached:
            # The ask may have been stored in this very transaction, so it must not be cached.
            if idempotency is not None and (
                existing := asks.find_created(db, rows.RequestCache(), idempotency)
            ):
                return existing
            if (reached := ask_limits.find_reached(db, write.ask, limits)) is not None:
                return reached
            if idempotency is not None:
                asks.insert_idempotency_key(db, idempotency, write.ask)
            asks.insert(db, write.ask, write.claim)
            insert_related(db, write)
            return Created(write.ask)

        began = time.perf_counter()
        try:
            return await self._write(run)
        finally:
            self._timed(time.perf_counter() - began)

    async def find_created(self, idempotency: Idempotency) -> Existing | None:
        """Return what this idempotency key stored before, or None."""
        return await self._read(lambda db: asks.find_created(db, self._requests, idempotency))

    async def get(self, ask_id: str) -> Ask | None:
        """Return an ask, or None."""
        return await self._read(lambda db: asks.load(db, self._requests, ask_id))

    async def find_open(
        self, surface: str, channel: str, thread: str | None, limit: int, after: str | None = None
    ) -> Sequence[Ask]:
        """Return the open asks in this thread (None: in this channel), newest first, older than the ask ``after``."""
        place = (surface, channel, thread)
        return await self._read(
            lambda db: asks.find_open(db, self._requests, place, (limit, after))
        )

    async def find_ended(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        """Return the asks in this thread (None: in this channel) that ended since a time, latest end first."""
        place = (surface, channel, thread)
        return await self._read(lambda db: asks.find_ended(db, self._requests, place, since, limit))

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        """Return the open ask whose live message has this ``id``, or None."""
        return await self._read(
            lambda db: asks.find_by_message(db, self._requests, (surface, message_id))
        )

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
        return await self._read(lambda db: asks.page(db, self._requests, filters, behind, limit))

    async def record(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        """Return the entries of an ask after a line number, oldest first."""
        return await self._read(lambda db: record_lines.read(db, ask_id, after, limit))

    async def add_entry(self, ask_id: str | None, entry: RecordEntry) -> None:
        """Append an entry to the record that does not come with a change of an ask."""
        await self._write(lambda db: record_lines.add(db, [(ask_id, entry)]))

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

        updated, _ = await self._write(ChangeJob(self._batch, ask_id, decide, None))
        return updated

    async def list_outdated(self, limit: int, free_for: str | None = None) -> Sequence[str]:
        """See `answerback.ports.live_messages.MessageQueries.list_outdated`."""
        return await self._read(lambda db: asks.list_outdated(db, limit, free_for))

    async def next_due(self, after: float) -> float | None:
        """Return when, later than ``after``, a timer is due next, or None."""
        return await self._read(lambda db: asks.next_due(db, after))

    async def get_remembered(
        self, agent: str, conversation: str, turn: str, tool: str, question: str
    ) -> tuple[JsonValue] | None:
        """Return the remembered answer in a tuple of one, or None."""
        key = (agent, conversation, turn, tool, question)
        found = await self._read(
            lambda db: db.execute(
                "SELECT CAST(value AS BLOB) FROM remembered"
                " WHERE agent = ? AND conversation = ? AND turn = ? AND tool = ? AND question_id = ?",
                key,
            ).fetchone()
        )
        return None if found is None else rows.read_value(found[0], "remembered")

    async def draft(self, key: str) -> JsonValue:
        """Return a draft, or None."""
        found = await self._read(
            lambda db: db.execute(
                "SELECT CAST(value AS BLOB) FROM drafts WHERE key = ?", (key,)
            ).fetchone()
        )
        stored_draft = None if found is None else rows.read_value(found[0], "drafts")
        return None if stored_draft is None else stored_draft[0]

    async def save_draft(self, key: str, value: JsonValue, at: float) -> None:
        """Store a draft; None deletes it."""

        def run(db: sqlite3.Connection) -> None:
            if value is None:
                db.execute("DELETE FROM drafts WHERE key = ?", (key,))
            else:
                values = (key, rows.dump(value), at)
                db.execute(
                    "INSERT OR REPLACE INTO drafts (key, value, at) VALUES (?, ?, ?)", values
                )

        await self._write(run)

    async def next_delivery(self, after: float = 0.0) -> float | None:
        """Return when, later than ``after``, the next pending delivery is due, or None."""
        return await self._read(lambda db: outbox.next_due(db, after))

    async def save_delivery_results(
        self,
        results: Sequence[StoredDelivery],
        entries: Sequence[tuple[str, RecordEntry]],
        holder: str | None = None,
    ) -> None:
        """Store the results of deliveries, which ends their claims, and the entries about the attempts."""

        def run(db: sqlite3.Connection) -> None:
            if outbox.save_results(db, results, holder) or holder is None:
                record_lines.add(db, entries)

        await self._write(run)

    async def delivery(self, delivery_id: str) -> StoredDelivery | None:
        """Return one delivery, or None."""
        return await self._read(lambda db: outbox.get(db, delivery_id))

    async def deliveries(
        self, *, state: DeliveryState | None, agent: str | None, after: str | None, limit: int
    ) -> Page[StoredDelivery]:
        """Return a page of deliveries, newest first. Raises ValueError if ``after`` is not the cursor of a page."""
        filters = {"state": state and state.value, "agent": agent}
        behind = rows.parse_descending_cursor("deliveries", after)
        logged = self._requests.logged_rows
        return await self._read(lambda db: outbox.page(db, logged, filters, (behind, limit)))

    async def secret(self, name: str) -> bytes:
        """Return 32 random bytes for this name, created once and stored."""

        def run(db: sqlite3.Connection) -> bytes:
            new = (name, secrets.token_bytes(32))
            db.execute("INSERT OR IGNORE INTO secrets (name, value) VALUES (?, ?)", new)
            value: bytes
            (value,) = db.execute("SELECT value FROM secrets WHERE name = ?", (name,)).fetchone()
            return value

        return await self._write(run)

    async def prune(self, before: float) -> int:
        """Delete older delivery ids, idempotency keys, remembered answers and drafts, and return how many."""
        deleted = sum([await self._prune_table(pruned_table, before) for pruned_table in _PRUNED])
        return deleted + await self._prune_seen(before)

    async def prune_audit(self, before: float) -> int:
        """Delete older lines of the record that belong to no ask, and return how many."""
        return await self._prune_table(("record", "seq", "AND ask_id IS NULL"), before)

    async def _prune_table(self, pruned_table: tuple[str, str, str], before: float) -> int:
        table, key, condition = pruned_table
        statement = f"""DELETE FROM {table} WHERE ({key}) IN
            (SELECT {key} FROM {table} WHERE at < ? {condition} ORDER BY at LIMIT {_PRUNE_STEP})"""
        deleted, step = 0, _PRUNE_STEP
        while step == _PRUNE_STEP:
            step = await self._write(_execute(statement, before))
            deleted += step
        return deleted

    async def _prune_seen(self, before: float) -> int:
        """Delete old delivery ids. This scans all of them in key order, because no index says which are old."""
        deleted, last = 0, ""
        while found := await self._read(partial(_seen_after, last)):
            if old := [key for key, at in found if at < before]:
                deleted += await self._write(_execute(_DELETE_SEEN, rows.dump([*old])))
            last = found[-1][0]
        return deleted

    async def counts(self) -> Mapping[str, int]:
        """Return the number of asks by status and of deliveries by state, from counters. Every name is present."""
        return dict(
            await self._read(lambda db: db.execute("SELECT name, n FROM counters").fetchall())
        )


_DELETE_SEEN: Final = "DELETE FROM seen WHERE id IN (SELECT value FROM json_each(?))"
_PRUNED: Final = (
    # The key of an open ask is kept: a late retry must not ask people a second time.
    (
        "idempotency",
        "agent, key",
        "AND NOT EXISTS (SELECT 1 FROM asks WHERE id = ask_id AND status = 'open')",
    ),
    ("remembered", "agent, conversation, turn, tool, question_id", ""),
    ("drafts", "key", ""),
    # Outcomes that an agent has not seen are kept.
    ("owed", "seq", "AND told > 0"),
)
"""What is pruned: the table, its key, and a further condition for its old rows."""


def _seen_after(last: str, db: sqlite3.Connection) -> list[tuple[str, float]]:
    statement = "SELECT id, at FROM seen WHERE id > ? ORDER BY id LIMIT ?"
    return db.execute(statement, (last, _PRUNE_STEP)).fetchall()


def _execute(statement: str, *values: float | str) -> Callable[[sqlite3.Connection], int]:
    return lambda db: db.execute(statement, values).rowcount
