"""The browsers in which people are notified, in the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import TypeAdapter

from answerback.ports.extension_rows import RowStore
from answerback_push.subscriptions import PushSubscription

_SUBSCRIPTION: Final = TypeAdapter(PushSubscription)
_SAVE: Final = """INSERT INTO push_subscriptions (id, value, at) VALUES {values}
    ON CONFLICT (id) DO UPDATE SET value = excluded.value, at = excluded.at"""


class StoredSubscriptions:
    """The subscriptions, which all processes with the same store share."""

    def __init__(self, rows: RowStore) -> None:
        self._rows = rows

    async def save(self, new: PushSubscription) -> None:
        """Store a subscription in place of the one with its id."""
        await self._rows.write(_SAVE, [(new.id, _SUBSCRIPTION.dump_python(new), new.at)])

    async def list(self) -> Sequence[PushSubscription]:
        """All subscriptions, oldest first."""
        found = await self._rows.read_values("push_subscriptions", order="at, id")
        return [_SUBSCRIPTION.validate_python(value) for value in found]

    async def remove(self, subscription_id: str) -> None:
        """Remove a subscription; an unknown id is ignored."""
        statement = "DELETE FROM push_subscriptions WHERE id = $1"
        await self._rows.write(statement, [(subscription_id,)])
