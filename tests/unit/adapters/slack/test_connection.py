"""Socket Mode's connections: what is not acknowledged is said so in the log, and why none can be opened."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from answerback.ports.surface import Acted, Rejected
from answerback.service.service import Service
from answerback_base.backoff import Backoff
from answerback_slack import connection
from tests.fakes.slack import rules
from tests.fakes.slack.delivery import Ack
from tests.service_support import WAIT
from tests.unit.adapters.discord.test_starting import when_logged
from tests.unit.adapters.slack.rig import LABELS, App, Rig, run_app, workspace

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}


@asynccontextmanager
async def click_in_progress(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[asyncio.Task[Ack | None]]:
    """A click that has arrived and is not handled until the block is left."""
    ask = await up.submit(APPLY)
    await up.slack.socket.connected(connection.CONNECTIONS)
    apply, arrived, go_on = Service.apply, asyncio.Event(), asyncio.Event()

    async def apply_later(*args: Any, **named: Any) -> Acted | Rejected:
        arrived.set()
        await go_on.wait()
        return await apply(*args, **named)

    monkeypatch.setattr(Service, "apply", apply_later)
    clicking = asyncio.create_task(up.ada.click(up.live(ask), LABELS.yes))
    await arrived.wait()
    yield clicking
    go_on.set()


@pytest.mark.rule("SLACK-10")
async def test_an_acknowledgement_goes_over_the_other_connection_if_its_own_is_lost(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    up.slack.socket.acks_on_any_connection = True
    async with click_in_progress(up, monkeypatch) as clicking:
        [click] = [each for each in up.slack.socket.wire if each["type"] == "interactive"]
        connections = up.slack.socket.connections
        [own] = [each for each in connections if click["envelope_id"] in each.sent]
        opened = up.slack.socket.opened
        own.abort()
        await up.slack.socket.reconnected(opened)
    ack = await clicking
    assert ack is not None
    assert ack.ok


@pytest.mark.rule("SLACK-10")
async def test_what_cannot_be_acknowledged_counts_all_the_same_and_both_are_logged(
    up: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with click_in_progress(up, monkeypatch) as clicking:
        refused = up.slack.faults.add("apps.connections.open", times=None, error="invalid_auth")
        up.slack.socket.abort()
        await up.slack.until(lambda: refused.hits >= connection.CONNECTIONS)
    ack = await clicking
    assert ack is not None
    assert not ack.ok
    await up.slack.until(lambda: up.slack.count("chat.update"))
    logged = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert "An acknowledgement could not be sent" in logged
    [why] = [each for each in logged if "Socket Mode is not connected" in each]
    assert "invalid_auth" in why


@pytest.mark.rule("SLACK-10")
@pytest.mark.parametrize("silently", [True, False])
async def test_a_lost_connection_is_an_event_that_nothing_has_to_look_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silently: bool
) -> None:
    monkeypatch.setattr(connection, "_PING_SECONDS", 3_600.0)  # after which the SDK looks
    monkeypatch.setattr(connection, "_SHORT_LIVED_SECONDS", 0.0)
    async with workspace() as (slack, _, _), run_app(slack, tmp_path / "a.db", "socket"):
        socket = slack.socket
        await socket.connected(connection.CONNECTIONS)
        lost, opened = [*socket.connections], socket.opened
        for each in lost:
            if silently:
                each.abort()
            else:
                await each.socket.close()
        await socket.reconnected(opened, WAIT, instead_of=lost)


@pytest.mark.rule("SLACK-19")
@pytest.mark.parametrize("lingers", [False, True])
async def test_connections_beyond_the_ten_of_an_app_are_an_outage_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lingers: bool
) -> None:
    monkeypatch.setattr(rules, "SOCKET_CONNECTIONS", 0)
    async with workspace() as (slack, _, _):
        slack.socket.lingers = lingers
        async with run_app(slack, tmp_path / "a.db", "socket") as app:
            await until_ready(app, connection.TOO_MANY_CONNECTIONS)
            monkeypatch.setattr(rules, "SOCKET_CONNECTIONS", 10)
            await until_ready(app, "")


@pytest.mark.rule("SLACK-10")
async def test_after_a_connection_that_lasted_there_is_no_pause_and_later_ones_begin_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pauses: list[float] = []

    class Counted(Backoff):
        async def wait(self, least: float = 0.0) -> None:
            pauses.append(self.next_delay())

    monkeypatch.setattr(connection, "Backoff", Counted)
    monkeypatch.setattr(connection, "CONNECTIONS", 1)
    monkeypatch.setattr(connection, "_SHORT_LIVED_SECONDS", 0.0)
    lasted = when_logged(caplog, "can be reached again")
    async with workspace() as (slack, _, _):
        refuse = partial(slack.faults.add, "apps.connections.open", error="internal_error")
        refuse(times=2)
        async with run_app(slack, tmp_path / "a.db", "socket"):
            async with asyncio.timeout(WAIT):
                await lasted.wait()
            refuse()
            opened = slack.socket.opened
            await slack.socket.disconnect()
            await slack.socket.reconnected(opened)
            first, second, third = pauses  # one after each refusal, and none after the disconnect
    assert first < second
    assert third < second


@pytest.mark.rule("SLACK-10")
async def test_a_page_instead_of_an_address_to_connect_to_is_a_short_outage_and_no_defect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with workspace() as (slack, _, _):
        failing = slack.faults.add("apps.connections.open", status=503, times=3)
        async with run_app(slack, tmp_path / "a.db", "socket") as app:
            await slack.socket.connected(connection.CONNECTIONS)
            await until_ready(app, "")
    assert failing.hits == 3
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
    warned = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert any("Slack answered apps.connections.open with status 503" in each for each in warned)


@pytest.mark.rule("SLACK-10")
async def test_a_limited_connection_is_opened_once_slack_allows_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with workspace() as (slack, _, _):
        limited = slack.faults.add("apps.connections.open", status=429, retry_after=1)
        async with run_app(slack, tmp_path / "a.db", "socket") as app:
            await slack.socket.connected(connection.CONNECTIONS)
            await until_ready(app, "")
    assert limited.hits == 1
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


async def until_ready(app: App, but_for: str) -> None:
    """Wait until people can be reached, or cannot for this reason."""

    def ready() -> bool:
        why = app.surface.unready_reason() or ""
        return but_for in why if but_for else not why

    async with asyncio.timeout(WAIT):
        while not ready():  # noqa: ASYNC110 nothing signals it
            await asyncio.sleep(0.01)
