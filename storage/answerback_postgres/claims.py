"""The claims by which processes share their work, in PostgreSQL; see `answerback.ports.claims`. All times are the
database's.

One statement finds work and claims it, skipping what another process is claiming at the same moment (``SKIP LOCKED``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.claims import (
    MIN_REMAINING_FRACTION,
    Claim,
    Leases,
    RateLimits,
    RemoteChanges,
)
from answerback_postgres import asks
from answerback_postgres.coalesced_reads import CoalescedReads
from answerback_postgres.database import PostgresDatabase
from answerback_postgres.listen_notify import ChangeNotifier
from answerback_postgres.sql import Parameters, now_plus, unclaimed
from answerback_storage.claims import SqlClaims
from answerback_storage.rows import Row
from answerback_storage.sql_database import Part

_TAKE_MESSAGE: Final = f"""UPDATE asks SET show_holder = $2, show_until = {now_plus("$3")}
    WHERE id = $1 AND shown_revision < revision AND ({unclaimed("show_holder", "show_until")} OR show_holder = $2)
    RETURNING {asks.LOAD_COLUMNS}"""
_DUE: Final = f"""WITH found AS (
        SELECT id, due, due_holder = $1 AND due_until >= {now_plus(f"$2 * {MIN_REMAINING_FRACTION}")} AS held FROM asks
        WHERE due <= $3 AND ({unclaimed("due_holder", "due_until")} OR due_holder = $1)
        ORDER BY due LIMIT $4 FOR UPDATE SKIP LOCKED
    ), taken AS (
        UPDATE asks SET due_holder = $1, due_until = {now_plus("$2")}
        FROM found WHERE asks.id = found.id AND found.held IS NOT TRUE
    ) SELECT id FROM found ORDER BY due"""
_LEASE: Final = f"""INSERT INTO leases AS held (name, holder, epoch, until) VALUES ($1, $2, 1, {now_plus("$3")})
    ON CONFLICT (name) DO UPDATE SET holder = $2, until = {now_plus("$3")},
        epoch = held.epoch + CASE WHEN held.holder <> $2 OR held.until <= clock_timestamp() THEN 1 ELSE 0 END
    WHERE held.until <= clock_timestamp() OR held.holder = $2 RETURNING epoch"""
_END_LEASE: Final = "UPDATE leases SET until = clock_timestamp() WHERE name = $1 AND holder = $2"
_PAUSE_BUCKET: Final = f"""INSERT INTO buckets AS held (bucket, not_before) VALUES ($1, {now_plus("$2")})
    ON CONFLICT (bucket) DO UPDATE SET not_before = greatest(held.not_before, excluded.not_before)"""
_PAUSED_BUCKETS: Final = """SELECT bucket, extract(epoch FROM not_before - clock_timestamp())::float8 FROM buckets
    WHERE bucket IN ({names}) AND not_before > clock_timestamp()"""
_MESSAGES: Final = f"""SELECT {asks.LOAD_COLUMNS}, show_holder,
        extract(epoch FROM show_until - clock_timestamp())::float8
    FROM asks WHERE id IN ({{names}})"""
_REVISIONS: Final = "SELECT id, revision FROM asks WHERE id IN ({names})"


async def _read_named(db: PostgresDatabase, statement: str, names: Collection[str]) -> list[Row]:
    """Run a statement about the items with these names."""
    params = Parameters()
    names_query = f"SELECT c0 FROM {params.table([(name,) for name in names], ('text',))}"
    return await db.connections.read(statement.format(names=names_query), params.values)


class PostgresClaims(SqlClaims[PostgresDatabase]):
    _release_messages = """UPDATE asks SET show_holder = NULL
        WHERE seq IN (SELECT seq FROM behind) AND show_holder = $1"""

    def __init__(self, db: PostgresDatabase) -> None:
        super().__init__(db)

        async def read(ask_ids: Sequence[str]) -> Mapping[str, Row]:
            return {row[1]: row for row in await _read_named(db, _MESSAGES, ask_ids)}

        # A burst of clicks wants to show many asks at once: one query reads them.
        self._messages = CoalescedReads(read)
        """The columns of asks by id, with the holder of the message's claim and its remaining seconds."""

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        found = await self._db.run(lambda: self._messages.get(ask_id))
        if found is None:
            return None
        *row, holder, seconds_left = found
        ask = asks.parse_row(self._db.requests, tuple(row)).ask
        # The seconds are the database's: replicas' clocks may differ.
        held = holder is not None and seconds_left > 0
        if ask.placement.shown_revision >= ask.revision:
            return ask
        if held and holder != claim.holder:
            return None
        if held and seconds_left >= MIN_REMAINING_FRACTION * claim.seconds:
            return ask
        # Another process may have been faster since the read, so the statement checks everything again.
        taken = await self._db.execute(_TAKE_MESSAGE, ask_id, claim.holder, claim.seconds)
        return asks.parse_row(self._db.requests, taken[0]).ask if taken else None

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        found = await self._db.execute(_DUE, claim.holder, claim.seconds, now, limit)
        return [ask_id for (ask_id,) in found]


class PostgresLeases(Part[PostgresDatabase], Leases):
    async def take(self, name: str, claim: Claim) -> int | None:
        found = await self._db.execute(_LEASE, name, claim.holder, claim.seconds)
        return found[0][0] if found else None

    async def release(self, name: str, holder: str) -> None:
        await self._db.execute(_END_LEASE, name, holder)


class PostgresRateLimits(Part[PostgresDatabase], RateLimits):
    def __init__(self, db: PostgresDatabase) -> None:
        super().__init__(db)

        async def read(buckets: Sequence[str]) -> Mapping[str, float]:
            return dict(await _read_named(db, _PAUSED_BUCKETS, buckets))

        self._buckets = CoalescedReads(read)
        """The seconds for which buckets must be left alone."""

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        await self._db.execute(_PAUSE_BUCKET, bucket, seconds)

    async def get_retry_after(self, bucket: str) -> float:
        return await self._db.run(lambda: self._buckets.get(bucket)) or 0.0


class PostgresRemoteChanges(Part[PostgresDatabase], RemoteChanges):
    def __init__(self, db: PostgresDatabase, notifier: ChangeNotifier) -> None:
        super().__init__(db)
        self._notifier = notifier

    def listen(self, callback: Callable[[str | None], None]) -> None:
        self._notifier.listen(callback)

    def announce(self, name: str) -> None:
        self._notifier.notify([name])

    async def revisions(self, ask_ids: Collection[str]) -> Mapping[str, int]:
        if not ask_ids:
            return {}
        return dict(await self._db.run(lambda: _read_named(self._db, _REVISIONS, ask_ids)))

    async def time(self) -> float:
        found = await self._db.fetch("SELECT extract(epoch FROM clock_timestamp())::float8")
        now: float = found[0][0]
        return now
