"""Server-Sent Events for one ask: its record as it grows. Resumable; the stream ends when the ask does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Final

from aiohttp import web
from aiohttp_sse import EventSourceResponse, sse_response

from answerback.api.operation import Call
from answerback.core.ask import Ask
from answerback.core.errors import ProblemError
from answerback.ports.store_values import StoredEntry
from answerback.service.agent_requests import RESPONSE_TRACKER, single_header
from answerback.service.json_bodies import dump_json
from answerback.service.record_wire import EVENT_NAMES, entry_json

HEARTBEAT: Final = 15.0
"""Seconds between comments that keep proxies from closing a silent stream."""
_BATCH: Final = 200


async def events(call: Call) -> web.StreamResponse:
    """``GET /v1/asks/{id}/events``."""
    last_id = _last_event_id(call.request)
    ask = await call.ask()
    if call.request.method == "HEAD":
        return web.Response(content_type="text/event-stream")
    call.carry(ask)
    presence = call.service.presence.track_wait(ask) if call.is_from_agent else nullcontext()
    with call.service.follow(ask.id) as follower:
        follower.known = ask.revision
        rows = await call.api.store.record.read(ask.id, last_id, _BATCH)
        unsent = len(rows) == _BATCH or any(row.entry.kind in EVENT_NAMES for row in rows)
        if last_id and not (ask.open or unsent):
            # Everything was sent already: 204 stops an EventSource from reconnecting.
            return web.Response(status=204)
        async with (
            presence,
            sse_response(call.request, ping_interval=HEARTBEAT) as stream,
        ):
            while not await _send_events(call, stream, ask, rows):
                if rows:
                    last_id = rows[-1].seq
                if len(rows) < _BATCH and (
                    call.service.stopping or await follower.next_commit() is None
                ):
                    break
                rows = await call.api.store.record.read(ask.id, last_id, _BATCH)
            return stream


async def _send_events(
    call: Call, stream: EventSourceResponse, began: Ask, rows: Sequence[StoredEntry]
) -> bool:
    """Send the rows that are events; return whether one of them was the outcome.

    Args:
        began: the ask as it was when the stream began: an agent gets what it could read then, and the outcome.
    """
    for row in call.readable(began, rows):
        event = EVENT_NAMES.get(row.entry.kind)
        if event is None:
            continue
        line = entry_json(row)
        if event == "outcome" and (ask := await call.service.get(began.id)) is not None:
            line = call.json_of(call.mark_seen_by_agent(ask))
        await stream.send(dump_json(line).decode(), id=str(row.seq), event=event)
        if event == "outcome":
            await call.request[RESPONSE_TRACKER].finish_stream()
            return True
    return False


def _last_event_id(request: web.Request) -> int:
    text = (single_header(request, "Last-Event-ID") or "").strip()
    if not text:
        return 0
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ProblemError(
            400, "Bad Last-Event-ID", "Send the id of an event from this stream: a number."
        )
    return int(text)
