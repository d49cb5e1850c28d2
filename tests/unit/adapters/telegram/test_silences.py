"""No press and no reply is met with silence, and none can fill a chat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerback.core.labels import Labels
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_entries import WHY, helper
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

LABELS = Labels()
NO_RIGHTS = "Bad Request: not enough rights to send text messages to the chat"


@pytest.mark.rule("TELEGRAM-4", "SURFACE-15")
@pytest.mark.parametrize("label", [LABELS.answer, LABELS.reply, LABELS.end_turn])
async def test_a_press_that_needs_a_message_says_if_the_bot_may_not_write(
    tmp_path: Path, label: str
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([WHY])
        body = {"ok": False, "error_code": 400, "description": NO_RIGHTS}
        at.telegram.odd_answers["sendMessage"] = [(400, json.dumps(body))]
        note = await press(at, at.ann, live(at.group, ask), label)
        assert "the bot may not write there" in note
        assert await press(at, at.ann, live(at.group, ask), label) == ""
        await helper(at, at.group, live(at.group, ask))


@pytest.mark.rule("TELEGRAM-4")
async def test_a_press_does_not_wait_for_a_message_that_is_limited(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([WHY])
        at.telegram.rate_limit_next = 1
        assert await press(at, at.ann, live(at.group, ask), LABELS.reply) == ""
        await helper(at, at.group, live(at.group, ask))


@pytest.mark.rule("TELEGRAM-17")
async def test_an_ask_has_one_full_text_however_often_and_by_whom_it_is_asked_for(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([{**GO, "context": "word " * 2_000}])
        shown, eve = live(at.group, ask), at.telegram.add_user("Eve")
        for user in (at.ann, eve, at.ann):
            await press(at, user, shown, LABELS.details)
        full = await helper(at, at.group, shown)
        await at.telegram.until(lambda: len(at.telegram.calls("answerCallbackQuery")) == 3)
        await press(at, eve, full, LABELS.close)
        await at.telegram.until(lambda: full.id not in at.group.messages)
        assert len(at.group.messages) == 1
        await press(at, eve, shown, LABELS.details)
        assert (await helper(at, at.group, shown)).id != full.id


@pytest.mark.rule("TELEGRAM-5")
@pytest.mark.parametrize("label", [LABELS.answer, LABELS.reply])
async def test_a_reply_to_a_request_that_is_lost_is_answered(tmp_path: Path, label: str) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([WHY])
        await press(at, at.ann, live(at.group, ask), label)
        request = await helper(at, at.group, live(at.group, ask))
        await at.until_awaited(request, at.group)
        await at.service.save_draft(f"telegram:request:{at.group.id}:{request.id}", None)
        at.telegram.pass_time(60)
        said = await at.telegram.person_sends(at.ann, at.group, "because", request.id)
        await at.telegram.until(lambda: said.reactions)
        own = at.telegram.chats[at.ann.id].messages
        await at.telegram.until(lambda: any(LABELS.request_lost in m.text for m in own.values()))
        assert (await at.shown(ask)).open


async def test_people_may_talk_about_a_record_by_replies(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), LABELS.yes)
        await at.shown(ask)
        at.telegram.pass_time(60)
        said = await at.telegram.person_sends(at.ann, at.group, "well", live(at.group, ask).id)
        await at.telegram.until(lambda: not at.telegram.updates)
        assert said.reactions == []
        assert not at.telegram.chats[at.ann.id].messages


@pytest.mark.rule("TELEGRAM-1")
async def test_an_option_is_listed_only_if_its_button_does_not_say_it_all(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        rule = {"toolName": "Bash", "ruleContent": "make a release of everything:*"}
        more = {"type": "addRules", "rules": [rule], "behavior": "allow"}
        arguments: dict[str, Any] = {
            "tool_name": "Bash",
            "tool_input": {"command": "make"},
            "permission_suggestions": [more | {"destination": "localSettings"}],
        }
        call = {"name": "PermissionRequest", "dialect": "approval", "arguments": arguments}
        message = live(at.group, await at.submit([], **call))
        labels = [each["text"] for each in message.buttons]
        assert "1. Allow once" in labels
        assert "Allow once" not in message.text
        assert "2. Allow, and always allow Bash(make a release of everything:*)" in message.text
