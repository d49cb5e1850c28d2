"""Files that people send on Discord: with a reply, and in a modal; what is read of them, from where, and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.files import MAX_FILE
from answerback.core.labels import Labels
from answerback.ports.files import read_whole
from answerback.service.ask_wire import ask_json
from answerback_discord.sent_files import is_discords
from tests import matrix
from tests.fakes.discord.interactions import Interaction
from tests.fakes.discord.world import Message
from tests.fakes.long_timeouts import PATIENT
from tests.service_support import WAIT
from tests.unit.adapters.discord.rig import MODES, Rig, rig
from tests.unit.picture_samples import HUGE, PNG, jpeg

LABELS = Labels()
TEXT: list[Any] = [{"id": "why", "text": "Why?", "answer_type": "text"}]
_PLACE = b"Exif\0\0II*\0 at 52.5 north"
PHOTO = jpeg(before=b"\xff\xe1" + (len(_PLACE) + 2).to_bytes(2) + _PLACE)
"""A photo that says where it was taken."""

pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, request.param) as made:
        yield made


async def sent_files(up: Rig, ask: Ask) -> dict[str, bytes]:
    """Return the files of an ask's answers, by their names."""
    listed: Any = ask_json(await up.shown(ask))["answer_files"]
    return {each["name"]: await read_whole(up.store.files, each["id"]) for each in listed}


def answers(ask: Ask) -> list[object]:
    return [each.value for each in ask.walk.answers]


async def reply(up: Rig, text: str, files: Sequence[tuple[str, bytes]]) -> Message:
    """Reply to the newest question with files; return the message once it is marked."""
    prompt = up.ann.latest(up.channel).message
    said = up.ann.types(up.channel, text, files=files, reply_to=prompt)
    await up.ann.until(lambda: said.reactions)
    return said


def refusal(up: Rig) -> str:
    """Return what Ann was last told in a direct message."""
    direct = up.discord.direct(up.ann.user).messages.values()
    return [each.content for each in direct if each.author_id == up.discord.bot.id][-1]


async def is_refused(up: Rig, ask: Ask, said: Message, sentence: str) -> None:
    """Fail unless a message was refused with this sentence, and nothing of it taken."""
    direct = up.discord.direct(up.ann.user)
    await up.ann.until(lambda: any(sentence in each.content for each in direct.messages.values()))
    assert "❌" in said.reactions
    assert answers(await up.shown(ask)) == []


async def submit_modal(up: Rig, text: str, files: Sequence[tuple[str, bytes]]) -> Interaction:
    """Send the modal of the newest question without waiting."""
    await up.ann.click(LABELS.answer)
    up.ann.fill(LABELS.other_label, text)
    up.ann.upload(files)
    return await up.ann.submit(wait=False)


async def until_answered(up: Rig, ask: Ask) -> Ask:
    async with asyncio.timeout(WAIT):
        while (stored := await up.shown(ask)).revision == ask.revision:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return stored


@pytest.mark.rule("FILE-24", "FILE-15")
async def test_files_of_a_reply_go_with_its_text_and_say_no_more_where_a_photo_was_taken(
    up: Rig,
) -> None:
    ask = await up.shown(await up.submit(TEXT))
    said = await reply(up, "as drawn", [("photo.jpg", PHOTO), ("../plan\u202egnp.csv", b"a,b")])
    assert "✅" in said.reactions
    assert answers(await up.shown(ask)) == ["as drawn"]
    [(photo, drawn), (plan, table)] = (await sent_files(up, ask)).items()
    assert (photo, b"north" in PHOTO, b"north" in drawn) == ("photo.jpg", True, False)
    assert ("/" in plan, "\u202e" in plan, table) == (False, False, b"a,b")
    assert all("Authorization" not in each.headers for each in up.discord.attachments.reads)


@pytest.mark.rule("FILE-24")
async def test_a_file_alone_answers_a_text_question(up: Rig) -> None:
    ask = await up.shown(await up.submit(TEXT))
    await reply(up, "", [("plan.png", PNG)])
    assert answers(await up.shown(ask)) == [""]
    assert [*await sent_files(up, ask)] == ["plan.png"]


@pytest.mark.rule("FILE-24")
async def test_a_modal_with_files_is_acknowledged_before_they_are_read(up: Rig) -> None:
    ask = await up.shown(await up.submit(TEXT))
    stalled = up.discord.attachments.stalled = asyncio.Event()
    made = await submit_modal(up, "as drawn", [("plan.png", PNG), ("times.csv", b"a,b")])
    await up.ann.ended(made)
    assert made.callback is not None
    assert made.callback["type"] == 5
    assert made.original is not None
    assert made.original.only_for == up.ann.id
    assert answers(await up.shown(ask)) == []
    assert await up.service.draft("discord:files") is not None
    stalled.set()
    await up.ann.until(lambda: made.original is not None and made.original.deleted)
    assert answers(await until_answered(up, ask)) == ["as drawn"]
    assert await sent_files(up, ask) == {"plan.png": PNG, "times.csv": b"a,b"}
    assert up.ann.notes() == []
    async with asyncio.timeout(WAIT):
        while await up.service.draft("discord:files") is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.rule("FILE-24")
async def test_others_click_while_files_are_read(up: Rig) -> None:
    question = [{"id": "go", "text": "Go?", "answer_type": "boolean"}]
    await up.shown(await up.submit(TEXT))
    stalled = up.discord.attachments.stalled = asyncio.Event()
    up.ann.types(
        up.channel, "late", files=[("a.png", PNG)], reply_to=up.ann.latest(up.channel).message
    )
    await up.ann.until(lambda: up.discord.attachments.reads)
    other = await up.shown(await up.submit(question))
    assert (await up.ann.click("Yes")).answered
    assert answers(await up.shown(other)) == [True]
    stalled.set()


@pytest.mark.rule("FILE-24")
async def test_a_modal_with_files_that_cannot_be_stored_is_not_acknowledged(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await up.shown(await up.submit(TEXT))

    async def locked(*_: object) -> None:
        raise StoreError("locked")

    monkeypatch.setattr(up.service, "change_draft", locked)
    made = await submit_modal(up, "as drawn", [("plan.png", PNG)])
    await up.ann.ended(made)
    assert any("as drawn" in note.text for note in up.ann.notes())
    assert (answers(await up.shown(ask)), up.discord.attachments.reads) == ([], [])


@pytest.mark.rule("FILE-24")
async def test_a_refused_file_in_a_modal_loses_nothing_that_was_typed(up: Rig) -> None:
    ask = await up.shown(await up.submit(TEXT))
    heic = b"\0\0\0\x18ftypheic" + b"\0" * 20
    made = await submit_modal(up, "as drawn", [("photo.heic", heic)])
    await up.ann.until(lambda: any("Attach it as JPEG" in n.text for n in up.ann.notes()))
    await up.ann.ended(made)
    assert answers(await up.shown(ask)) == []
    await up.ann.click(LABELS.answer, on=up.ann.notes()[0].message)
    assert up.ann.modal is not None
    assert up.ann.modal.field(LABELS.other_label).value == "as drawn"
    up.ann.upload([("photo.jpg", PHOTO)])
    await up.ann.submit()
    assert answers(await until_answered(up, ask)) == ["as drawn"]
    assert [*await sent_files(up, ask)] == ["photo.jpg"]


@pytest.mark.rule("FILE-24")
@pytest.mark.parametrize("data", HUGE, ids=["jpeg", "gif", "webp", "png"])
async def test_a_picture_that_would_be_huge_once_drawn_is_refused(up: Rig, data: bytes) -> None:
    ask = await up.shown(await up.submit(TEXT))
    await is_refused(up, ask, await reply(up, "see", [("x.png", data)]), "x.png")


@pytest.mark.rule("FILE-24")
@pytest.mark.parametrize("announced", [MAX_FILE + 1, 1])
async def test_too_large_a_file_is_refused_whatever_size_is_announced(
    up: Rig, announced: int
) -> None:
    ask = await up.shown(await up.submit(TEXT))
    up.discord.attachments.announced = announced
    data = b"x" * (MAX_FILE + 1 if announced == 1 else 2)
    said = await reply(up, "see", [("dump.bin", data)])
    await is_refused(up, ask, said, "dump.bin is too large")
    assert len(up.discord.attachments.reads) == (announced == 1)


@pytest.mark.rule("FILE-24")
async def test_more_files_than_an_ask_takes_are_refused_before_any_is_read(up: Rig) -> None:
    ask = await up.shown(await up.submit(TEXT))
    said = await reply(up, "see", [(f"{n}.txt", b"x") for n in range(11)])
    await is_refused(up, ask, said, "At most 10 files")
    assert up.discord.attachments.reads == []


@pytest.mark.rule("FILE-24")
async def test_files_of_people_who_may_not_answer_are_not_read(up: Rig) -> None:
    ask = await up.shown(await up.submit(TEXT))
    eve = up.discord.person("eve", up.guild)
    prompt = eve.latest(up.channel).message
    said = eve.types(up.channel, "me", files=[("a.png", PNG)], reply_to=prompt)
    await eve.until(lambda: said.reactions)
    assert "❌" in said.reactions
    assert (answers(await up.shown(ask)), up.discord.attachments.reads) == ([], [])


@pytest.mark.rule("FILE-24")
async def test_files_of_a_form_that_comes_too_late_are_not_read(up: Rig) -> None:
    ask = await up.shown(await up.submit(TEXT))
    await up.ann.click(LABELS.answer)
    up.ann.fill(LABELS.other_label, "as drawn")
    up.ann.upload([("plan.png", PNG)])
    await up.service.withdraw(ask.id)
    await up.ann.submit()
    await up.ann.until(lambda: any("as drawn" in note.text for note in up.ann.notes()))
    assert up.discord.attachments.reads == []


@pytest.mark.rule("FILE-24")
@pytest.mark.parametrize(
    "address",
    ["http://169.254.169.254/latest/meta-data", "https://cdn.discordapp.com.evil.example/a"],
)
async def test_nothing_is_read_from_an_address_that_is_not_discords(up: Rig, address: str) -> None:
    ask = await up.shown(await up.submit(TEXT))
    up.discord.attachments.address = address
    said = await reply(up, "see", [("a.png", PNG)])
    await is_refused(up, ask, said, "a.png could not be read from Discord")


@pytest.mark.rule("FILE-24")
async def test_a_redirect_is_not_followed(up: Rig) -> None:
    ask = await up.shown(await up.submit(TEXT))
    up.discord.attachments.redirect_to = f"{up.discord.url}/secret"
    said = await reply(up, "see", [("a.png", PNG)])
    await is_refused(up, ask, said, "a.png could not be read from Discord")
    assert len(up.discord.attachments.reads) == 1


@pytest.mark.rule("FILE-24")
@pytest.mark.parametrize("status", [429, 503])
async def test_a_read_that_fails_for_the_moment_is_repeated(up: Rig, status: int) -> None:
    ask = await up.shown(await up.submit(TEXT))
    up.discord.attachments.statuses = [status]
    assert "✅" in (await reply(up, "see", [("a.png", PNG)])).reactions
    assert await sent_files(up, ask) == {"a.png": PNG}


@pytest.mark.rule("FILE-24")
async def test_an_address_that_has_ended_is_said(up: Rig) -> None:
    ask = await up.shown(await up.submit(TEXT))
    up.discord.attachments.statuses = [404]
    said = await reply(up, "see", [("a.png", PNG)])
    await is_refused(up, ask, said, "a.png could not be read from Discord")


@pytest.mark.rule("FILE-24")
async def test_a_file_that_does_not_come_in_time_is_refused(tmp_path: Path) -> None:
    async with rig(tmp_path, delays=replace(PATIENT, files=0.1)) as up:
        ask = await up.shown(await up.submit(TEXT))
        up.discord.attachments.stalled = asyncio.Event()
        said = await reply(up, "see", [("a.png", PNG)])
        await is_refused(up, ask, said, "it took too long")
        up.discord.attachments.stalled.set()


@pytest.mark.rule("FILE-24")
async def test_a_modal_that_arrives_twice_is_read_once(tmp_path: Path) -> None:
    async with rig(tmp_path, "gateway") as up:
        ask = await up.shown(await up.submit(TEXT))
        stalled = up.discord.attachments.stalled = asyncio.Event()
        made = await submit_modal(up, "as drawn", [("plan.png", PNG)])
        await up.ann.until(lambda: up.discord.attachments.reads)
        assert up.discord.interactions.redeliver(made) == 1
        await up.discord.faults.called("POST /interactions/*/callback", 3)
        stalled.set()
        assert answers(await until_answered(up, ask)) == ["as drawn"]
        assert await sent_files(up, ask) == {"plan.png": PNG}
        assert len(up.discord.attachments.reads) == 1


@pytest.mark.parametrize(
    ("url", "api_url", "own"),
    [
        (
            "https://cdn.discordapp.com/attachments/1/2/a.png?ex=1",
            "https://discord.com/api/v10",
            True,
        ),
        ("https://media.discordapp.net/a", "https://discord.com/api/v10", True),
        ("https://cdn.discordapp.com:443/a", "https://discord.com/api/v10", True),
        ("http://cdn.discordapp.com/a", "https://discord.com/api/v10", False),
        ("https://cdn.discordapp.com:444/a", "https://discord.com/api/v10", False),
        ("https://cdn.discordapp.com@evil.example/a", "https://discord.com/api/v10", False),
        ("https://a:b@cdn.discordapp.com/a", "https://discord.com/api/v10", False),
        ("https://discord.com/api/v10/users/@me", "https://discord.com/api/v10", False),
        ("http://127.0.0.1:80/a", "http://127.0.0.1:80/api", True),
        ("http://127.0.0.1:81/a", "http://127.0.0.1:80/api", False),
        ("https://127.0.0.1:80/a", "http://127.0.0.1:80/api", False),
        ("https://[::1/a", "http://127.0.0.1:80/api", False),
        ("", "http://127.0.0.1:80/api", False),
    ],
)
def test_only_discords_own_hosts_and_a_set_api_are_read_from(
    url: str, api_url: str, own: bool
) -> None:
    assert is_discords(url, api_url) is own
