"""The message of an ask where it has moved to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Destination, Status
from answerback.core.labels import Labels
from answerback.ports.surface import Shown
from answerback.service.submission_request import Route, Routes
from tests.fakes.telegram.server import FakeTelegram
from tests.service_support import escalate_to
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_entries import helper
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

LABELS = Labels()
LONG = {**GO, "context": "word " * 2_000}


@pytest.mark.rule("TELEGRAM-8")
async def test_a_message_that_is_clicked_before_it_is_stored_is_no_second_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig(tmp_path) as at:
        there = at.telegram.add_group("leads")
        ask = await at.submit([GO])
        clicked, save = asyncio.Event(), at.store.asks.save_shown

        async def save_late(ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
            if "id" in shown.message:
                await clicked.wait()
            return await save(ask_id, shown, of)

        monkeypatch.setattr(at.store.asks, "save_shown", save_late)
        await escalate_to(at.service, ask, Destination(surface="telegram", channel=str(there.id)))
        await at.telegram.until(lambda: there.messages)
        [moved] = there.messages.values()
        await press(at, at.ann, moved, "Yes")
        clicked.set()
        assert (await at.shown(ask)).status is Status.ANSWERED
    # By now everything has happened that follows the click.
    assert [*there.messages.values()] == [moved]


@pytest.mark.rule("SURFACE-14", "SURFACE-17")
@pytest.mark.parametrize("to", ["group", "person"])
async def test_the_note_in_the_old_place_names_the_new_one(tmp_path: Path, to: str) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        old = live(at.group, ask)
        leads = at.telegram.add_group("leads")
        there = {"channel": str(leads.id)} if to == "group" else {"user": str(at.ann.id)}
        await escalate_to(at.service, ask, Destination(surface="telegram", **there))
        name = "leads" if to == "group" else "Ann"
        await at.telegram.until(lambda: old.text == f"This question has moved to {name}.")


@pytest.mark.rule("TELEGRAM-17")
@pytest.mark.parametrize("to", ["group", "topic", "person"])
async def test_a_full_text_that_was_left_open_is_shown_again_where_the_ask_has_moved(
    tmp_path: Path, to: str
) -> None:
    async with rig(tmp_path) as at:
        at.group.topics.add(45)
        ask = await at.submit([LONG])
        before = live(at.group, ask)
        await press(at, at.ann, before, LABELS.details)
        left = await helper(at, at.group, before)
        there, chat = {
            "group": ({"channel": str(at.telegram.add_group("leads").id)}, None),
            "topic": ({"channel": str(at.group.id), "thread": "45"}, at.group),
            "person": ({"user": str(at.ann.id)}, None),
        }[to]
        await escalate_to(at.service, ask, Destination(surface="telegram", **there))
        chat = chat or at.telegram.chats[int(there.get("channel") or there["user"])]
        shown = live(chat, await at.shown(ask))
        await press(at, at.ann, shown, LABELS.details)
        full = await helper(at, chat, shown)
        assert (full.thread, full.text) == (shown.thread, left.text)
        assert await press(at, at.ann, full, LABELS.close) == ""
        await at.telegram.until(lambda: full.id not in chat.messages)
        assert left.id in at.group.messages


@pytest.mark.rule("TELEGRAM-17", "CONFIRM-2")
async def test_whoever_confirms_reads_in_full_what_somebody_else_has_left_open(
    tmp_path: Path,
) -> None:
    async with FakeTelegram() as telegram:
        ann, eve = telegram.add_user("Ann"), telegram.add_user("Eve")
        route = {
            "to": f"telegram:@{ann.id}",
            "responders": [str(ann.id)],
            "confirmations": {"count": 1, "from": [str(eve.id)]},
        }
        routes = Routes(by_name={"ann": Route.model_validate(route)})
        async with rig(tmp_path, telegram=telegram, ann=ann, routes=routes) as at:
            ask = await at.submit([LONG], to="ann", responders=None)
            own, chat = telegram.chats[ann.id], telegram.chats[eve.id]
            asked = live(own, ask)
            await press(at, ann, asked, LABELS.details)
            left = await helper(at, own, asked)
            await press(at, ann, asked, "Yes")
            await telegram.until(lambda: chat.messages)
            await at.shown(ask)
            [copy] = chat.messages.values()
            await press(at, eve, copy, LABELS.details)
            assert (await helper(at, chat, copy)).text.startswith(left.text[:500])
