"""Server-Sent Events: live, resumable, and ended by the outcome."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from answerback.api import event_stream
from answerback.core.ask import Change, RecordEntry
from answerback.ports.surface import Acted
from tests.service_support import WAIT
from tests.unit.bot.api.conftest import Json, Serve, Served

Event = tuple[str, str, Json]


async def read(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    """Yield the events of a stream: id, name and data."""
    found: dict[str, str] = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\r\n")
        if line.startswith(":"):
            yield ("", "comment", {})
        elif line:
            name, _, value = line.partition(": ")
            found[name] = value
        elif found:
            yield found["id"], found["event"], json.loads(found["data"])
            found = {}


@pytest.mark.rule("EVENT-1")
async def test_a_follower_gets_every_step_as_it_happens(api: Served) -> None:
    ask = await api.asked()
    async with asyncio.timeout(WAIT), api.http.get(f"/v1/asks/{ask['id']}/events") as response:
        assert response.content_type == "text/event-stream"
        stream = read(response)
        assert (await anext(stream))[1:] == ("prompt", _line(await _record(api, ask), 0))
        await api.act(ask, action="answer", value=True)
        assert [(await anext(stream))[1] for _ in range(2)] == ["answer", "prompt"]
        _, ended = await api.act(ask, action="answer", value="staging")
        assert (await anext(stream))[1] == "answer"
        number, name, data = await anext(stream)
        assert (name, data) == ("outcome", ended)
        assert int(number) == (await _record(api, ask))["entries"][-1]["seq"]
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


async def test_a_head_opens_no_stream(api: Served) -> None:
    ask = await api.asked()
    async with api.http.head(f"/v1/asks/{ask['id']}/events") as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
    await api.waiters(0)


@pytest.mark.rule("EVENT-2")
async def test_a_stream_resumes_after_the_last_event_seen(api: Served) -> None:
    ask = await api.asked()
    await api.act(ask, action="answer", value=True)
    await api.act(ask, action="reply", text="stop")
    path = f"/v1/asks/{ask['id']}/events"
    async with api.http.get(path) as response:
        whole = [event async for event in read(response)]
    assert [name for _, name, _ in whole] == ["prompt", "answer", "prompt", "answer", "outcome"]
    for i, (number, _, _) in enumerate(whole[:-1]):
        async with api.http.get(path, headers={"Last-Event-ID": number}) as response:
            *before, (number, name, outcome) = [event async for event in read(response)]
        uncollected = (number, name, outcome | {"collected_at": None})
        assert [*before, uncollected] == whole[i + 1 :]
    async with api.http.get(path, headers={"Last-Event-ID": whole[-1][0]}) as response:
        assert response.status == 204


@pytest.mark.parametrize("number", ["x", "-1", "1.5", "9" * 30])
async def test_an_invalid_event_id_is_refused(api: Served, number: str) -> None:
    ask = await api.asked()
    status, body = await api.get(f"/v1/asks/{ask['id']}/events", **{"Last-Event-ID": number})
    assert (status, body["title"]) == (400, "Bad Last-Event-ID")


@pytest.mark.rule("EVENT-3")
async def test_a_silent_stream_is_kept_alive_by_comments(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "HEARTBEAT", 0.02)
    ask = await api.asked()
    async with asyncio.timeout(WAIT), api.http.get(f"/v1/asks/{ask['id']}/events") as response:
        stream = read(response)
        await anext(stream)
        assert (await anext(stream))[1] == "comment"


@pytest.mark.rule("WAIT-4")
async def test_a_stream_ends_when_the_service_stops(serve: Serve) -> None:
    async with serve() as api:
        ask = await api.asked()
        async with asyncio.timeout(WAIT), api.http.get(f"/v1/asks/{ask['id']}/events") as response:
            stream = read(response)
            await anext(stream)
            api.running.service.stop_waiting()
            with pytest.raises(StopAsyncIteration):
                await anext(stream)


async def test_lines_that_are_not_events_are_skipped_and_a_commit_without_a_line_sends_nothing(
    api: Served,
) -> None:
    service = api.running.service
    ask = await api.asked()
    await service.store.record.add(
        ask["id"], RecordEntry(at=1.0, kind="note", body={"for": "operators"})
    )
    async with asyncio.timeout(WAIT), api.http.get(f"/v1/asks/{ask['id']}/events") as response:
        stream = read(response)
        assert (await anext(stream))[1] == "prompt"
        done = await service.update(ask["id"], lambda ask, _at: Change(ask, ()))
        assert isinstance(done, Acted)
        _, ended = await api.act(ask, action="reply", text="no")
        assert [name async for _, name, _ in stream] == ["answer", "outcome"]
    assert ended["status"] == "cancelled"


async def test_a_follower_that_disconnects_leaves_nothing_behind(api: Served) -> None:
    ask = await api.asked()
    async with api.http.get(f"/v1/asks/{ask['id']}/events") as response:
        await anext(read(response))
        assert api.running.service.signals.count == 1
    await api.waiters(0)


async def _record(api: Served, ask: Json) -> Json:
    return (await api.get(f"/v1/asks/{ask['id']}/record"))[1]


def _line(record: Json, number: int) -> Json:
    line: Json = record["entries"][number]
    return line
