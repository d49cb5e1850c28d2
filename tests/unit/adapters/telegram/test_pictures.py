"""Pictures on Telegram: sent once above the message, silently, and named in words where that fails."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Destination
from answerback.core.labels import Labels
from answerback.service.files import Files
from answerback_telegram.parse import message_id
from answerback_testing.surface_harness import SWEEP
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Message
from tests.service_support import escalate_to
from tests.unit.adapters.telegram.rig import Rig, rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press
from tests.unit.picture_samples import GIF, JPEG, PNG, WEBP, png, png_header, webp

LABELS = Labels()
SENDS = ("sendPhoto", "sendMediaGroup", "sendDocument")
AGAIN = {**GO, "id": "again"}


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path) as made:
        yield made


def file(name: str, data: bytes = PNG, **more: str) -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode(), **more}


def pictures(at: Rig, ask: Ask) -> list[Message]:
    """Return the messages above an ask's own, as its reference names them."""
    stored = (ask.placement.message or {}).get("files")
    assert isinstance(stored, dict)
    return [at.group.messages[message_id(full) or 0] for full in stored.values()]


async def parts(data: bytes) -> AsyncIterator[bytes]:
    yield data


def kinds(messages: list[Message]) -> list[str]:
    return [kind for each in messages for kind in ("photo", "document") if kind in each.extra]


def sends(at: Rig) -> list[str]:
    return [method for method in at.telegram.arrived if method in SENDS]


@pytest.mark.rule("TELEGRAM-18")
async def test_one_picture_is_a_photo_above_the_message_with_its_words_as_caption(at: Rig) -> None:
    ask = await at.submit([GO], files=[file("plot.png", alt="Load by *hour*, see @ops /help")])
    [picture] = pictures(at, ask)
    shown = live(at.group, ask)
    assert picture.id < shown.id
    assert (picture.file, picture.text) == (PNG, "Load by *hour*, see @ops /help")
    assert picture.extra["photo"]
    assert picture.parsed.live == ()
    assert "plot.png" not in shown.text


@pytest.mark.rule("TELEGRAM-18")
async def test_several_are_an_album_that_edits_leave_alone(at: Rig) -> None:
    sent = [file("old.png", alt="Old"), file("new.jpg", JPEG), file("times.csv", b"x" * 1_500)]
    ask = await at.submit([GO, AGAIN], files=sent)
    album = pictures(at, ask)
    assert [each.file for each in album] == [PNG, JPEG]
    assert [each.text for each in album] == ["1. Old\n2. new.jpg", ""]
    assert len({each.extra["media_group_id"] for each in album}) == 1
    assert "times.csv, 1.5 kB" in live(at.group, ask).text
    for label in "Yes", "No":
        await press(at, at.ann, live(at.group, ask), label)
        ask = await at.shown(ask)
        assert pictures(at, ask) == album
        assert "Old" not in live(at.group, ask).text
    assert not ask.open
    assert sends(at) == ["sendMediaGroup"]


@pytest.mark.rule("TELEGRAM-18")
async def test_what_is_no_photo_is_a_document_and_what_would_be_a_sticker_is_named(
    at: Rig,
) -> None:
    sent = [
        file("long.png", png(1, 21)),
        file("wide.png", png_header(9_000, 1_001)),
        file("moves.gif", GIF),
        file("a.webp", WEBP),
        file("b.webp", webp(9_000, 9_000 // 2), alt="A plan"),
        file("edge.png", png_header(9_000, 1_000)),
    ]
    ask = await at.submit([GO], files=sent)
    assert kinds(pictures(at, ask)) == [*["document"] * 3, "photo", "photo"]
    assert sends(at) == ["sendMediaGroup", "sendMediaGroup"]
    assert "A plan (b.webp)" in live(at.group, ask).text
    assert pictures(at, ask)[0].extra["document"]["file_name"] == "long.png"


@pytest.mark.rule("TELEGRAM-18")
@pytest.mark.parametrize("size", [9_999_999, 10_000_000, 10_000_001])
async def test_a_photo_has_at_most_ten_megabytes(at: Rig, size: int) -> None:
    stored = await Files(at.store.files, at.service.clock).upload(
        "big.png", parts(PNG + bytes(size - len(PNG))), "", 0
    )
    ask = await at.submit([GO], files=[{"id": stored.id}])
    assert kinds(pictures(at, ask)) == ["photo" if size <= 10_000_000 else "document"]


@pytest.mark.rule("TELEGRAM-18")
@pytest.mark.parametrize(
    ("count", "most"), [(1, 1_000), (10, 1_000)], ids=["one", "as many as an album has"]
)
async def test_words_of_any_length_fit_the_caption(at: Rig, count: int, most: int) -> None:
    sent = [file(f"p{n}.png", alt="😀" * most) for n in range(count)]
    ask = await at.submit([GO], files=sent)
    first, *others = pictures(at, ask)
    assert len(others) == count - 1
    assert 400 < len(first.text) <= 1_024
    assert not any(each.text for each in others)


@pytest.mark.rule("TELEGRAM-18")
@pytest.mark.parametrize("how", ["rights", "refused", "unavailable", "odd", "lost", "dropped"])
async def test_a_picture_that_fails_holds_up_no_prompt_and_is_named_once(at: Rig, how: str) -> None:
    match how:
        case "rights":
            at.group.without_media.add(at.telegram.bot.id)
        case "refused":
            at.telegram.odd_answers["sendPhoto"] = [
                (400, '{"ok": false, "error_code": 400, "description": "Bad Request: IMAGE_PROCESS_FAILED"}')
            ]  # fmt: skip
        case "unavailable":
            at.telegram.fail_next = ["sendPhoto"]
        case "odd":
            at.telegram.odd_answers["sendPhoto"] = [(200, "[")]
        case "lost":
            at.telegram.lose_next_answer = "sendPhoto"
        case _:
            at.telegram.drop_next = frozenset({"sendPhoto"})
    ask = await at.submit([GO, AGAIN], files=[file("plot.png", alt="A plot")])
    assert pictures(at, ask) == []
    assert "A plot (plot.png)" in live(at.group, ask).text
    tried = sends(at)
    await press(at, at.ann, live(at.group, ask), "Yes")
    ask = await at.shown(ask)
    assert "A plot (plot.png)" in live(at.group, ask).text
    assert sends(at) == tried


@pytest.mark.rule("TELEGRAM-18")
async def test_a_picture_that_takes_too_long_holds_up_no_prompt(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, delays=replace(PATIENT, pictures=0.05)) as at:
        at.telegram.held["sendPhoto"] = held = asyncio.Event()
        ask = await at.submit([GO], files=[file("plot.png")])
        assert "plot.png" in live(at.group, ask).text
        held.set()


@pytest.mark.rule("TELEGRAM-18", "TELEGRAM-2")
async def test_pictures_that_a_limit_refuses_wait_once_with_their_prompt(at: Rig) -> None:
    limit = '{"ok": false, "error_code": 429, "parameters": {"retry_after": 0.01}}'
    at.telegram.odd_answers["sendPhoto"] = [(429, limit)]
    ask = await at.submit([GO], files=[file("plot.png", alt="A plot")])
    assert [each.file for each in pictures(at, ask)] == [PNG]
    at.telegram.odd_answers["sendPhoto"] = [(429, limit)] * 2
    ask = await at.submit([GO], files=[file("plot.png", alt="A plot")])
    assert pictures(at, ask) == []
    assert "A plot (plot.png)" in live(at.group, ask).text


@pytest.mark.rule("TELEGRAM-18", "TELEGRAM-2")
async def test_pictures_leave_room_for_their_prompt_in_the_limit_of_a_group(
    tmp_path: Path,
) -> None:
    sent = [file(f"p{n}.png", alt=f"Plot {n}") for n in range(10)]
    async with FakeTelegram(20) as telegram, rig(tmp_path, telegram=telegram) as at:
        first = await at.submit([GO], files=sent)
        second = await at.submit([GO], files=sent)
        assert len(pictures(at, first)) == 10
        assert "Plot 0 (p0.png)" in live(at.group, second).text
        assert [status for _, _, status in telegram.log if status == 429] == []


@pytest.mark.rule("TELEGRAM-18", "PLACE-5")
async def test_pictures_are_not_sent_again_after_the_prompt_failed_or_the_process_died(
    at: Rig, tmp_path: Path
) -> None:
    at.telegram.odd_answers["sendMessage"] = [
        (429, '{"ok": false, "error_code": 429, "parameters": {"retry_after": 0.01}}')
    ]
    ask = await at.submit([GO], files=[file("plot.png", alt="A plot")])
    assert len(pictures(at, ask)) == 1
    assert sends(at) == ["sendPhoto"]


@pytest.mark.rule("TELEGRAM-18", "PLACE-5")
async def test_a_picture_that_a_dead_process_may_have_sent_is_named_and_not_sent_again(
    tmp_path: Path,
) -> None:
    async with FakeTelegram() as telegram:
        telegram.held["sendPhoto"] = asyncio.Event()
        async with rig(tmp_path, telegram=telegram) as at:
            submitting = asyncio.create_task(
                at.submit([GO], files=[file("plot.png", alt="A plot")])
            )
            await telegram.until(lambda: "sendPhoto" in telegram.arrived)
            submitting.cancel()
            await at.message_sync.stop(0.0)
            group, ann = at.group, at.ann
        telegram.held.clear()
        async with rig(tmp_path, telegram=telegram, group=group, ann=ann) as at:
            await at.message_sync.sweep(SWEEP)
            [row] = (await at.store.asks.page(limit=2)).rows
            ask = await at.shown(row)
            assert "A plot (plot.png)" in live(at.group, ask).text
            assert telegram.calls("sendPhoto") == []


@pytest.mark.rule("TELEGRAM-18", "DATA-16")
@pytest.mark.parametrize("pruned", [False, True])
async def test_a_reply_to_a_picture_is_for_its_ask(at: Rig, *, pruned: bool) -> None:
    ask = await at.submit([GO], files=[file("plot.png")])
    [picture] = pictures(at, ask)
    at.telegram.pass_time()
    if pruned:
        await at.prune()
    said = await at.telegram.person_sends(at.ann, at.group, "yes", picture.id)
    await at.telegram.until(lambda: said.reactions)
    ask = await at.shown(ask)
    assert ask.walk.answers[0].value is True


@pytest.mark.rule("TELEGRAM-18")
async def test_a_message_that_replaces_a_deleted_one_brings_its_pictures(at: Rig) -> None:
    ask = await at.submit([GO, AGAIN], files=[file("plot.png")])
    [before] = pictures(at, ask)
    old = live(at.group, ask)
    number = await at.telegram.click(at.ann, old, old.buttons[0]["callback_data"])
    del at.group.messages[old.id]
    await at.telegram.until(lambda: number in at.telegram.answers)
    ask = await at.shown(ask)
    [after] = pictures(at, ask)
    assert before.id not in at.group.messages
    assert old.id < after.id < live(at.group, ask).id


@pytest.mark.rule("TELEGRAM-18", "API-18")
async def test_an_erasure_deletes_the_pictures(at: Rig) -> None:
    ask = await at.submit([GO], files=[file("a.png"), file("b.png")])
    album = pictures(at, ask)
    await press(at, at.ann, live(at.group, ask), "Yes")
    await at.shown(ask)
    await at.service.erase(ask.id)
    ask = await at.shown(ask)
    assert not {each.id for each in album} & {*at.group.messages}
    assert ask.placement.message is not None
    assert "files" not in ask.placement.message


@pytest.mark.rule("TELEGRAM-18", "SURFACE-14")
async def test_pictures_go_along_when_their_ask_moves(at: Rig) -> None:
    leads = at.telegram.add_group("leads")
    ask = await at.submit([GO], files=[file("plot.png")])
    [before] = pictures(at, ask)
    old = live(at.group, ask)
    there = Destination(surface="telegram", channel=str(leads.id))
    await escalate_to(at.service, ask, there)
    await at.telegram.until(lambda: old.text == "This question has moved to leads.")
    await at.telegram.until(lambda: before.id not in at.group.messages)
    await at.telegram.until(lambda: len(leads.messages) == 2)
    picture, question = leads.messages.values()
    assert (picture.file, question.text.endswith("Go?")) == (PNG, True)


@pytest.mark.rule("TELEGRAM-18", "API-18")
async def test_a_picture_that_is_too_old_to_be_deleted_does_not_stop_an_erasure(
    at: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    ask = await at.submit([GO], files=[file("plot.png")])
    [picture] = pictures(at, ask)
    await press(at, at.ann, live(at.group, ask), "Yes")
    await at.shown(ask)
    at.telegram.pass_time(49 * 3_600)
    await at.service.erase(ask.id)
    ask = await at.shown(ask)
    assert "could not be deleted" in caplog.text
    assert picture.id in at.group.messages
    assert "Go?" not in live(at.group, ask).text
