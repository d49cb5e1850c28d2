"""Where a message is posted, and how it is found again if the outcome of its post is unknown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.errors import InvalidCallError
from answerback_discord import posting
from tests.fakes.discord.world import Message
from tests.unit.adapters.discord.rig import Rig, rig
from tests.unit.adapters.discord.test_showing import ONE, POST, TWO, posts


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, "http", gateway=False) as made:
        yield made


async def assert_posted_once(up: Rig, *, after: bool) -> None:
    """Assert that there is one post in the end, whose response was lost after or before it, long ago."""
    up.discord.faults.drop(POST, after=after)
    up.discord.faults.server_error("GET /channels/*/messages")
    ask = await up.submit(ONE)
    await up.discord.faults.called(POST)
    up.discord.clock.advance(600)
    assert (await up.until_current(ask)).open
    assert posts(up) == 1


@pytest.mark.rule("PLACE-5")
async def test_a_post_is_not_duplicated_when_discord_has_forgotten_the_nonce(up: Rig) -> None:
    await assert_posted_once(up, after=True)


@pytest.mark.parametrize("after", [True, False])
async def test_a_post_is_found_among_hundreds_of_other_messages(
    up: Rig, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    monkeypatch.setattr(posting, "MAX_PAGES", 3 if after else 2)
    for number in range(250):
        up.ann.types(up.channel, f"chat {number}")
    await assert_posted_once(up, after=after)


@pytest.mark.rule("PLACE-5")
@pytest.mark.parametrize("place", [POST, "GET /channels/*", "POST /users/@me/channels"])
async def test_a_response_that_is_not_from_discord_is_no_post(up: Rig, place: str) -> None:
    page = up.discord.faults.page(place)
    direct = {"to": f"discord:@{up.ann.id}"} if "@me" in place else {}
    ask = await up.until_current(await up.submit(ONE, **direct))
    posted = [m for c in up.discord.world.channels.values() for m in c.messages.values()]
    assert (page.hits, len(posted), ask.open) == (1, 1, True)


@pytest.mark.rule("PLACE-5")
@pytest.mark.parametrize("after", [True, False])
async def test_a_post_is_not_mistaken_for_another_message_of_ours(up: Rig, after: bool) -> None:
    up.discord.faults.drop(POST, after=after)
    up.discord.faults.server_error("GET /channels/*/messages", times=1_000)
    ask = await up.submit(ONE)
    await up.discord.faults.called(POST)
    here, id = up.channel, up.discord.new_id()
    here.messages[id] = Message(id, here.id, up.discord.bot.id, up.discord.clock.now(), "A note")
    up.discord.faults.clear()
    assert (await up.until_current(ask)).open
    assert posts(up) == 2


async def test_a_forum_gets_exactly_one_post(up: Rig) -> None:
    forum = up.discord.add_forum(up.guild)
    up.discord.faults.drop("POST /channels/*/threads", after=True)
    ask = await up.until_current(await up.submit(TWO, to=f"discord:{forum.id}"))
    threads = [each for each in up.discord.world.channels.values() if each.parent_id == forum.id]
    assert len(threads) == 1
    assert ask.placement.thread is not None
    assert (ask.placement.thread.channel, ask.placement.thread.id) == (
        str(forum.id),
        str(threads[0].id),
    )
    assert (await up.ann.click("Yes")).answered
    await up.until_current(ask)
    assert "Why so?" in up.ann.latest(threads[0]).text


@pytest.mark.rule("PLACE-5")
async def test_a_forum_post_is_not_mistaken_for_another(up: Rig) -> None:
    forum = up.discord.add_forum(up.guild)
    up.discord.add_thread(up.channel)
    await up.until_current(await up.submit(TWO, to=f"discord:{forum.id}"))
    kept, emptied = up.discord.add_thread(forum), up.discord.add_thread(forum)
    for each in (kept, emptied):
        first = Message(each.id, each.id, up.ann.id, up.discord.clock.now(), content="Mine")
        each.messages[each.id] = first
    emptied.messages[emptied.id].deleted = True
    up.discord.faults.drop("POST /channels/*/threads", after=False)
    ask = await up.until_current(await up.submit(TWO, to=f"discord:{forum.id}"))
    assert ask.open
    assert up.discord.faults.count("POST /channels/*/threads") == 3
    assert (await up.ann.click("Yes", on=up.ann.latest().message)).answered
    assert len((await up.shown(ask)).walk.answers) == 1


async def test_a_forum_that_requires_tags_is_reported_to_the_operator(up: Rig) -> None:
    forum = up.discord.add_forum(up.guild, tags=("help",), requires_tag=True)
    stored = await up.until_current(await up.submit(ONE, to=f"discord:{forum.id}"))
    assert stored.outcome is not None
    assert "tag" in (stored.outcome.message or "")


@pytest.mark.parametrize(
    ("to", "wrong"),
    [
        ("discord:general", '"general" is not the id of a Discord channel'),
        ("discord:1/late", '"late" is not the id of a Discord thread'),
        ("discord:@ann", '"ann" is not the id of a Discord user'),
        ({"surface": "discord"}, "Name a Discord channel, thread or user by its id"),
    ],
)
async def test_destinations_are_checked_before_anybody_is_asked(
    up: Rig, to: Any, wrong: str
) -> None:
    with pytest.raises(InvalidCallError) as raised:
        await up.submit(ONE, to=to)
    assert [wrong in each.message for each in raised.value.problems] == [True]
