"""The browsers in which people are notified, in a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import TypeAdapter

from answerback.ports.push import PushSubscription, PushSubscriptions
from answerback_storage import rows
from answerback_storage.sql_database import Part, SqlDatabase

_SUBSCRIPTION: Final = TypeAdapter(PushSubscription)
_SAVE: Final = """INSERT INTO push_subscriptions (id, value, at) VALUES ($1, $2, $3)
    ON CONFLICT (id) DO UPDATE SET value = excluded.value, at = excluded.at"""


class SqlPushSubscriptions(Part[SqlDatabase], PushSubscriptions):
    async def save(self, new: PushSubscription) -> None:
        value = rows.dump(_SUBSCRIPTION.dump_python(new))
        await self._db.execute(_SAVE, new.id, value, new.at)

    async def list(self) -> Sequence[PushSubscription]:
        value = self._db.as_bytes.format("value")
        found = await self._db.fetch(f"SELECT {value} FROM push_subscriptions ORDER BY at, id")
        return rows.read_values(_SUBSCRIPTION, "push_subscriptions", found)

    async def remove(self, subscription_id: str) -> None:
        await self._db.execute("DELETE FROM push_subscriptions WHERE id = $1", subscription_id)
