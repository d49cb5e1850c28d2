"""Typed answers, and the connection: lost, resumed with duplicates, refused, shared by shards."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.ports.outage_log import Outage
from answerback_discord import connection
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.world import Channel, Message
from tests.service_support import WAIT
from tests.unit.adapters.discord.rig import Rig, rig, run_surface

TEXT: list[dict[str, Any]] = [{"id": "why", "text": "Why so?", "answer_type": "text"}]
TWO = [{"id": "go", "text": "Go on?", "answer_type": "boolean"}, *TEXT]


def own_thread(up: Rig, ask: Ask) -> Channel:
    assert ask.placement.thread is not None
    return up.discord.world.channel(int(ask.placement.thread.id or 0))


async def wait_for_mark(up: Rig, message: Message, emoji: str = "✅") -> None:
    await up.ann.until(lambda: emoji in message.reactions)


@pytest.mark.rule("TYPED-1")
async def test_in_an_existing_thread_only_mentions_and_replies_are_answers(up: Rig) -> None:
    thread = up.discord.add_thread(up.channel)
    ask = await up.shown(
        await up.submit([*TEXT, *_more()], to=f"discord:{up.channel.id}/{thread.id}")
    )
    prompt = up.ann.latest(thread).message
    chatter = up.ann.types(thread, "lunch, anybody?")
    await wait_for_mark(up, up.ann.mention_bot(thread, "first"))
    await up.shown(ask)
    await wait_for_mark(up, up.ann.replies(prompt, "second"))
    assert [a.value for a in (await up.shown(ask)).walk.answers] == ["first", "second"]
    assert chatter.reactions == {}


@pytest.mark.rule("TYPED-1")
async def test_a_direct_message_is_an_answer(up: Rig) -> None:
    ask = await up.shown(await up.submit(TEXT, to=f"discord:@{up.ann.id}", responders=None))
    await wait_for_mark(up, up.ann.dm("here it is"))
    assert (await up.shown(ask)).walk.answers[0].value == "here it is"


async def test_a_message_delivered_twice_counts_once(up: Rig) -> None:
    ask = await up.shown(await up.submit([*TEXT, *_more()]))
    await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), "only once"))
    await up.shown(ask)
    up.discord.gateway.repeat("MESSAGE_CREATE", count=3)
    await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), "and twice"))
    assert [a.value for a in (await up.shown(ask)).walk.answers] == ["only once", "and twice"]


async def test_late_text_does_not_answer_a_newer_question(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await up.shown(await up.submit([*TWO, *_more()]))
    thread = own_thread(up, ask)
    early = up.discord.new_id()
    assert (await up.ann.click("Yes")).answered
    with monkeypatch.context() as patched:
        patched.setattr(up.discord, "new_id", lambda: early)
        late = up.ann.mention_bot(thread, "before the click")
    await wait_for_mark(up, late, "❌")
    await wait_for_mark(up, up.ann.mention_bot(thread, "and now"))
    assert [a.value for a in (await up.shown(ask)).walk.answers] == [True, "and now"]


@pytest.mark.parametrize("entered", [False, True], ids=["click", "modal"])
async def test_an_interaction_delivered_twice_counts_once(up: Rig, entered: bool) -> None:
    ask = await up.shown(await up.submit([*TEXT, *TWO[:1]] if entered else TWO))
    await up.ann.click("Answer" if entered else "Yes")
    if entered:
        up.ann.fill("Your answer", "because")
        await up.ann.submit()
    called = up.discord.faults.count("POST /interactions/*/*/callback")
    up.discord.gateway.repeat("INTERACTION_CREATE", count=3)
    await up.discord.faults.called("POST /interactions/*/*/callback", called + 3)
    assert (await up.shown(ask)).revision == ask.revision + 1
    assert up.ann.notes() == []


@pytest.mark.rule("DISCORD-10")
@pytest.mark.parametrize("cut", [lambda d: d.gateway.disconnect(4000), lambda d: _abort(d)])
async def test_a_lost_connection_comes_back_in_the_middle_of_a_form(
    up: Rig, cut: Callable[[FakeDiscord], Any]
) -> None:
    ask = await up.shown(await up.submit(TWO))
    up.discord.gateway.replay_extra = 5
    await up.ann.click("Yes")
    await cut(up.discord)
    assert up.surface.unready_reason() is None
    message = up.ann.mention_bot(own_thread(up, ask), "typed while it was away")
    await wait_for_mark(up, message)
    stored = await up.shown(ask)
    assert [a.value for a in stored.walk.answers] == [True, "typed while it was away"]


@pytest.mark.rule("DISCORD-10", "PLACE-3")
async def test_an_attempt_to_connect_that_fails_is_not_logged_as_an_error(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    up.discord.gateway.unavailable = 1
    await _abort(up.discord)
    await up.ann.until(lambda: not up.discord.gateway.unavailable)
    await up.discord.gateway.connected()
    [attempt] = [each for each in caplog.records if "Attempting a reconnect" in each.getMessage()]
    assert (attempt.levelname, attempt.exc_info) == ("INFO", None)
    assert "Error" in attempt.getMessage()


@pytest.mark.rule("DISCORD-10")
async def test_a_session_that_cannot_be_resumed_is_replaced_by_a_new_one(up: Rig) -> None:
    ask = await up.shown(await up.submit(TWO))
    up.discord.gateway.refuse_resume = True
    await up.discord.gateway.disconnect(4000)
    await up.ann.until(lambda: len(up.discord.gateway.identifies) == 2)
    await up.discord.gateway.connected()
    assert (await up.ann.click("Yes")).answered
    assert (await up.shown(ask)).revision == ask.revision + 1


async def test_without_the_content_intent_it_connects_and_mentions_still_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeDiscord() as discord:
        discord.application.message_content = False
        guild = discord.add_guild()
        channel, ann = discord.add_channel(guild), discord.person("ann", guild)
        up = run_surface(discord, tmp_path / "a.db", "gateway")
        async with up as (surface, service, store, message_sync):
            made = Rig(discord, surface, service, store, message_sync, guild, channel, ann)
            assert surface.unready_reason() is None
            assert "lacks the Message Content intent" in caplog.text
            ask = await made.shown(await made.submit(TEXT))
            thread = own_thread(made, ask)
            unread = ann.types(thread, "cannot be read")
            await wait_for_mark(made, ann.mention_bot(thread, "can be read"))
            assert unread.reactions == {}
            assert (await made.shown(ask)).walk.answers[0].value == "can be read"


@pytest.mark.rule("PLACE-3")
@pytest.mark.parametrize(("code", "tries"), [(4004, 1), (4013, 1), (4014, 2)])
async def test_a_gateway_that_refuses_the_app_is_not_retried_constantly(
    tmp_path: Path, code: int, tries: int
) -> None:
    async with FakeDiscord() as discord:
        discord.gateway.closing = code
        async with run_surface(discord, tmp_path / "a.db", "gateway") as (surface, *_):
            assert f"{code}" in (surface.unready_reason() or "")
            assert len(discord.gateway.identifies) == tries


@pytest.mark.rule("PLACE-3")
@pytest.mark.parametrize(("code", "tries"), [(4004, 1), (4013, 1), (4014, 2)])
async def test_a_running_gateway_that_refuses_the_app_is_reported_at_once(
    up: Rig, code: int, tries: int
) -> None:
    assert up.surface.unready_reason() is None
    up.discord.gateway.closing = code
    up.discord.gateway.forget_sessions()
    await up.discord.gateway.disconnect()
    await up.ann.until(lambda: len(up.discord.gateway.closed_with) == tries)
    async with asyncio.timeout(WAIT):
        while up.surface.unready_reason() is None:  # noqa: ASYNC110 nothing signals it
            await asyncio.sleep(0.02)
    assert f"{code}" in (up.surface.unready_reason() or "")
    assert len(up.discord.gateway.closed_with) == tries


@pytest.mark.rule("DISCORD-9")
async def test_clicks_by_http_need_no_gateway(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        discord.gateway.closing = 4004
        async with run_surface(discord, tmp_path / "a.db", "http") as (surface, *_):
            assert surface.unready_reason() is None


async def test_a_wrong_token_is_reported_with_an_explanation(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        up = run_surface(discord, tmp_path / "a.db", "gateway", bot_token="1.not.it")
        async with up as (surface, *_):
            assert "discord.bot_token" in (surface.unready_reason() or "")
            assert discord.gateway.identifies == []


@pytest.mark.rule("PLACE-3")
async def test_a_token_that_only_the_gateway_refuses_is_reported_with_an_explanation(
    tmp_path: Path,
) -> None:
    async with FakeDiscord() as discord:
        discord.faults.server_error("GET /users/@me")
        up = run_surface(discord, tmp_path / "a.db", "gateway", bot_token="1.not.it")
        async with up as (surface, *_):
            assert "set discord.bot_token" in (surface.unready_reason() or "")
            assert discord.gateway.identifies == []


async def test_a_gateway_whose_address_is_not_told_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeDiscord() as discord:
        discord.faults.page("GET /gateway")
        async with run_surface(discord, tmp_path / "a.db", "gateway") as (surface, *_):
            assert surface.unready_reason() is None
            assert discord.faults.count("GET /gateway") == 2
    assert "GET /gateway has no URL" in caplog.text


async def test_several_shards_share_the_servers(tmp_path: Path) -> None:
    async with rig(tmp_path, shards=2) as up:
        await up.discord.gateway.connected(2)
        shards = sorted(tuple(each["shard"]) for each in up.discord.gateway.identifies)
        assert shards == [(0, 2), (1, 2)]
        second = up.discord.add_guild("Beta")
        elsewhere, bob = up.discord.add_channel(second), up.discord.person("bob", second)
        first = await up.shown(await up.submit(TEXT))
        other = await up.shown(
            await up.submit(TEXT, to=f"discord:{elsewhere.id}", responders=[str(bob.id)])
        )
        await wait_for_mark(up, up.ann.mention_bot(own_thread(up, first), "in one"))
        await wait_for_mark(up, bob.mention_bot(own_thread(up, other), "in the other"))
        assert (await up.shown(first)).status == (await up.shown(other)).status == "answered"


@pytest.mark.rule("DISCORD-10")
async def test_every_shard_resumes_its_own_session(tmp_path: Path) -> None:
    async with rig(tmp_path, shards=2) as up:
        await up.discord.gateway.connected(2)
        ask = await up.shown(await up.submit(TEXT))
        await up.discord.gateway.disconnect(4000)
        await wait_for_mark(up, up.ann.mention_bot(own_thread(up, ask), "into the gap"))
        await up.ann.until(lambda: up.discord.gateway.resumes == 2)
        assert up.surface.unready_reason() is None
        assert len(up.discord.gateway.identifies) == 2


async def test_a_malformed_event_without_a_handler_is_ignored(up: Rig) -> None:
    ask = await up.shown(await up.submit(TWO))
    odd = {"guild_id": str(up.guild.id), "role": {"id": "1"}}
    assert up.discord.gateway.dispatch("GUILD_ROLE_CREATE", odd, 0, up.guild.id) == 1
    anything: list[tuple[Any, Any]] = [
        (["MESSAGE_CREATE"], odd),
        ("MESSAGE_CREATE", [odd]),
        ("MESSAGE_CREATE", {"id": "newest"}),
        ("INTERACTION_CREATE", {"type": 3, "id": "1"}),
    ]
    for name, data in anything:
        assert up.discord.gateway.dispatch(name, data, 0, up.guild.id) == 1
    assert (await up.ann.click("Yes")).answered
    assert (await up.shown(ask)).revision == ask.revision + 1
    assert len(up.discord.gateway.identifies) == 1


@pytest.mark.parametrize("shards", [1, 2])
async def test_an_unexpected_connection_failure_is_logged_and_the_connection_restored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    monkeypatch.setattr(connection, "_LONGEST_PAUSE", 0.0)
    async with rig(tmp_path, shards=shards) as up:
        ask = await up.shown(await up.submit(TWO))
        no_data: Any = None
        up.discord.gateway.dispatch("RESUMED", no_data, 0, up.guild.id)
        identifies = up.discord.gateway.identifies
        await up.ann.until(lambda: len(identifies) == 2 * shards)
        await up.discord.gateway.connected(shards)
        assert (await up.ann.click("Yes")).answered
        assert (await up.shown(ask)).revision == ask.revision + 1
        [record] = [each for each in caplog.records if each.message == "The gateway failed"]
        assert record.exc_info is not None


def test_a_disconnected_shard_is_named_whichever_others_reconnect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: Any = None
    gateway = connection.GatewayClient(
        calls,
        "",
        content=True,
        shards="auto",
        outage=Outage(connection.logger, "Discord"),
        handlers={},
    )
    assert gateway.outage_reason() == "the gateway is not connected yet"
    gateway.mark_connected(0, 3)
    assert "shard 1, 2 of 3" in (gateway.outage_reason() or "")
    gateway.mark_connected(1, 3)
    gateway.mark_connected(2, 3)
    monkeypatch.setattr(connection, "GRACE", 0.0)
    assert gateway.outage_reason() is None
    for shard in (0, 1):
        gateway.mark_disconnected(shard)
    gateway.mark_connected(0, 3)
    assert "shard 1 of 3" in (gateway.outage_reason() or "")


@pytest.mark.rule("DISCORD-7")
async def test_the_response_to_a_click_does_not_wait_for_rate_limits_or_the_edit(up: Rig) -> None:
    await up.shown(await up.submit(TWO))
    up.discord.faults.hang("PATCH /channels/*/messages/*", times=5)
    up.discord.rate_limits.limit = 3
    done = await up.ann.click("Yes")
    assert done.answered
    assert "Why so?" in up.ann.latest(up.channel).text


async def test_a_response_that_discord_accepted_needs_no_edit(up: Rig) -> None:
    ask = await up.shown(await up.submit(TWO))
    await up.ann.click("Yes")
    stored = await up.shown(ask)
    assert stored.placement.shown_revision == stored.revision
    assert up.discord.faults.count("PATCH /channels/*/messages/*") == 0


async def test_a_response_whose_connection_drops_is_sent_once_more_and_then_edited(up: Rig) -> None:
    ask = await up.shown(await up.submit(TWO))
    up.discord.faults.drop("POST /interactions/*/*/callback", after=False)
    done = await up.ann.click("Yes")
    assert done.answered
    up.discord.faults.server_error("POST /interactions/*/*/callback", status=503)
    await up.ann.click("Back", wait=False)
    async with asyncio.timeout(WAIT):
        while (await up.shown(ask)).revision < 3:
            await up.discord.faults.called("POST /interactions/*/*/callback", 3)
    assert "Go on?" in up.ann.latest(up.channel).text


def _more() -> list[dict[str, Any]]:
    return [{"id": "more", "text": "And more?", "answer_type": "text"}]


async def _abort(discord: FakeDiscord) -> None:
    discord.gateway.abort()
