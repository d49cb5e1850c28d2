"""`MemoryStore`: asks in memory, for tests. It is the model that the contract of stores is checked against."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from pydantic import JsonValue

from answerback.core.ask import RecordEntry, Status
from answerback.core.grants import GrantEnd
from answerback.core.people import AccountLink
from answerback.ports.late_answers import (
    LateAnswer,
    LateAnswerQuery,
    LateAnswerStore,
    SeenState,
)
from answerback.ports.message_state import keep_intervals
from answerback.ports.push import PushSubscription, PushSubscriptions
from answerback.ports.store import AccountLinkStore, Drafts, Maintenance, Record, Store
from answerback.ports.store_values import ChangedAsks, DeliveryState, StoredEntry
from answerback_storage import cursors, rows
from answerback_storage.record import LATEST_TIME
from answerback_storage.sql_database import Part
from tests.stores.memory import grants
from tests.stores.memory.agent_tokens import MemoryAgentTokens
from tests.stores.memory.asks import MemoryAsks, MemoryMessageQueries
from tests.stores.memory.claims import (
    MemoryClaims,
    MemoryLeases,
    MemoryRemoteChanges,
)
from tests.stores.memory.database import MemoryDatabase, Tables
from tests.stores.memory.erasure import MemoryErasure
from tests.stores.memory.grants import MemoryGrants
from tests.stores.memory.outbox import MemoryOutbox
from tests.stores.memory.receipts import MemoryReceipts
from tests.stores.memory.search import MemorySearch


class MemoryStore(Store):
    """A store in memory.

    Args:
        tables: what is stored, perhaps shared with other stores.
    """

    def __init__(self, tables: Tables | None = None) -> None:
        self.database = db = MemoryDatabase(Tables() if tables is None else tables)
        self.asks = MemoryAsks(db)
        self.messages = MemoryMessageQueries(db)
        self.search = MemorySearch(db)
        self.record = MemoryRecord(db)
        self.receipts = MemoryReceipts(db)
        self.grants = MemoryGrants(db)
        self.late_answers = MemoryLateAnswers(db)
        self.outbox = MemoryOutbox(db)
        self.claims = MemoryClaims(db)
        self.leases = MemoryLeases(db)
        self.rate_limits = db.shared_tables.rate_limit_pauses
        self.changes = MemoryRemoteChanges(db)
        self.drafts = MemoryDrafts(db)
        self.push = MemoryPushSubscriptions(db)
        self.agent_tokens = MemoryAgentTokens(db)
        self.links = MemoryAccountLinks(db)
        self.erasure = MemoryErasure(db)
        self.maintenance = MemoryMaintenance(db)

    async def open(self) -> None:
        self.database.is_open = True

    async def close(self) -> None:
        self.database.close()

    async def check(self) -> None:
        self.database.tables()

    async def secret(self, name: str) -> bytes:
        return self.database.tables().secrets.setdefault(name, secrets.token_bytes(32))

    async def counts(self) -> Mapping[str, int]:
        tables = self.database.tables()
        found: dict[str, int] = dict.fromkeys([*Status, *DeliveryState], 0)
        for ask in tables.asks.values():
            found[ask.status] += 1
        for stored in tables.deliveries.values():
            found[stored.state] += not stored.delivery.is_push
        return found

    async def oldest_open(self) -> Mapping[str, float]:
        oldest: dict[str, float] = {}
        for ask in self.database.tables().asks.values():
            if ask.open:
                route, began = ask.request.route or "", ask.created_at - ask.set_back
                oldest[route] = min(oldest.get(route, began), began)
        return oldest


class MemoryRecord(Part[MemoryDatabase], Record):
    """The record in memory."""

    async def read(self, ask_id: str, after: int = 0, limit: int = 1000) -> Sequence[StoredEntry]:
        record = self._db.tables().record
        return list(
            islice((line for of, line in record if of == ask_id and line.seq > after), limit)
        )

    async def list_changed(self, after: str, limit: int) -> ChangedAsks:
        _, last = cursors.parse_change_cursor(after)
        record = self._db.tables().record
        lines = [(0, line.seq, ask_id) for ask_id, line in record if ask_id is not None]
        if last and all(seq != last for _, seq, _ in lines):
            raise ValueError(cursors.unknown_cursor(after))
        newer = [line for line in lines if line[1] > last]
        return cursors.changed_asks(newer[:limit], after, limit)

    async def add(self, ask_id: str | None, entry: RecordEntry) -> None:
        rows.entry_rows(ask_id, [entry])
        self._db.tables().add_lines([(ask_id, entry)])

    async def last_time(self) -> float | None:
        tables = self._db.tables()
        times = [line.entry.at for _, line in tables.record[-1:]]
        times += [at for key, (at, _) in tables.seen.items() if key == LATEST_TIME]
        return max(times, default=None)


class MemoryLateAnswers(Part[MemoryDatabase], LateAnswerStore):
    """Late answers in memory."""

    async def list_owed(self, query: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        tables = self._db.tables()
        return tables.late_answers.list_owed(query, tables.asks, at)

    async def set_seen_state(
        self, ask_ids: Collection[str], state: SeenState, at: float
    ) -> Sequence[str]:
        return self._db.tables().late_answers.update_state(ask_ids, state, at)

    async def get_seen_state(self, ask_id: str) -> SeenState:
        row = self._db.tables().late_answers.rows.get(ask_id)
        return SeenState.SEEN if row is None else row.state


class MemoryDrafts(Part[MemoryDatabase], Drafts):
    """Drafts in memory."""

    async def get(self, key: str) -> JsonValue:
        found = self._db.tables().drafts.get(key)
        return None if found is None else rows.load(found[0].encode())

    async def change(
        self, key: str, change: Callable[[JsonValue], JsonValue], at: float
    ) -> JsonValue:
        changed = change(await self.get(key))
        await self.save(key, changed, at)
        return changed

    async def save(self, key: str, value: JsonValue, at: float) -> None:
        drafts, _ = self._db.tables().drafts, rows.dump([key, value])
        drafts.pop(key, None)
        if value is not None:
            drafts[key] = (rows.dump(value), at)


class MemoryPushSubscriptions(Part[MemoryDatabase], PushSubscriptions):
    """Push subscriptions in memory."""

    async def save(self, new: PushSubscription) -> None:
        self._db.tables().push_subscriptions[new.id] = new

    async def list(self) -> Sequence[PushSubscription]:
        found = self._db.tables().push_subscriptions.values()
        return sorted(found, key=lambda each: (each.at, each.id))

    async def remove(self, subscription_id: str) -> None:
        self._db.tables().push_subscriptions.pop(subscription_id, None)


class MemoryAccountLinks(Part[MemoryDatabase], AccountLinkStore):
    """Linked accounts in memory."""

    async def save(self, link: AccountLink) -> bool:
        stored = self._db.tables().account_links
        old = stored.get(link.id)
        is_next = (0 if old is None else old.revision) == link.revision - 1
        if is_next:
            stored[link.id] = link
        return is_next

    async def list(self) -> Sequence[AccountLink]:
        return [link for _, link in sorted(self._db.tables().account_links.items())]


class MemoryMaintenance(Part[MemoryDatabase], Maintenance):
    """Maintenance in memory."""

    async def prune(self, before: float) -> int:
        tables = self._db.tables()
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
            *((tables.grants, key) for key, grant in tables.grants.items() if grant.at < before),
            *((tables.sign_ins, key) for key, each in tables.sign_ins.items() if each.at < before),
            *(
                (tables.agent_tokens, key)
                for key, each in tables.agent_tokens.items()
                if each.until < before
            ),
            *((tables.late_answers.rows, key) for key in tables.late_answers.forgettable(before)),
        ]
        for table, key in old:
            del table[key]  # type: ignore[attr-defined]  # each key is of its own table
        return len(old)

    async def prune_audit(self, before: float) -> int:
        record = self._db.tables().record
        kept = [line for line in record if line[0] is not None or line[1].entry.at >= before]
        forgotten = len(record) - len(kept)
        record[:] = kept
        return forgotten

    async def prune_deliveries(self, before: float) -> int:
        deliveries = self._db.tables().deliveries
        settled = (DeliveryState.DELIVERED, DeliveryState.DEAD)
        old = [
            key
            for key, stored in deliveries.items()
            if stored.state in settled and stored.updated_at < before
        ]
        for key in old:
            del deliveries[key]
        return len(old)

    async def note_time(self, at: float) -> None:
        tables = self._db.tables()
        latest, _ = tables.seen.get(LATEST_TIME, (0.0, ""))
        if at > latest and any(
            grant.ended_at is None and grant.used < grant.uses and grant.until > latest
            for grant in tables.grants.values()
        ):
            tables.seen[LATEST_TIME] = at, ""

    async def shift_schedule(self, seconds: float, at: float) -> None:
        tables, name = self._db.tables(), f"clock:{at!r}"
        for grant in list(tables.grants.values()):
            grants.store(tables, GrantEnd(grant.id, at))
        if LATEST_TIME in tables.seen:
            tables.seen[LATEST_TIME] = at, ""
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
                self._db.save(keep_intervals(ask, seconds))
        tables.sign_ins.clear()
        for key, token in tables.agent_tokens.items():
            tables.agent_tokens[key] = replace(token, until=token.until - seconds)
        entry = RecordEntry(at=at, kind="note", body={"clock_set_back": round(seconds, 3)})
        tables.add_lines([(None, entry)])
