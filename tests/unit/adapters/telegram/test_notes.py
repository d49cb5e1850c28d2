"""Notes to people beside an ask, in chats where Telegram limits, refuses or no longer allows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answerback.core.ask import Status
from answerback.core.labels import Labels
from answerback_base.backoff import Backoff
from answerback_chat import typed_entries
from answerback_telegram.posting import about_key
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_entries import WHY, helper
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

LABELS = Labels()


@pytest.mark.parametrize("place", ["limited", "no direct message", "no reactions"])
async def test_whoever_may_not_answer_is_told_why_although_their_message_cannot_be_marked(
    tmp_path: Path, place: str
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        eve = at.telegram.add_user("Eve", started=place != "no direct message")
        at.telegram.pass_time()
        if place == "limited":
            limit = json.dumps({"ok": False, "parameters": {"retry_after": 0.01}})
            at.telegram.odd_answers["sendMessage"] = [(429, limit)]
        elif place == "no reactions":
            at.group.reactions = frozenset()
        said = await at.telegram.person_sends(eve, at.group, "yes", live(at.group, ask).id)
        if place == "no direct message":
            note = await helper(at, at.group, said)
        else:
            own = at.telegram.chats[eve.id]
            await at.telegram.until(lambda: own.messages)
            [note] = own.messages.values()
        assert "may answer" in note.text
        assert (await at.shown(ask)).revision == 1


@pytest.mark.rule("TELEGRAM-5")
@pytest.mark.parametrize("replied", ["record", "reminder", "note"])
async def test_a_reply_to_what_certainly_asks_for_nothing_holds_up_no_later_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replied: str
) -> None:
    waited: list[str] = []

    class Waited(Backoff):
        async def wait(self, least: float = 0.0) -> None:
            waited.append(replied)

    monkeypatch.setattr(typed_entries, "Backoff", Waited)
    async with rig(tmp_path) as at:
        ask = await at.submit([WHY])
        shown = live(at.group, ask)
        if replied == "record":
            at.telegram.pass_time(60)
            await at.service.withdraw(ask.id)
            await at.shown(ask)
            quoted = shown
        elif replied == "reminder":
            await at.surface.remind(ask, 0)
            quoted = await helper(at, at.group, shown)
        else:
            eve = at.telegram.add_user("Eve", started=False)
            at.telegram.pass_time()
            said = await at.telegram.person_sends(eve, at.group, "mine", shown.id)
            quoted = await helper(at, at.group, said)
            await at.until_stored(about_key(f"{at.group.id}:{quoted.id}"), value=False)
        waited.clear()
        at.telegram.pass_time()
        await at.telegram.person_sends(at.ann, at.group, "because", quoted.id)
        await at.telegram.until(lambda: not at.telegram.updates)
        assert waited == []
        assert (await at.shown(ask)).open is (replied == "note")


@pytest.mark.rule("TELEGRAM-5")
async def test_a_request_that_is_too_old_to_be_deleted_loses_its_buttons(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        at.group.reactions = frozenset()
        ask = await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        request = await helper(at, at.group, live(at.group, ask))
        await at.until_awaited(request, at.group)
        at.telegram.pass_time(49 * 3_600)
        await at.telegram.person_sends(at.ann, at.group, "not now", request.id)
        await at.telegram.until(lambda: not request.buttons)
        ask = await at.shown(ask)
        assert (ask.status, ask.walk.reply) == (Status.CANCELLED, "not now")


async def test_a_request_is_deleted_once_telegram_can_do_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        request = await helper(at, at.group, live(at.group, ask))
        at.telegram.fail_next = ["deleteMessage"]
        await press(at, at.ann, request, LABELS.cancel)
        await at.telegram.until(lambda: request.id not in at.group.messages)
