"""Telegram cannot be reached, is late, or answers with what nobody expects: no ask is lost, and people are told why."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.ask import Ask, Status
from answerback.core.errors import PlatformUnavailableError
from answerback.core.labels import Labels
from answerback_telegram import errors, responder_names
from answerback_telegram.api_client import TelegramApi
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.telegram.server import FakeTelegram
from tests.unit.adapters.telegram.rig import MODES, Mode, Rig, rig
from tests.unit.adapters.telegram.test_doctor import find_wrong
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

LABELS = Labels()
DEFECT = {"ok": False, "error_code": 400, "description": "Bad Request: can't parse entities: odd"}


async def once_posted(at: Rig, ask: Ask) -> Ask:
    """Return the ask once its message is there, which may take several tries."""
    await at.telegram.until(lambda: at.group.messages)
    while not (ask.placement.message or {}).get("id"):
        await asyncio.sleep(0.01)
        ask = await at.shown(ask)
    return ask


@pytest.mark.parametrize(
    ("status", "body"),
    [
        *((200, body) for body in ("<html>", "[]", "{}", '{"result": 1}', '{"result": {}}')),
        *((429, body) for body in ("<html>", "[]", '{"parameters": {}}')),
        (502, "[]"),
    ],
)
async def test_an_ask_is_posted_once_telegram_gives_a_proper_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, body: str
) -> None:
    monkeypatch.setattr(errors, "LIMIT_PAUSE", 0.01)
    async with rig(tmp_path) as at:
        at.telegram.odd_answers["sendMessage"] = [(status, body)]
        ask = await once_posted(at, await at.submit([GO]))
        assert await press(at, at.ann, live(at.group, ask), "Yes") == ""
        assert (await at.shown(ask)).status is Status.ANSWERED
        assert len(at.group.messages) == 1


async def test_a_message_that_telegram_cannot_parse_is_replaced_by_a_minimal_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(tmp_path) as at:
        at.telegram.odd_answers["sendMessage"] = [(400, json.dumps(DEFECT))]
        ask = await at.submit([GO])
        shown = live(at.group, ask)
        assert shown.text.endswith("Go?")
        labels = [each["text"] for each in shown.buttons]
        assert labels == [LABELS.reply, LABELS.end_turn, LABELS.details]
        assert "this is a bug" in caplog.text
        at.telegram.pass_time()
        said = await at.telegram.person_sends(at.ann, at.group, "yes", shown.id)
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).status is Status.ANSWERED


async def test_the_doctor_says_that_telegram_cannot_be_reached() -> None:
    async with FakeTelegram() as telegram:
        pass
    [wrong] = await find_wrong(telegram)
    assert "Telegram could not be reached for getMe" in str(wrong)


async def test_a_call_without_an_answer_in_time_may_have_been_carried_out() -> None:
    async with FakeTelegram() as telegram, aiohttp.ClientSession() as http:
        telegram.held["getMe"] = asyncio.Event()
        calls = TelegramApi(http, telegram.token, telegram.url)
        with pytest.raises(PlatformUnavailableError, match="did not answer getMe: Timed out"):
            await calls.call("getMe", seconds=0.01)
        telegram.held["getMe"].set()


@pytest.mark.rule("TELEGRAM-6", "TELEGRAM-7")
@pytest.mark.parametrize("mode", MODES)
async def test_what_is_typed_before_the_bots_name_is_known_is_taken_once_it_is(
    tmp_path: Path, mode: Mode
) -> None:
    async with FakeTelegram() as telegram:
        ann = telegram.add_user("Ann")
        options: dict[str, Any] = {"telegram": telegram, "group": telegram.add_group(), "ann": ann}
        async with rig(tmp_path, mode, **options) as at:
            ask = await at.submit([GO])
        telegram.pass_time()
        said = await telegram.person_sends(ann, at.group, "yes", live(at.group, ask).id)
        telegram.fail_next = ["getMe"] if mode == "polling" else []

        async def until_refused(target: str) -> None:
            telegram.webhook_target = target
            await telegram.until(lambda: telegram.refused_posts or telegram.handled)

        async with rig(tmp_path, mode, serves=until_refused, **options) as at:
            await telegram.until(lambda: said.reactions)
            assert (await at.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("TELEGRAM-10")
@pytest.mark.parametrize("how", ["late", "removed"])
async def test_nobody_acts_as_an_administrator_whom_telegram_does_not_name(
    tmp_path: Path, how: str
) -> None:
    delays = replace(PATIENT, groups=0.05) if how == "late" else PATIENT
    async with rig(tmp_path, responders=("@admins",), delays=delays) as at:
        at.group.members[at.ann.id] = "administrator"
        ask = await at.submit([GO], responders=None)
        held = asyncio.Event()
        if how == "late":
            at.telegram.held["getChatMember"] = held
        else:
            at.group.members[at.telegram.bot.id] = "kicked"
        note = await press(at, at.ann, live(at.group, ask), "Yes")
        assert note == LABELS.unchecked if how == "late" else "may answer here" in note
        assert (await at.shown(ask)).revision == 1
        at.telegram.held.clear()
        held.set()


async def test_a_message_does_not_wait_for_names(tmp_path: Path) -> None:
    async with rig(tmp_path, delays=replace(PATIENT, names=0.05)) as at:
        held = at.telegram.held["getChatMember"] = asyncio.Event()
        late = await at.submit([GO], responders=[str(at.ann.id)])
        assert "Ann" not in live(at.group, late).text
        held.set()


async def test_only_so_many_names_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responder_names, "MAX_NAMES", 1)
    async with rig(tmp_path) as at:
        bob = at.telegram.add_user("Bob")
        ask = await at.submit([GO], responders=[str(at.ann.id), str(bob.id)])
        text = live(at.group, ask).text
        assert ("Ann" in text) is not ("Bob" in text)
