"""Late answers: outcomes that no response has reported to the agent, each returned once."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import StreamWriter
from aiohttp.test_utils import make_mocked_request

from answerback.api.late_answers import send_response
from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.late_answers import SeenState
from answerback.service.late_answers import ResponseTracker
from tests.unit.bot.api.conftest import Json, Serve, Served, until

QUICK: Json = {"question": "Deploy?", "answer_type": "boolean"}
ROLES = {"bot": "agent", "other": "agent", "front": "surface"}


async def get_late(api: Served, query: str = "", **headers: str) -> Json:
    """Get the late answers, with the number that acknowledges them."""
    status, body = await api.get(f"/v1/answers{query}", **headers)
    assert status == 200, body
    return body


async def ids(api: Served, query: str = "", **headers: str) -> list[str]:
    """The ids of the asks among the late answers."""
    return [one["id"] for one in (await get_late(api, query, **headers))["answers"]]


async def answered_ask(api: Served, **more: Any) -> Json:
    """Create an ask that is answered while nobody waits."""
    ask = await api.asked(QUICK, **more)
    assert (await api.act(ask, action="answer", value=True))[0] == 200
    return ask


@pytest.mark.rule("LATE-1")
async def test_an_answer_nobody_waited_for_is_returned_once(api: Served) -> None:
    ask = await answered_ask(api, conversation="c1")
    await answered_ask(api, conversation="c2")
    body = await get_late(api, "?conversation=c1")
    (given,) = body["answers"]
    assert (given["id"], given["status"]) == (ask["id"], "answered")
    assert given["tool_result"]["structured"] == {"answer_type": "boolean", "answer": True}
    assert body["next"] == 1
    assert await get_late(api, "?conversation=c1") == {"answers": [], "next": None}
    assert len(await ids(api)) == 1


@pytest.mark.rule("LATE-3")
async def test_an_unacknowledged_list_is_returned_again(api: Served) -> None:
    first, second = await answered_ask(api), await answered_ask(api)
    body = await get_late(api, "?after=0&limit=1")
    assert [one["id"] for one in body["answers"]] == [first["id"]]
    assert await ids(api, "?after=0") == [first["id"], second["id"]]
    assert await ids(api, f"?after={body['next']}") == [second["id"]]
    assert await get_late(api, "?after=2") == {"answers": [], "next": 2}
    assert await ids(api, "?after=0") == []


@pytest.mark.rule("LATE-1")
@pytest.mark.parametrize("how", ["read", "wait", "submit", "events", "withdraw"])
async def test_an_outcome_reported_by_a_call_is_not_reported_again(api: Served, how: str) -> None:
    key = {"Idempotency-Key": "k"}
    if how == "submit":
        ask = await api.asked(QUICK, headers=key)
    else:
        ask = await api.asked(QUICK)
    path = f"/v1/asks/{ask['id']}"
    waiting = None
    if how == "wait":
        waiting = asyncio.create_task(api.get(path, Prefer="wait=5"))
        await api.waiters(1)
    await api.act(ask, action="answer", value=True)
    if waiting is not None:
        assert (await waiting)[0] == 200
    elif how == "submit":
        body = {"name": "ask_user", "arguments": QUICK, "to": "web"}
        async with api.http.post("/v1/asks", json=body, headers=key) as response:
            assert response.status == 200
    elif how == "withdraw":
        async with api.http.delete(path) as response:
            assert response.status == 410
    else:
        async with api.http.get(path if how == "read" else f"{path}/events") as response:
            await response.read()
    assert await ids(api) == []

    async def is_noted() -> bool:  # after the response, which no caller waits for
        shown = (await api.get(path, **api.person))[1]
        return (shown["collected_at"] is None) is (shown["status"] == "withdrawn")

    await until(is_noted)


@pytest.mark.rule("LATE-11")
async def test_an_ask_says_when_its_agent_got_what_is_owed_to_it(api: Served) -> None:
    service = api.running.service
    ask = await answered_ask(api)
    with service.follow(ask["id"]) as following:
        assert await ids(api) == [ask["id"]]
        recorded = await following.next_commit()
        assert recorded is not None
        assert recorded.collection.read_by_agent_at is not None
        read = (await api.get(f"/v1/asks/{ask['id']}"))[1]["collected_at"]
        assert (
            abs(datetime.fromisoformat(read).timestamp() - recorded.collection.read_by_agent_at)
            < 0.001
        )
        async with api.http.post(f"/v1/asks/{ask['id']}/undelivered") as response:
            assert response.status == 200
        recorded = await following.next_commit()
        assert recorded is not None
        assert (recorded.collection.read_by_agent_at, recorded.collection.unread_by_agent) == (
            None,
            True,
        )
    assert await ids(api) == [ask["id"]]


async def test_late_answers_go_only_to_their_agent(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await answered_ask(api, headers=api.bearer("bot"))
        for reader in (api.bearer("front"), api.person):
            status, _ = await api.get(f"/v1/asks/{ask['id']}", **reader)
            assert status == 200
        assert await ids(api, **api.bearer("other")) == []
        assert (await api.get("/v1/answers", **api.bearer("front")))[0] == 403
        assert await ids(api, **api.bearer("bot")) == [ask["id"]]


async def test_without_tokens_a_read_with_a_persons_key_does_not_count_as_the_agents(
    api: Served,
) -> None:
    ask = await answered_ask(api)
    await api.get(f"/v1/asks/{ask['id']}", **api.person)
    assert await ids(api) == [ask["id"]]


async def test_an_ask_that_the_agent_withdrew_itself_is_not_a_late_answer(api: Served) -> None:
    ask = await api.asked(QUICK)
    async with api.http.delete(f"/v1/asks/{ask['id']}") as response:
        assert response.status == 200
    assert await ids(api) == []


@pytest.mark.parametrize("query", ["?after=-1", "?after=x", "?limit=0", "?more=1"])
async def test_an_invalid_query_is_refused(api: Served, query: str) -> None:
    assert (await api.get(f"/v1/answers{query}"))[0] == 400


class Raw:
    """A client whose socket a test can read, leave unread or close."""

    def __init__(self, api: Served) -> None:
        address = urlsplit(api.running.api_url)
        self.socket = socket.create_connection((address.hostname, address.port))

    def send(self, path: str, *headers: str) -> None:
        """Request a path."""
        lines = (f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", "")
        self.socket.sendall("\r\n".join(lines).encode())

    async def arrived(self) -> None:
        """Wait until a response is in the socket's buffer."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, lambda: self.socket.recv(1, socket.MSG_PEEK))

    def close(self) -> None:
        """Close the socket as the system does for a killed process."""
        self.socket.close()


@pytest.mark.rule("LATE-4")
@pytest.mark.parametrize("path", ["/v1/asks/{id}", "/v1/answers"])
async def test_an_outcome_that_a_killed_client_did_not_read_is_reported_again(
    api: Served, path: str
) -> None:
    ask = await answered_ask(api)
    client = Raw(api)
    client.send(path.format(id=ask["id"]))
    await client.arrived()
    assert await ids(api) == [], "it may be read yet"
    client.close()

    async def again() -> bool:
        return await ids(api) == [ask["id"]]

    await until(again)
    assert await ids(api) == []


@pytest.mark.rule("LATE-4")
@pytest.mark.parametrize("slow", [SeenState.LISTED, SeenState.UNSEEN])
async def test_a_list_includes_what_was_in_a_response_that_was_lost_before(
    api: Served, monkeypatch: pytest.MonkeyPatch, slow: SeenState
) -> None:
    ask = await answered_ask(api)
    tracker = api.running.service.late_answer_tracker
    save, may_save = tracker.save_seen, asyncio.Event()

    async def save_slowly(
        ids: Sequence[str], state: SeenState, within: float = 0.0
    ) -> Sequence[str]:
        if state is slow:
            await may_save.wait()
        return await save(ids, state, within)

    monkeypatch.setattr(tracker, "save_seen", save_slowly)
    client = Raw(api)
    client.send("/v1/answers")
    await client.arrived()
    if slow is SeenState.UNSEEN:
        await outcomes_saved(api)
    client.close()
    listing = asyncio.create_task(ids(api))

    async def is_lost() -> bool:
        return bool(tracker._lost)

    await until(is_lost)
    may_save.set()
    assert await listing == [ask["id"]]


@pytest.mark.rule("LATE-4")
async def test_an_outcome_that_was_read_counts_however_the_connection_ends(
    api: Served,
) -> None:
    ask = await answered_ask(api)
    client = Raw(api)
    client.send(f"/v1/asks/{ask['id']}")
    await client.arrived()
    assert b"answered" in client.socket.recv(65536)
    client.send("/healthz")
    await client.arrived()
    client.close()  # unread, but that is a later response
    assert (await api.get("/healthz"))[0] == 200
    assert await ids(api) == []


@pytest.mark.rule("LATE-4")
@pytest.mark.parametrize("reset", [True, False])
async def test_a_client_killed_while_waiting_gets_the_outcome_when_it_reconnects(
    api: Served, reset: bool
) -> None:
    ask = await api.asked(QUICK)
    client = Raw(api)
    client.send(f"/v1/asks/{ask['id']}", "Prefer: wait=60")
    await api.waiters(1)
    if reset:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    # Answered at once, perhaps before the service notices that the client has disconnected.
    await api.act(ask, action="answer", value=True)
    await api.waiters(0)

    async def is_reported() -> bool:
        return await ids(api) == [ask["id"]]

    await until(is_reported)
    assert await ids(api) == []


ACKNOWLEDGES = {"Prefer": "acknowledge"}


async def acknowledge(api: Served, *ask_ids: str, **headers: str) -> list[str]:
    """Acknowledge outcomes; returns the ids of those that count."""
    body = {"asks": ask_ids}
    async with api.http.post("/v1/acknowledgements", json=body, headers=headers) as response:
        assert response.status == 200, await response.text()
        return list((await response.json())["asks"])


@pytest.mark.rule("LATE-12")
@pytest.mark.parametrize("path", ["/v1/asks/{id}", "/v1/answers"])
async def test_a_client_that_acknowledges_has_an_outcome_only_once_it_says_so(
    api: Served, path: str
) -> None:
    ask = await answered_ask(api)
    client = Raw(api)
    client.send(path.format(id=ask["id"]), "Prefer: acknowledge")
    await client.arrived()
    assert f"Answerback-Outcomes: {ask['id']}\r\n".encode() in client.socket.recv(65536)
    client.send("/healthz")
    await client.arrived()
    assert await ids(api, **ACKNOWLEDGES) == [], "it may be acknowledged yet"
    client.close()  # it has read everything, and passed nothing on

    async def again() -> bool:
        return await ids(api, **ACKNOWLEDGES) == [ask["id"]]

    await until(again)
    assert (await api.get(f"/v1/asks/{ask['id']}", **api.person))[1]["collected_at"] is None
    assert await acknowledge(api, ask["id"]) == [ask["id"]]
    assert (await api.get(f"/v1/asks/{ask['id']}", **api.person))[1]["collected_at"] is not None
    assert not api.running.service.late_answer_tracker.is_held(ask["id"])
    assert await ids(api, "?after=0") == []


@pytest.mark.rule("LATE-12")
async def test_only_outcomes_of_the_agents_own_asks_can_be_acknowledged(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await answered_ask(api, headers=api.bearer("bot"))
        unanswered = await api.asked(QUICK, headers=api.bearer("bot"))
        assert await acknowledge(api, ask["id"], **api.bearer("other")) == []
        named = (unanswered["id"], "ask_0")
        assert await acknowledge(api, *named, **api.bearer("bot")) == []
        assert await ids(api, **api.bearer("bot")) == [ask["id"]]


@pytest.mark.rule("LATE-12")
async def test_an_outcome_that_is_returned_is_listed_without_waiting_for_an_acknowledgement(
    api: Served,
) -> None:
    ask = await answered_ask(api)
    path = f"/v1/asks/{ask['id']}"
    assert (await api.get(path, **ACKNOWLEDGES))[0] == 200
    assert await ids(api) == []
    async with api.http.post(f"{path}/undelivered") as response:
        assert response.status == 200
    assert await ids(api) == [ask["id"]]


async def outcomes_saved(api: Served) -> None:
    """Wait until reported outcomes are saved, or saving them has failed."""

    async def nothing_tracked() -> bool:
        return not api.running.service.late_answer_tracker._held

    await until(nothing_tracked)


async def stored_answer(api: Served) -> Ask:
    """An answered ask as it is stored, which nobody has been told."""
    stored = await api.running.service.get((await answered_ask(api))["id"])
    assert stored is not None
    return stored


def never_sent(_tracker: ResponseTracker) -> Any:
    """The send callback of a response that is never sent."""
    raise AssertionError("it is not sent")


@pytest.mark.rule("LATE-1")
async def test_an_answer_being_sent_is_not_listed(api: Served) -> None:
    ask = await api.asked(QUICK)
    first, second = (
        ResponseTracker(api.running.service.late_answer_tracker, never_sent) for _ in range(2)
    )
    stored = await api.running.service.get(ask["id"])
    assert stored is not None
    first.hold_back(stored)
    first.hold_back(stored)
    second.hold_back(stored)
    await api.act(ask, action="answer", value=True)
    assert await ids(api) == []
    first.close()
    assert await ids(api) == [], "the other one still sends it"
    second.close()
    assert await ids(api) == [ask["id"]]


@pytest.mark.rule("LATE-5")
async def test_if_the_store_fails_an_outcome_is_reported_twice_rather_than_never(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await answered_ask(api)
    store = api.running.service.store

    async def failing(*_: object, **_more: object) -> None:
        raise StoreError("The disk is full.")

    with monkeypatch.context() as broken:
        broken.setattr(store.asks, "change", failing)
        for _ in range(2):
            assert await ids(api) == [ask["id"]]
            await outcomes_saved(api)
    assert await ids(api) == [ask["id"]]
    assert await ids(api) == []


async def test_a_stream_that_breaks_before_the_outcome_reports_nothing(api: Served) -> None:
    ask = await api.asked(QUICK)
    async with (
        aiohttp.ClientSession(api.running.api_url) as http,
        http.get(f"/v1/asks/{ask['id']}/events") as stream,
    ):
        await stream.content.readline()
    await api.waiters(0)
    await api.act(ask, action="answer", value=True)
    found = await get_late(api)
    assert json.dumps(found["answers"][0]["answers"]) == '{"answer": true}'


async def test_a_response_that_cannot_be_sent_reports_nothing(api: Served) -> None:
    stored = await stored_answer(api)
    tracker = ResponseTracker(api.running.service.late_answer_tracker, never_sent)
    tracker.add_outcome(stored)
    await send_response(disconnected_request(), web.Response(text="answered"), tracker)
    assert not tracker.is_sent
    await tracker.undo_seen()
    tracker.close()
    assert await ids(api) == [stored.id]


@pytest.mark.rule("LATE-11")
async def test_an_ask_whose_outcome_got_lost_after_it_was_saved_says_that_nobody_has_it(
    api: Served,
) -> None:
    service = api.running.service
    stored = await stored_answer(api)
    tracker = ResponseTracker(service.late_answer_tracker, never_sent)
    tracker.add_outcome(stored)
    await tracker.save_seen()
    saved = await service.get(stored.id)
    assert saved is not None
    assert (saved.collection.read_by_agent_at is None, saved.collection.unread_by_agent) == (
        False,
        False,
    )
    await tracker.undo_seen()
    lost = await service.get(stored.id)
    assert lost is not None
    assert (lost.collection.read_by_agent_at, lost.collection.unread_by_agent) == (None, True)


@pytest.mark.rule("LATE-4")
async def test_a_call_that_was_cancelled_reports_nothing_that_it_learns_afterwards(
    api: Served,
) -> None:
    service = api.running.service
    stored = await stored_answer(api)
    tracker = ResponseTracker(service.late_answer_tracker, never_sent)
    undoing = tracker.undo_seen()
    tracker.add_outcome(stored)
    assert not tracker.outcomes
    await tracker.save_seen()
    await undoing
    assert await ids(api) == [stored.id]


def disconnected_request() -> web.Request:
    """A request whose connection was lost before its response was sent."""
    loop = asyncio.get_running_loop()
    return make_mocked_request("GET", "/", writer=StreamWriter(BaseProtocol(loop), loop))
