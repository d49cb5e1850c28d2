"""Export all that the caller may see as JSON lines: asks with their tool calls, their records, the deliveries."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web
from pydantic import JsonValue

from answerback.api.json_bodies import dump_json
from answerback.api.operation import Call, NoQuery
from answerback.core.ask import Ask
from answerback.service.record_wire import delivery_json, entry_json

MEDIA: Final = "application/x-ndjson"
_ASKS: Final = 20
"""Maximum number of asks in memory at a time; each has up to 256 KiB."""
_ROWS: Final = 200
"""Maximum number of record lines, or deliveries, in memory at a time."""


async def export(call: Call) -> web.StreamResponse:
    """``GET /v1/export``. The last line counts the others; if it is missing, the export is incomplete."""
    call.query(NoQuery)
    response = web.StreamResponse(headers={"Content-Type": MEDIA})
    await response.prepare(call.request)
    counts: Counter[str] = Counter({"ask": 0, "entry": 0, "delivery": 0})
    async for line in _lines(call):
        counts[str(line["type"])] += 1
        await response.write(dump_json(line) + b"\n")
    await response.write(dump_json({"type": "end", "lines": dict(counts)}) + b"\n")
    await response.write_eof()
    return response


async def _lines(call: Call) -> AsyncIterator[dict[str, JsonValue]]:
    """Yield the asks, newest first, each followed by its record; then the deliveries, newest first."""
    store, owner = call.api.store, call.agent_scope
    after: str | None = None
    while True:
        asks = await store.asks.page(agent=owner, after=after, limit=_ASKS)
        for ask in asks.rows:
            async for line in _ask_lines(call, ask):
                yield line
        if (after := asks.after) is None:
            break
    while True:
        page = await store.outbox.page(state=None, agent=owner, after=after, limit=_ROWS)
        for delivery in page.rows:
            yield {"type": "delivery", "delivery": delivery_json(delivery)}
        if (after := page.after) is None:
            break


async def _ask_lines(call: Call, ask: Ask) -> AsyncIterator[dict[str, JsonValue]]:
    request = ask.request
    sent: JsonValue = {"name": request.name, "arguments": request.arguments}
    yield {"type": "ask", "agent": request.agent, "call": sent, "ask": call.json_of(ask)}
    seq = 0
    while entries := await call.api.store.record.read(ask.id, seq, _ROWS):
        for entry in call.readable(ask, entries):
            yield {"type": "entry", "ask_id": ask.id, "entry": entry_json(entry)}
        seq = entries[-1].seq
