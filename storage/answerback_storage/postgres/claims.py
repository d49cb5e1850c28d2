"""Claims and leases in PostgreSQL; see `answerback.ports.claims.Claims`. All times come from the database's clock.

One statement finds work and claims it, skipping what another process is claiming at the same moment (``SKIP LOCKED``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeVar

from answerback.core.ask import Ask
from answerback.ports.claims import MIN_REMAINING_FRACTION, Claim, ClaimKind
from answerback.ports.store_values import StoredDelivery
from answerback_storage.postgres import asks
from answerback_storage.postgres.coalesced_reads import CoalescedReads
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters, now_plus, unclaimed
from answerback_storage.rows import Row

T = TypeVar("T")

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
_RELEASE: Final = {
    ClaimKind.MESSAGE: "UPDATE asks SET show_holder = NULL WHERE seq IN (SELECT seq FROM behind) AND show_holder = $1",
    ClaimKind.TIMER: "UPDATE asks SET due_holder = NULL WHERE due_holder = $1",
    ClaimKind.DELIVERY: "UPDATE deliveries SET holder = NULL WHERE state = 'pending' AND holder = $1",
}
_LEASE: Final = f"""INSERT INTO leases AS held (name, holder, epoch, until) VALUES ($1, $2, 1, {now_plus("$3")})
    ON CONFLICT (name) DO UPDATE SET holder = $2, until = {now_plus("$3")},
        epoch = held.epoch + CASE WHEN held.holder <> $2 OR held.until <= clock_timestamp() THEN 1 ELSE 0 END
    WHERE held.until <= clock_timestamp() OR held.holder = $2 RETURNING epoch"""
_PAUSE_BUCKET: Final = f"""INSERT INTO buckets AS held (bucket, not_before) VALUES ($1, {now_plus("$2")})
    ON CONFLICT (bucket) DO UPDATE SET not_before = greatest(held.not_before, excluded.not_before)"""
_PAUSED_BUCKETS: Final = """SELECT bucket, extract(epoch FROM not_before - clock_timestamp())::float8 FROM buckets
    WHERE bucket IN ({names}) AND not_before > clock_timestamp()"""
_MESSAGES: Final = f"""SELECT {asks.LOAD_COLUMNS}, show_holder,
        extract(epoch FROM show_until - clock_timestamp())::float8
    FROM asks WHERE id IN ({{names}})"""
_REVISIONS: Final = "SELECT id, revision FROM asks WHERE id IN ({names})"


class PostgresClaims(PostgresDatabase):
    """The claims of `answerback.ports.store.Store`."""

    @cached_property
    def _messages(self) -> CoalescedReads[str, Row]:
        """The columns of asks by id, with the holder of the message's claim and its remaining seconds."""

        async def read(ask_ids: Sequence[str]) -> Mapping[str, Row]:
            return {row[1]: row for row in await self._read_named(_MESSAGES, ask_ids)}

        return CoalescedReads(read)

    @cached_property
    def _buckets(self) -> CoalescedReads[str, float]:
        """The seconds for which buckets must be left alone."""

        async def read(buckets: Sequence[str]) -> Mapping[str, float]:
            return dict(await self._read_named(_PAUSED_BUCKETS, buckets))

        return CoalescedReads(read)

    async def _read_named(self, statement: str, names: Collection[str]) -> list[Row]:
        """Run a statement about the items with these names."""
        params = Parameters()
        wanted = params.rows([(name,) for name in names], ("text",))
        names_query = f"SELECT c0 FROM ({wanted}) AS wanted (c0, n)"
        return await self._database.read(statement.format(names=names_query), params.values)

    async def claim_message(self, ask_id: str, claim: Claim) -> Ask | None:
        """Claim the message of an ask. Return the ask, or None if it does not exist or another holds its message."""
        found = await self._run(lambda: self._messages.get(ask_id))
        if found is None:
            return None
        *row, holder, seconds_left = found
        ask = asks.parse_row(self._requests, tuple(row)).ask
        held = holder is not None and seconds_left > 0
        if ask.shown_revision >= ask.revision:
            return ask
        if held and holder != claim.holder:
            return None
        if held and seconds_left >= MIN_REMAINING_FRACTION * claim.seconds:
            return ask
        taken = await self._write(_TAKE_MESSAGE, ask_id, claim.holder, claim.seconds)
        return asks.parse_row(self._requests, taken[0]).ask if taken else None

    async def claim_due(self, claim: Claim, now: float, limit: int) -> Sequence[str]:
        """Claim the timers of due asks, and return the asks' ids, earliest first."""
        found = await self._write(_DUE, claim.holder, claim.seconds, now, limit)
        return [name for (name,) in found]

    async def claim_deliveries(
        self, claim: Claim, now: float, limit: int
    ) -> Sequence[StoredDelivery]:
        """Claim due pending deliveries that nobody holds, and return them, oldest first."""
        return await self._run(lambda: self._outbox.claim(claim, now, limit))

    async def renew_delivery(self, delivery_id: str, claim: Claim) -> bool:
        """Renew a claim. Return False if this holder does not have the delivery."""
        renewed = await self._write(
            f"""UPDATE deliveries SET claimed_until = {now_plus("$3")}
                WHERE id = $1 AND holder = $2 AND state = 'pending' RETURNING 1""",
            *(delivery_id, claim.holder, claim.seconds),
        )
        return bool(renewed)

    async def release(self, work: ClaimKind, holder: str) -> None:
        """Release everything of a kind that the holder has claimed."""
        await self._write(_RELEASE[work], holder)

    async def lease(self, name: str, claim: Claim) -> int | None:
        """Take or renew the lease of this name. Return its epoch, or None while another holder has it."""
        found = await self._write(_LEASE, name, claim.holder, claim.seconds)
        return found[0][0] if found else None

    async def release_lease(self, name: str, holder: str) -> None:
        """End a lease, if this holder has it."""
        await self._write(
            "UPDATE leases SET until = clock_timestamp() WHERE name = $1 AND holder = $2",
            *(name, holder),
        )

    async def time(self) -> float:
        """Return the time of the database's clock."""
        found = await self._read("SELECT extract(epoch FROM clock_timestamp())::float8")
        now: float = found[0][0]
        return now

    async def set_retry_after(self, bucket: str, seconds: float) -> None:
        """Send nothing to this rate-limit bucket for at least the given number of seconds."""
        await self._write(_PAUSE_BUCKET, bucket, seconds)

    async def get_retry_after(self, bucket: str) -> float:
        """Return the seconds for which a bucket must still be left alone, or 0."""
        return await self._run(lambda: self._buckets.get(bucket)) or 0.0

    async def revisions(self, ask_ids: Collection[str]) -> Mapping[str, int]:
        """Return the revisions of asks, read together; asks that do not exist are left out."""
        if not ask_ids:
            return {}
        return dict(await self._run(lambda: self._read_named(_REVISIONS, ask_ids)))
