"""Delivery of the fake's payloads to a real slack-bolt app: signatures, retries, lost connections."""

import asyncio
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler

from tests.fakes.slack.schema import Json
from tests.fakes.slack.server import FakeSlack
from tests.service_support import WAIT
from tests.unit.fakes.slack_blocks import actions, button
from tests.unit.fakes.slack_world import World, running


@pytest.fixture(params=["socket", "http"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with running(request.param) as made:
        yield made


@pytest.fixture
async def socket_world() -> AsyncIterator[World]:
    async with running("socket") as made:
        yield made


@pytest.fixture
async def http_world() -> AsyncIterator[World]:
    async with running("http") as made:
        yield made


async def test_the_app_rejects_forged_and_old_requests_and_a_request_can_be_replayed(
    http_world: World,
) -> None:
    slack = http_world.slack
    message = await http_world.ask(actions(button("Yes")))
    await slack.person("U1").click(message, "Yes")
    payload = http_world.received[0]
    forged = slack.http.request("interactive", payload, secret="wrong")
    old = slack.http.request("interactive", payload, timestamp=int(time.time()) - 301)
    assert (await slack.http.post(forged)).status == 401
    assert (await slack.http.post(old)).status == 401
    click = next(sent for sent in slack.http.sent if sent.body.startswith(b"payload="))
    assert (await slack.http.post(click)).status == 200
    assert len(http_world.received) == 2


async def test_an_unacknowledged_event_is_redelivered_with_retry_fields(world: World) -> None:
    failing = 1
    attempts: list[dict[str, str]] = []
    delivered = asyncio.Event()

    async def on_message(event: Json, request: object) -> None:
        nonlocal failing
        attempts.append({k: v[0] for k, v in request.headers.items()})  # type: ignore[attr-defined]
        delivered.set()
        if failing:
            failing -= 1
            raise RuntimeError("the store is unavailable")

    world.app._async_listeners.clear()
    world.app.event("message")(on_message)
    world.app.logger.disabled = True
    if world.handler is not None:
        # A socket notices silence only after three seconds; reconnecting redelivers the event.
        await world.slack.person("U1").post("C1", "x")
        await asyncio.wait_for(delivered.wait(), WAIT)
        opened = world.slack.socket.opened
        await world.slack.socket.disconnect()
        await world.slack.socket.reconnected(opened)
    else:
        await world.slack.person("U1").post("C1", "x")
    await world.slack.queue.settle()
    assert world.slack.queue.unacked == []
    # Over the socket, a redelivery may be lost with the old connection.
    assert int(attempts[1]["x-slack-retry-num"]) >= 1


async def test_the_app_reconnects_after_a_disconnect_and_a_click_while_it_is_offline_is_lost(
    socket_world: World,
) -> None:
    slack, ada = socket_world.slack, socket_world.slack.person("U1")
    message = await socket_world.ask(actions(button("Yes")))
    opened, former = slack.socket.opened, [*slack.socket.connections]
    await slack.socket.disconnect("warning")
    await slack.socket.reconnected(opened, instead_of=former)
    first = await ada.click(message, "Yes")
    assert first is not None
    assert first.ok
    assert socket_world.handler is not None
    await socket_world.handler.close_async()  # type: ignore[no-untyped-call]
    await slack.socket.connected(0)
    lost = await ada.click(message, "Yes")
    assert lost is not None
    assert lost.error == "no_connection"
    assert ada.notices == ["We had some trouble connecting. Try again?"]


async def test_messages_posted_while_the_app_was_offline_are_delivered_when_it_reconnects(
    socket_world: World,
) -> None:
    slack = socket_world.slack
    assert socket_world.handler is not None
    await socket_world.handler.close_async()  # type: ignore[no-untyped-call]
    await slack.socket.connected(0)
    await slack.person("U1").post("C1", "hello?")
    again = AsyncSocketModeHandler(socket_world.app, slack.app_token)
    await again.connect_async()  # type: ignore[no-untyped-call]
    try:
        await slack.until(lambda: [e["text"] for e in socket_world.received] == ["hello?"])
    finally:  # a handler that is not closed never ends
        await again.close_async()  # type: ignore[no-untyped-call]


async def test_an_envelope_can_be_delivered_twice_but_a_ticket_works_only_once(
    socket_world: World,
) -> None:
    slack = socket_world.slack
    message = await socket_world.ask(actions(button("Yes")))
    await slack.person("U1").click(message, "Yes")
    envelope = next(e for e in slack.socket.wire if e["type"] == "interactive")
    assert (await slack.socket.deliver(envelope)).ok
    assert len(socket_world.received) == 2
    url = f"{slack.url}link/?ticket={slack.socket.ticket()}"
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(url) as first:
            assert (await first.receive_json())["type"] == "hello"
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(url)


async def test_an_eleventh_connection_is_turned_away() -> None:
    async with FakeSlack() as slack, aiohttp.ClientSession() as session:
        sockets = []
        for _ in range(11):
            url = f"{slack.url}link/?ticket={slack.socket.ticket()}"
            sockets.append(await session.ws_connect(url))
        last = await asyncio.wait_for(sockets[-1].receive_json(), WAIT)
        assert last == {"type": "disconnect", "reason": "too_many_websockets"}
        for socket in sockets:
            await socket.close()


async def test_after_a_cut_connection_the_app_reconnects_because_of_its_own_ping() -> None:
    async with running("socket", ping_interval=0.3) as world:
        opened = world.slack.socket.opened
        world.slack.socket.abort()
        await world.slack.socket.reconnected(opened)
        message = await world.ask(actions(button("Yes")))
        ack = await world.slack.person("U1").click(message, "Yes")
        assert ack is not None
        assert ack.ok
