"""Erase what was written in ended asks, in the in-memory store; see `answerback.ports.store.Erasure`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from answerback.core.ask import Ask
from answerback.core.erasure import erase_ask, erase_entry
from answerback.ports.claims import ClaimKind
from answerback.ports.store import Erasure
from answerback.ports.store_values import DeliveryState, StoredEntry, push_queue
from answerback_storage import rows
from answerback_storage.sql_database import Part
from tests.stores.memory import grants
from tests.stores.memory.database import MemoryDatabase, Tables


class MemoryErasure(Part[MemoryDatabase], Erasure):
    """Erasure in memory."""

    async def erase(self, ask_id: str, at: float, opaque: Collection[str]) -> Ask | None:
        rows.dump(ask_id)
        tables = self._db.tables()
        old = tables.asks.get(ask_id)
        if old is None or old.open or old.erased_at is not None:
            return old
        new = erase_ask(old, at, opaque)
        self._db.save(new)
        _forget(tables, old)
        for key, stored in [*tables.deliveries.items()]:
            if stored.delivery.ask_id.startswith(push_queue(ask_id, "")):
                del tables.deliveries[key]
            elif stored.delivery.ask_id == ask_id:
                body, url, state, next_at, error, updated_at = rows.erased_delivery_columns(at)
                tables.deliveries[key] = replace(
                    stored,
                    delivery=replace(stored.delivery, body=body, url=url),
                    state=DeliveryState(state),
                    next_at=next_at,
                    last_error=error,
                    updated_at=updated_at,
                )
                tables.claims[ClaimKind.DELIVERY].pop(key, None)
        for number, (of, line) in enumerate(tables.record):
            if of == ask_id:
                erased = StoredEntry(line.seq, erase_entry(line.entry, opaque))
                tables.record[number] = (of, erased)
        tables.add_lines([(ask_id, rows.erasure_entry(at))])
        return new

    async def scrub(self) -> None:
        """Do nothing: there are no files."""

    async def list_erasable(self, before: float, limit: int) -> Sequence[str]:
        asks = self._db.tables().asks.values()
        old = [a for a in asks if not a.open and a.erased_at is None and a.updated_at < before]
        return [ask.id for ask in sorted(old, key=lambda ask: ask.updated_at)[:limit]]


def _forget(tables: Tables, ask: Ask) -> None:
    for key in [key for key, (_, ask_id, _) in tables.keys.items() if ask_id == ask.id]:
        del tables.keys[key]
    for draft in [key for key in tables.drafts if f":{ask.id}:" in f":{key}:"]:
        del tables.drafts[draft]
    tables.drafts.pop(ask.request.join or "", None)
    for names in rows.memory_keys(ask.request):
        tables.remembered.pop(names, None)
    tables.late_answers.rows.pop(ask.id, None)
    grants.forget(tables, ask.id)
    if (receipt := tables.receipts.get(ask.id)) is not None:
        tables.receipts[ask.id] = receipt._replace(beside=None)
