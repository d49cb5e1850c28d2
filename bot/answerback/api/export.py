"""Export as JSON lines: all that the caller may see, or what has changed since an earlier export."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web
from pydantic import Field, JsonValue

from answerback.api.operation import Call
from answerback.api.wire import Wire
from answerback.core.ask import Ask
from answerback.core.errors import ProblemError, UnreadableRowError
from answerback.ports.store import Store
from answerback.ports.store_values import ChangedAsks
from answerback.service.json_bodies import dump_json
from answerback.service.record_wire import delivery_json, entry_json

logger = logging.getLogger(__name__)

MEDIA: Final = "application/x-ndjson"
ASKS_PER_PAGE: Final = 20
"""Maximum number of asks in memory at a time; each has up to 256 KiB."""
ROWS_PER_PAGE: Final = 200
"""Maximum number of record lines, or deliveries, in memory at a time."""


class ExportQuery(Wire):
    """Where to begin."""

    since: str | None = Field(
        None,
        max_length=100,
        description="The `next` of the last line of an export before: only the asks that have changed since, in the "
        "order of their changes. Empty: every ask, in that order.",
    )


async def export(call: Call) -> web.StreamResponse:
    """``GET /v1/export``. The last line counts the others; if it is missing, the export is incomplete."""
    since = call.query(ExportQuery).since
    end: dict[str, JsonValue] = {"type": "end"}
    if since is None:
        lines = _lines(call)
    else:
        try:
            first = await call.api.store.record.list_changed(since, ROWS_PER_PAGE)
        except ValueError as error:
            raise _unknown_cursor() from error
        lines = _changed_lines(call, first, end)
    response = web.StreamResponse(headers={"Content-Type": MEDIA})
    await response.prepare(call.request)
    counts: Counter[str] = Counter({"ask": 0, "entry": 0, "delivery": 0})
    async for line in lines:
        counts[str(line["type"])] += 1
        await response.write(dump_json(line) + b"\n")
    await response.write(dump_json({**end, "lines": dict(counts)}) + b"\n")
    await response.write_eof()
    return response


def _unknown_cursor() -> ProblemError:
    detail = (
        "`since` is not a cursor of this database: pass the `next` of an earlier export unchanged. After the database "
        "was restored or replaced, start over with an empty `since`."
    )
    return ProblemError(400, "Bad query", detail)


async def _changed_lines(
    call: Call, changed: ChangedAsks, end: dict[str, JsonValue]
) -> AsyncIterator[dict[str, JsonValue]]:
    """Yield the asks that have changed, each followed by its record; then put the cursor behind them in ``end``."""
    store, owner = call.api.store, call.agent_scope
    while True:
        for ask_id in changed.ids:
            ask = await _read(store, ask_id)
            if ask is not None and owner in {None, ask.request.agent}:
                async for line in _ask_lines(call, ask):
                    yield line
        if changed.is_last:
            break
        changed = await store.record.list_changed(changed.after, ROWS_PER_PAGE)
    end["next"] = changed.after


async def _read(store: Store, ask_id: str) -> Ask | None:
    """Return an ask; None if this version cannot read it, which other exports skip too."""
    try:
        return await store.asks.get(ask_id)
    except UnreadableRowError as error:
        extra = {"action": "unreadable", "table": "asks", "ask_id": ask_id}
        logger.warning("A stored row cannot be read and is skipped: %s", error, extra=extra)
        return None


async def _lines(call: Call) -> AsyncIterator[dict[str, JsonValue]]:
    """Yield the asks, newest first, each followed by its record; then the deliveries, newest first."""
    store, owner = call.api.store, call.agent_scope
    after: str | None = None
    while True:
        asks = await store.asks.page(agent=owner, after=after, limit=ASKS_PER_PAGE)
        for ask in asks.rows:
            async for line in _ask_lines(call, ask):
                yield line
        if (after := asks.after) is None:
            break
    while True:
        page = await store.outbox.page(state=None, agent=owner, after=after, limit=ROWS_PER_PAGE)
        for stored in page.rows:
            if not stored.delivery.is_push:  # whoever has a browser's address can push to it
                yield {"type": "delivery", "delivery": delivery_json(stored)}
        if (after := page.after) is None:
            break


async def _ask_lines(call: Call, ask: Ask) -> AsyncIterator[dict[str, JsonValue]]:
    request = ask.request
    sent: JsonValue = {"name": request.name, "arguments": request.as_sent}
    yield {"type": "ask", "agent": request.agent, "call": sent, "ask": call.json_of(ask)}
    seq = 0
    while entries := await call.api.store.record.read(ask.id, seq, ROWS_PER_PAGE):
        for entry in call.readable(ask, entries):
            yield {"type": "entry", "ask_id": ask.id, "entry": entry_json(entry)}
        seq = entries[-1].seq
    for table in call.api.exported_rows if call.agent_scope is None else ():
        for row in await call.api.store.rows.of_ask(table, ask.id):
            yield {"type": "row", "table": table, "ask_id": ask.id, "value": row.value}
