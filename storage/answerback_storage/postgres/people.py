"""What belongs to people, in a PostgreSQL database: notified browsers, sign-ins, and tokens of agents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Final

from answerback.ports.agent_tokens import (
    EXPIRED_FOR,
    AgentToken,
    AgentTokenStore,
    Redeemed,
    SignIn,
)
from answerback.ports.push import PushSubscription, PushSubscriptions
from answerback_storage import person_rows
from answerback_storage.base_store import Part
from answerback_storage.postgres.connections import Connection
from answerback_storage.postgres.database import PostgresDatabase

PUSH_STATEMENTS: Final = (
    """CREATE TABLE push_subscriptions (
        id text COLLATE "C" PRIMARY KEY, value text NOT NULL, at double precision NOT NULL)""",
    # Pushes are sent as webhooks are, but are none: they are not counted.
    "DROP TRIGGER deliveries_counted ON deliveries",
    """CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries FOR EACH ROW
        WHEN (NEW.type NOT LIKE 'push.%') EXECUTE FUNCTION count_deliveries()""",
    "DROP TRIGGER deliveries_recounted ON deliveries",
    """CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON deliveries FOR EACH ROW
        WHEN (OLD.state <> NEW.state AND NEW.type NOT LIKE 'push.%') EXECUTE FUNCTION count_deliveries()""",
)
TABLES: Final = (
    """CREATE TABLE sign_ins (
        id text COLLATE "C" PRIMARY KEY,
        device_hash text COLLATE "C" NOT NULL UNIQUE,
        user_hash text COLLATE "C" NOT NULL UNIQUE,
        address text COLLATE "C" NOT NULL,
        at double precision NOT NULL,
        until double precision NOT NULL,
        value text NOT NULL)""",
    """CREATE TABLE agent_tokens (
        token_hash text COLLATE "C" PRIMARY KEY,
        name text COLLATE "C" NOT NULL UNIQUE,
        owner text COLLATE "C" NOT NULL,
        at double precision NOT NULL,
        until double precision NOT NULL,
        value text NOT NULL)""",
    "CREATE INDEX sign_ins_by_end ON sign_ins (until)",
    "CREATE INDEX agent_tokens_by_end ON agent_tokens (until)",
)
END_SIGN_INS: Final = "DELETE FROM sign_ins"
SHORTEN: Final = "UPDATE agent_tokens SET until = until - $1"
_ADD: Final = (
    f"INSERT INTO sign_ins ({person_rows.SIGN_IN_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
)
_WAITING: Final = (
    "SELECT count(*), count(*) FILTER (WHERE address = $1) FROM sign_ins WHERE until > $2"
)
_COUNT: Final = "SELECT count(*) FROM agent_tokens WHERE owner = ANY($1) AND until > $2"
_ISSUE: Final = (
    f"INSERT INTO agent_tokens ({person_rows.TOKEN_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)"
)
_SELECT: Final = "SELECT value, until FROM agent_tokens"


class PostgresAgentTokens(Part[PostgresDatabase], AgentTokenStore):
    """Sign-ins and tokens in a PostgreSQL database."""

    async def add_sign_in(self, new: SignIn, most: int, most_per_address: int) -> bool:
        async def run() -> bool:
            async with self._alone() as connection:
                await connection.execute(
                    b"DELETE FROM sign_ins WHERE until < $1", (new.at - EXPIRED_FOR,)
                )
                values = (new.asked_by.address, new.at)
                waiting = await connection.execute(_WAITING.encode(), values)
                in_all, here = await waiting.fetchone() or (0, 0)
                has_room: bool = in_all < most and here < most_per_address
                if has_room:
                    await connection.execute(_ADD.encode(), person_rows.sign_in_row(new))
                return has_room

        return await self._db.run(run)

    async def find_sign_in(self, key: str) -> SignIn | None:
        statement = "SELECT value FROM sign_ins WHERE $1 IN (id, device_hash, user_hash)"
        found = await self._db.read(statement, key)
        return person_rows.read_sign_in(found[0][0]) if found else None

    async def replace_sign_in(self, old: SignIn, new: SignIn) -> bool:
        statement = "UPDATE sign_ins SET value = $1 WHERE id = $2 AND value = $3 RETURNING 1"
        values = (person_rows.dump_sign_in(new), old.id, person_rows.dump_sign_in(old))
        return bool(await self._db.write(statement, *values))

    async def redeem(
        self, approved: SignIn, token: AgentToken, accounts: Collection[str], most: int
    ) -> Redeemed:
        async def run() -> Redeemed:
            async with self._alone() as connection:
                counted = await connection.execute(_COUNT.encode(), ([*accounts], token.at))
                (count,) = await counted.fetchone() or (0,)
                if count >= most:
                    return Redeemed.FULL
                deleted = await connection.execute(
                    b"DELETE FROM sign_ins WHERE id = $1 AND value = $2",
                    (approved.id, person_rows.dump_sign_in(approved)),
                )
                if not deleted.rowcount:
                    return Redeemed.GONE
                await connection.execute(_ISSUE.encode(), person_rows.token_row(token))
                return Redeemed.ISSUED

        return await self._db.run(run)

    async def find(self, token_hash: str) -> AgentToken | None:
        found = await self._db.read(f"{_SELECT} WHERE token_hash = $1", token_hash)
        return person_rows.read_token(*found[0]) if found else None

    async def list(self) -> Sequence[AgentToken]:
        found = await self._db.read(f"{_SELECT} ORDER BY at, name")
        return [person_rows.read_token(*row) for row in found]

    async def remove(self, name: str) -> bool:
        statement = "DELETE FROM agent_tokens WHERE name = $1 RETURNING 1"
        return bool(await self._db.write(statement, name))

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[Connection]:
        """Open a transaction in which no other process counts what this one is about to add."""
        async with self._db.connections.transaction() as connection:
            await connection.execute(b"SELECT pg_advisory_xact_lock(hashtext('agent_tokens'))")
            yield connection


class PostgresPushSubscriptions(Part[PostgresDatabase], PushSubscriptions):
    """Push subscriptions in a PostgreSQL database."""

    async def save(self, new: PushSubscription) -> None:
        await self._db.write(
            """INSERT INTO push_subscriptions (id, value, at) VALUES ($1, $2, $3)
                ON CONFLICT (id) DO UPDATE SET value = excluded.value, at = excluded.at""",
            *(new.id, person_rows.dump_subscription(new), new.at),
        )

    async def list(self) -> Sequence[PushSubscription]:
        found = await self._db.read("SELECT value FROM push_subscriptions ORDER BY at, id")
        return person_rows.read_subscriptions(value.encode() for (value,) in found)

    async def remove(self, subscription_id: str) -> None:
        await self._db.write("DELETE FROM push_subscriptions WHERE id = $1", subscription_id)
