"""What belongs to people, in an SQLite file: notified browsers, sign-ins, and tokens of agents."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Final

from answerback.ports.agent_tokens import (
    EXPIRED_FOR,
    AgentToken,
    AgentTokenStore,
    Redeemed,
    SignIn,
)
from answerback.ports.push import PushSubscription, PushSubscriptions
from answerback_storage import person_rows, rows
from answerback_storage.base_store import Part
from answerback_storage.sqlite.runner import Runner

PUSH_STATEMENTS: Final = (
    """CREATE TABLE push_subscriptions (
        id TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) STRICT, WITHOUT ROWID""",
    # Pushes are sent as webhooks are, but are none: they are not counted.
    "DROP TRIGGER deliveries_counted",
    """CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries WHEN NEW.type NOT LIKE 'push.%'
        BEGIN UPDATE counters SET n = n + 1 WHERE name = NEW.state; END""",
    "DROP TRIGGER deliveries_recounted",
    """CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON deliveries
        WHEN OLD.state <> NEW.state AND NEW.type NOT LIKE 'push.%' BEGIN
            UPDATE counters SET n = n - 1 WHERE name = OLD.state;
            UPDATE counters SET n = n + 1 WHERE name = NEW.state;
        END""",
)
TABLES: Final = (
    """CREATE TABLE sign_ins (
        id TEXT PRIMARY KEY,
        device_hash TEXT NOT NULL UNIQUE,
        user_hash TEXT NOT NULL UNIQUE,
        address TEXT NOT NULL,
        at REAL NOT NULL,
        until REAL NOT NULL,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE agent_tokens (
        token_hash TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        at REAL NOT NULL,
        until REAL NOT NULL,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX sign_ins_by_end ON sign_ins (until)",
    "CREATE INDEX agent_tokens_by_end ON agent_tokens (until)",
)
_ADD: Final = f"INSERT INTO sign_ins ({person_rows.SIGN_IN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_WAITING: Final = (
    "SELECT count(*), count(*) FILTER (WHERE address = ?) FROM sign_ins WHERE until > ?"
)
_FIND: Final = "SELECT value FROM sign_ins WHERE id = ?1 OR device_hash = ?1 OR user_hash = ?1"
_COUNT: Final = """SELECT count(*) FROM agent_tokens
    WHERE owner IN (SELECT value FROM json_each(?)) AND until > ?"""
_ISSUE: Final = f"INSERT INTO agent_tokens ({person_rows.TOKEN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
_SELECT: Final = "SELECT value, until FROM agent_tokens"


def set_back(db: sqlite3.Connection, seconds: float) -> None:
    """End all sign-ins, and let no token live longer, because the clock was set back."""
    db.execute("DELETE FROM sign_ins")
    db.execute("UPDATE agent_tokens SET until = until - ?", (seconds,))


class SqliteAgentTokens(Part[Runner], AgentTokenStore):
    """Sign-ins and tokens in an SQLite file."""

    async def add_sign_in(self, new: SignIn, most: int, most_per_address: int) -> bool:
        def run(db: sqlite3.Connection) -> bool:
            db.execute("DELETE FROM sign_ins WHERE until < ?", (new.at - EXPIRED_FOR,))
            in_all, here = db.execute(_WAITING, (new.asked_by.address, new.at)).fetchone()
            has_room: bool = in_all < most and here < most_per_address
            if has_room:
                db.execute(_ADD, person_rows.sign_in_row(new))
            return has_room

        return await self._db.write(run)

    async def find_sign_in(self, key: str) -> SignIn | None:
        found = await self._db.read(lambda db: db.execute(_FIND, (key,)).fetchone())
        return None if found is None else person_rows.read_sign_in(found[0])

    async def replace_sign_in(self, old: SignIn, new: SignIn) -> bool:
        statement = "UPDATE sign_ins SET value = ? WHERE id = ? AND value = ?"
        values = (person_rows.dump_sign_in(new), old.id, person_rows.dump_sign_in(old))
        return await self._db.write(lambda db: db.execute(statement, values).rowcount == 1)

    async def redeem(
        self, approved: SignIn, token: AgentToken, accounts: Collection[str], most: int
    ) -> Redeemed:
        is_this = (approved.id, person_rows.dump_sign_in(approved))

        def run(db: sqlite3.Connection) -> Redeemed:
            (count,) = db.execute(_COUNT, (rows.dump([*accounts]), token.at)).fetchone()
            if count >= most:
                return Redeemed.FULL
            if not db.execute("DELETE FROM sign_ins WHERE id = ? AND value = ?", is_this).rowcount:
                return Redeemed.GONE
            db.execute(_ISSUE, person_rows.token_row(token))
            return Redeemed.ISSUED

        return await self._db.write(run)

    async def find(self, token_hash: str) -> AgentToken | None:
        statement = f"{_SELECT} WHERE token_hash = ?"
        found = await self._db.read(lambda db: db.execute(statement, (token_hash,)).fetchone())
        return None if found is None else person_rows.read_token(*found)

    async def list(self) -> Sequence[AgentToken]:
        statement = f"{_SELECT} ORDER BY at, name"
        found = await self._db.read(lambda db: db.execute(statement).fetchall())
        return [person_rows.read_token(*row) for row in found]

    async def remove(self, name: str) -> bool:
        statement = "DELETE FROM agent_tokens WHERE name = ?"
        return await self._db.write(lambda db: db.execute(statement, (name,)).rowcount == 1)


class SqlitePushSubscriptions(Part[Runner], PushSubscriptions):
    """Push subscriptions in an SQLite file."""

    async def save(self, new: PushSubscription) -> None:
        values = (new.id, person_rows.dump_subscription(new), new.at)
        statement = "INSERT OR REPLACE INTO push_subscriptions (id, value, at) VALUES (?, ?, ?)"
        await self._db.write(lambda db: db.execute(statement, values).rowcount)

    async def list(self) -> Sequence[PushSubscription]:
        statement = "SELECT CAST(value AS BLOB) FROM push_subscriptions ORDER BY at, id"
        found = await self._db.read(lambda db: db.execute(statement).fetchall())
        return person_rows.read_subscriptions(value for (value,) in found)

    async def remove(self, subscription_id: str) -> None:
        statement = "DELETE FROM push_subscriptions WHERE id = ?"
        await self._db.write(lambda db: db.execute(statement, (subscription_id,)).rowcount)
