"""Push subscriptions, in an SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.ports.push import PushSubscription, PushSubscriptions
from answerback_storage import push_rows
from answerback_storage.base_store import Part
from answerback_storage.sqlite.runner import Runner

STATEMENTS: Final = (
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


class SqlitePushSubscriptions(Part[Runner], PushSubscriptions):
    """Push subscriptions in an SQLite file."""

    async def save(self, new: PushSubscription) -> None:
        values = (new.id, push_rows.dump(new), new.at)
        statement = "INSERT OR REPLACE INTO push_subscriptions (id, value, at) VALUES (?, ?, ?)"
        await self._db.write(lambda db: db.execute(statement, values).rowcount)

    async def list(self) -> Sequence[PushSubscription]:
        statement = "SELECT CAST(value AS BLOB) FROM push_subscriptions ORDER BY at, id"
        found = await self._db.read(lambda db: db.execute(statement).fetchall())
        return push_rows.read(value for (value,) in found)

    async def remove(self, subscription_id: str) -> None:
        statement = "DELETE FROM push_subscriptions WHERE id = ?"
        await self._db.write(lambda db: db.execute(statement, (subscription_id,)).rowcount)
