"""Push subscriptions, in a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.ports.push import PushSubscription, PushSubscriptions
from answerback_storage import push_rows
from answerback_storage.base_store import Part
from answerback_storage.postgres.database import PostgresDatabase

STATEMENTS: Final = (
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


class PostgresPushSubscriptions(Part[PostgresDatabase], PushSubscriptions):
    """Push subscriptions in a PostgreSQL database."""

    async def save(self, new: PushSubscription) -> None:
        await self._db.write(
            """INSERT INTO push_subscriptions (id, value, at) VALUES ($1, $2, $3)
                ON CONFLICT (id) DO UPDATE SET value = excluded.value, at = excluded.at""",
            *(new.id, push_rows.dump(new), new.at),
        )

    async def list(self) -> Sequence[PushSubscription]:
        found = await self._db.read("SELECT value FROM push_subscriptions ORDER BY at, id")
        return push_rows.read(value.encode() for (value,) in found)

    async def remove(self, subscription_id: str) -> None:
        await self._db.write("DELETE FROM push_subscriptions WHERE id = $1", subscription_id)
