"""Pictures in Discord: posted with the message, shown above the buttons, and named in words where that fails."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback_discord.components import ACTION_ROW, MEDIA_GALLERY, iter_components
from tests.fakes.discord.world import Message
from tests.unit.adapters.discord.rig import Rig, rig
from tests.unit.adapters.discord.test_showing import ONE, POST, posts
from tests.unit.picture_samples import PNG, WEBP, png


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, "http", gateway=False) as made:
        yield made


def file(name: str, data: bytes = PNG, **more: str) -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode(), **more}


QUESTIONS = [*ONE, {"id": "again", "text": "To all?", "answer_type": "boolean"}]
SENT = [
    file("before.png", alt="The page *before*"),
    file("after.webp", WEBP),
    file("times.csv", b"x" * 1_500),
    file("big.png", png(9, 9)),
]


def message_of(up: Rig, ask: Ask) -> Message:
    """Return the live message of an ask."""
    stored = ask.placement.message
    assert stored is not None
    channel = up.discord.world.channels[int(str(stored["channel"]))]
    return channel.messages[int(str(stored["id"]))]


def pictures(live: Message) -> list[tuple[str, str]]:
    found: list[Any] = [each for each in parts(live) if each["type"] == MEDIA_GALLERY]
    return [(item["media"]["url"], item["description"]) for each in found for item in each["items"]]


def parts(live: Message) -> list[Any]:
    components: Any = live.components
    return [*iter_components(components)]


SHOWN = [
    ("attachment://picture0.png", "1. The page *before*"),
    ("attachment://picture1.webp", "2. after.webp"),
    ("attachment://picture3.png", "3. big.png"),
]


@pytest.mark.rule("FILE-12")
@pytest.mark.parametrize("place", ["channel", "forum"])
async def test_pictures_are_posted_once_with_the_message_and_stay(up: Rig, place: str) -> None:
    there = up.discord.add_forum(up.guild) if place == "forum" else up.channel
    ask = await up.submit(QUESTIONS, files=SENT, to=f"discord:{there.id}")
    ask = await up.until_current(ask)
    live = message_of(up, ask)
    assert pictures(live) == SHOWN
    assert [each["filename"] for each in live.attachments] == [
        url.removeprefix("attachment://") for url, _ in SHOWN
    ]
    kinds = [each["type"] for each in parts(live)]
    assert kinds.index(MEDIA_GALLERY) < kinds.index(ACTION_ROW)
    text = up.ann.sees(live).text
    assert "The page *before*" in text
    assert "times.csv, 1.5 kB" in text
    assert "before.png" not in text
    for label in "Yes", "No":
        await up.ann.click(label, on=live)
        ask = await up.until_current(ask)
        assert pictures(live) == SHOWN
        assert len(live.attachments) == len(SHOWN)
    assert not ask.open


@pytest.mark.rule("FILE-12")
@pytest.mark.parametrize("code", [40005, 50013])
async def test_a_picture_that_discord_refuses_holds_up_no_prompt_and_is_named(
    up: Rig, code: int
) -> None:
    up.discord.faults.code(POST, code)
    ask = await up.until_current(await up.submit(QUESTIONS, files=SENT))
    live = message_of(up, ask)
    assert (pictures(live), live.attachments) == ([], [])
    assert r"The page \*before\* (before.png)" in up.ann.sees(live).text
    await up.ann.click("Yes", on=live)
    await up.until_current(ask)
    assert pictures(live) == []


@pytest.mark.rule("FILE-12", "PLACE-5")
@pytest.mark.parametrize("after", [True, False])
async def test_after_a_post_with_pictures_of_unknown_outcome_there_is_one_message(
    up: Rig, after: bool
) -> None:
    up.discord.faults.drop(POST, after=after)
    ask = await up.until_current(await up.submit(QUESTIONS, files=SENT))
    assert posts(up) == 1
    assert ask.open
    text = up.ann.sees(message_of(up, ask)).text
    assert after or "before.png" in text


@pytest.mark.rule("FILE-12", "API-18")
async def test_an_erasure_removes_the_pictures(up: Rig) -> None:
    ask = await up.until_current(await up.submit(ONE, files=SENT))
    live = message_of(up, ask)
    await up.ann.click("Yes", on=live)
    await up.until_current(ask)
    assert live.attachments
    await up.service.erase(ask.id)
    await up.until_current(ask)
    assert (pictures(live), live.attachments) == ([], [])
