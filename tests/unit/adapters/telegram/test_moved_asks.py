"""The message of an ask where it has moved to."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from answerback.core.ask import Ask, Destination, Status
from answerback.ports.surface import Shown
from tests.service_support import escalate_to
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press


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
