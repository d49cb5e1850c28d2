"""Starting while Discord is unreachable, and stopping before it is back."""

from __future__ import annotations

import asyncio
import itertools
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from answerback.core.errors import DestinationGoneError, UnauthorizedError
from answerback_base.backoff import Backoff
from answerback_chat import chat_surface
from answerback_discord import connection
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.long_timeouts import PATIENT
from tests.service_support import WAIT
from tests.unit.adapters.discord.rig import rig, run_surface

ME = "GET /users/@me"


@pytest.mark.parametrize("status", [403, 500])
async def test_an_unreachable_discord_is_retried_at_start_until_it_answers(
    tmp_path: Path, status: int
) -> None:
    async with FakeDiscord() as discord:
        discord.faults.server_error(ME, status=status, times=1_000)
        up = run_surface(discord, tmp_path / "a.db", "http", gateway=False)
        async with up as (surface, *_):
            before = discord.faults.count(ME)
            assert surface.unready_reason() is None, "clicks come in without it"
            await discord.faults.called(ME, before + 2)
            discord.faults.clear()
            asked = len(await discord.faults.called(ME, discord.faults.count(ME) + 1))
            assert discord.faults.calls(ME)[asked - 1].status == 200


async def test_stopping_does_not_wait_for_an_unreachable_discord(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays = replace(PATIENT, first_pause=3_600.0)
    monkeypatch.setattr(chat_surface, "STOP_TIMEOUT", 3_600.0)
    async with FakeDiscord() as discord:
        discord.faults.server_error(ME, times=1_000)
        async with asyncio.timeout(WAIT):
            up = run_surface(discord, tmp_path / "a.db", "http", delays=delays, gateway=False)
            async with up:
                pass
            assert discord.faults.count(ME) > 0


@pytest.mark.parametrize("gateway", [False, True])
async def test_an_unreachable_discord_is_retried_ever_less_often_and_logged_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    gateway: bool,
) -> None:
    monkeypatch.setattr(connection, "CONNECT_TIMEOUT", 0.01)
    async with FakeDiscord() as discord:
        discord.faults.server_error("GET /*", times=1_000)
        up = run_surface(discord, tmp_path / "a.db", "http", gateway=gateway)
        async with up:
            tries = [call.at for call in await discord.faults.called(ME, 5)]
            pauses = [later - earlier for earlier, later in itertools.pairwise(tries)]
            assert all(pause >= 0.01 * 2**number for number, pause in enumerate(pauses))
            assert len(outage_messages(caplog)) == 1
            over = when_logged(caplog, "can be reached again")
            discord.faults.clear()
            async with asyncio.timeout(WAIT):
                await over.wait()
    [begins, ends] = outage_messages(caplog)
    assert "Discord cannot be reached" in begins
    assert "Discord can be reached again" in ends


async def test_text_typed_before_discord_says_who_the_bot_is_is_read_once_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    known = asyncio.Event()

    class Held(Backoff):
        async def wait(self, least: float = 0.0) -> None:
            await known.wait()

    monkeypatch.setattr(chat_surface, "Backoff", Held)
    async with FakeDiscord() as discord, rig(tmp_path, "http", discord, gateway=False) as up:
        text = [{"id": "why", "text": "Why so?", "answer_type": "text"}]
        ask = await up.shown(await up.submit(text))
        await up.surface.stop()
        discord.application.interactions_endpoint_url = None
        discord.faults.server_error(ME)
        async with run_surface(discord, tmp_path / "answerback.db", "gateway"):
            [message] = up.channel.messages.values()
            said = up.ann.replies(message, "because")
            later = when_logged(caplog, "An event of an unknown shape")
            discord.gateway.dispatch("CHANNEL_DELETE", {"id": 5}, 0, up.guild.id)
            async with asyncio.timeout(WAIT):
                await later.wait()
            assert said.reactions == {}
            known.set()
            await up.ann.until(lambda: "✅" in said.reactions)
        assert (await up.shown(ask)).walk.answers[0].value == "because"


def when_logged(caplog: pytest.LogCaptureFixture, text: str) -> asyncio.Event:
    """An event that is set once the log contains these words."""
    event = asyncio.Event()

    def look(record: logging.LogRecord) -> bool:
        if text in record.getMessage():
            event.set()
        return True

    caplog.handler.addFilter(look)
    return event


def outage_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The log's messages about Discord being unreachable."""
    return [line for line in caplog.messages if "be reached" in line]


@pytest.mark.rule("PLACE-3")
async def test_a_revoked_token_is_reported_at_once_until_it_is_valid_again(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        up = run_surface(discord, tmp_path / "a.db", "http", gateway=False)
        async with up as (surface, *_):
            assert surface.unready_reason() is None
            await discord.faults.called("POST /applications/*/commands")
            discord.faults.code("GET /*", 50027)
            with pytest.raises(DestinationGoneError):
                await surface.calls.get("/users/@me")
            assert surface.unready_reason() is None, "it was not the bot's token that was refused"
            discord.faults.code("GET /*", 0, times=1_000)
            for _ in range(2):
                with pytest.raises(UnauthorizedError):
                    await surface.calls.get("/users/@me")
            assert "token is not valid" in (surface.unready_reason() or "")
            asked = discord.faults.count(ME)
            await discord.faults.called(ME, asked + 2)
            assert surface.unready_reason() is not None
            discord.faults.clear()
            async with asyncio.timeout(WAIT):
                while surface.unready_reason() is not None:  # noqa: ASYNC110 - it tells nobody
                    await asyncio.sleep(0.01)
