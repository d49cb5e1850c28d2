"""Which ask typed words are meant for where several are open, and that none are lost while something fails."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adapters import insisting
from bot.ask import Ask
from bot.errors import StoreError
from bot.labels import Labels
from bot.service import Service
from tests.fakes.discord.world import Channel, Message
from tests.unit.adapters.discord.rig import Rig, rig

TEXT: list[dict[str, Any]] = [{"id": "why", "text": "Why so?", "answer_type": "text"}]
WHICH = Labels().which_one


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path) as made:
        yield made


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insisting, "_PAUSES", (0.01, 0.01, 0.01))


async def asked(up: Rig, *, directly: bool = False) -> Ask:
    to = {"to": f"discord:@{up.ann.id}", "responders": None} if directly else {}
    return await up.shown(await up.submit(TEXT, **to))


def channel(up: Rig, number: str | None) -> Channel:
    return up.discord.world.channel(int(number or 0))


def prompt(up: Rig, ask: Ask) -> Message:
    message = ask.message or {}
    return channel(up, str(message["channel"])).messages[int(str(message["id"]))]


def own_thread(up: Rig, ask: Ask) -> Channel:
    assert ask.thread is not None
    return channel(up, ask.thread.id)


async def marked(up: Rig, message: Message, emoji: str) -> None:
    await up.ann.until(lambda: emoji in message.reactions)


async def answers(up: Rig, *asks: Ask) -> list[list[Any]]:
    return [[given.value for given in (await up.shown(ask)).walk.answers] for ask in asks]


async def test_a_reply_to_a_reminder_answers_the_ask_it_reminds_of(up: Rig) -> None:
    older, newer = await asked(up, directly=True), await asked(up, directly=True)
    await up.surface.remind(older, 0)
    reminder = (await up.ann.finds("still waiting")).message
    await marked(up, up.ann.replies(reminder, "for the older"), "✅")
    assert await answers(up, older, newer) == [["for the older"], []]


async def test_a_reply_to_a_prompt_that_has_ended_answers_no_other(up: Rig) -> None:
    ended, open_ = await asked(up, directly=True), await asked(up, directly=True)
    await marked(up, up.ann.replies(prompt(up, ended), "first"), "✅")
    await up.shown(ended)
    await marked(up, up.ann.replies(prompt(up, ended), "that was all"), "❌")
    assert await answers(up, open_) == [[]]


async def test_a_reply_to_a_record_in_a_channel_is_left_alone(up: Rig) -> None:
    ended, other = await asked(up), await asked(up)
    await marked(up, up.ann.replies(prompt(up, ended), "first"), "✅")
    await up.shown(ended)
    chatter = up.ann.replies(prompt(up, ended), "well said")
    await marked(up, up.ann.replies(prompt(up, other), "second"), "✅")
    assert chatter.reactions == {}
    assert await answers(up, ended, other) == [["first"], ["second"]]


@pytest.mark.parametrize("directly", [True, False])
async def test_a_reply_finds_its_ask_however_many_are_open_there(up: Rig, directly: bool) -> None:
    asks = [await asked(up, directly=directly) for _ in range(11)]
    await marked(up, up.ann.replies(prompt(up, asks[0]), "for the oldest"), "✅")
    assert await answers(up, *asks) == [["for the oldest"], *[[] for _ in asks[1:]]]


async def test_words_that_may_be_meant_for_several_are_asked_about(up: Rig) -> None:
    asks = [await asked(up, directly=True) for _ in range(2)]
    unclear = up.ann.dm("which is it for?")
    said = (await up.ann.finds(WHICH)).message
    assert said.reply_to == unclear.id
    assert await answers(up, *asks) == [[], []]
    await marked(up, up.ann.replies(prompt(up, asks[1]), "this one"), "✅")
    assert await answers(up, *asks) == [[], ["this one"]]
    await marked(up, up.ann.dm("there is one now"), "✅")
    assert await answers(up, *asks) == [["there is one now"], ["this one"]]


async def test_what_people_reply_to_each_other_in_an_asks_own_thread_counts(up: Rig) -> None:
    bob = up.discord.person("bob", up.guild)
    ask = await asked(up)
    advice = bob.types(own_thread(up, ask), "say no")
    await marked(up, up.ann.replies(advice, "no, then"), "✅")
    assert await answers(up, ask) == [["no, then"]]


async def test_words_are_taken_once_discord_tells_where_they_stand(up: Rig) -> None:
    ask = await asked(up)
    up.discord.faults.server_error("GET /channels/*")
    up.discord.faults.rate_limit("PUT /channels/*", retry_after=0.3)
    await marked(up, up.ann.types(own_thread(up, ask), "not lost"), "✅")
    assert await answers(up, ask) == [["not lost"]]


@pytest.mark.usefixtures("impatient")
async def test_words_that_cannot_be_taken_at_all_are_marked_so(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await asked(up)
    up.discord.faults.server_error("GET /channels/*", times=4)
    chatter = up.ann.types(up.discord.add_channel(up.guild, "off-topic"), "lunch, anybody?")
    await up.discord.faults.called("GET /channels/*", 4)
    up.discord.faults.server_error("GET /channels/*", times=4)
    await marked(up, up.ann.types(own_thread(up, ask), "lost"), "❌")

    async def broken(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as broken_for_now:
        broken_for_now.setattr(Service, "typed", broken)
        await marked(up, up.ann.types(own_thread(up, ask), "lost again"), "❌")
    await marked(up, up.ann.types(own_thread(up, ask), "here now"), "✅")
    assert await answers(up, ask) == [["here now"]]
    assert chatter.reactions == {}
