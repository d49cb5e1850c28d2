"""Asks by where they are shown, in a database."""

from __future__ import annotations

from collections.abc import Sequence

from answerback.core.ask import Ask
from answerback.ports.live_messages import MessageQueries
from answerback_storage import rows
from answerback_storage.sql_database import Part, SqlDatabase, where


class SqlMessageQueries(Part[SqlDatabase], MessageQueries):
    async def find_open(
        self, surface: str, channel: str, thread: str | None, limit: int, after: str | None = None
    ) -> Sequence[Ask]:
        older = ("seq < (SELECT seq FROM asks WHERE id = {})", after)
        terms, values = where(self._db, _place(surface, channel, thread), older)
        query = f"WHERE status = 'open' AND {terms} ORDER BY seq DESC"
        return [ask for _, ask in await self._db.find(query, values, limit)]

    async def find_ended(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        at = self._db.ended_at
        terms, values = where(self._db, _place(surface, channel, thread), (f"{at} >= {{}}", since))
        query = f"{self._db.ended} AND {terms} ORDER BY {at} DESC"
        return [ask for _, ask in await self._db.find(query, values, limit)]

    async def find_moved(
        self, surface: str, channel: str, thread: str | None, since: float, limit: int
    ) -> Sequence[Ask]:
        left = {"left_channel": rows.left_channel_key(surface, channel)}
        terms, values = where(self._db, left, ("left_until >= {}", since))
        query = f"""WHERE left_channel IS NOT NULL AND erased_at IS NULL AND {terms}
            ORDER BY left_until DESC"""
        found = await self._db.find(query, values, limit, lambda ask: rows.was_in(ask, thread))
        return [ask for _, ask in found]

    async def find_by_message(self, surface: str, message_id: str) -> Ask | None:
        terms, values = where(self._db, {"surface": surface, self._db.message_id: message_id})
        query = f"WHERE status = 'open' AND message IS NOT NULL AND {terms}"
        found = await self._db.find(query, values, 1)
        return found[0][1] if found else None


def _place(surface: str, channel: str, thread: str | None) -> dict[str, str | None]:
    return {"surface": surface, "channel": channel, "thread_id": thread}
