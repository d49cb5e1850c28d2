"""Concurrent people, double clicks, old copies, ended asks, strangers: at most one step, and everybody is notified."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from answerback.core.ask import Status
from answerback.core.errors import PlatformUnavailableError
from answerback.core.walker import Person
from answerback.presentation.form_spec import Entry
from answerback_chat.delays import Delays
from answerback_slack import modals
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.slack.checks import check_view
from tests.service_support import WAIT
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, MODES, Rig, rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
ADA = Person(surface="slack", user_id="U0ADA")
BOTH = {"responders": ["U0ADA", "U0BOB"]}


@pytest.fixture(params=MODES)
async def up(request: pytest.FixtureRequest, tmp_path: Path, delays: Delays) -> AsyncIterator[Rig]:
    async with rig(tmp_path, request.param, delays) as made:
        yield made


@pytest.mark.rule("SURFACE-9")
async def test_a_stranger_learns_who_may_answer_and_opens_no_modal(up: Rig) -> None:
    ask = await up.submit(NOTE)
    await up.bob.click(up.live(ask), LABELS.end_turn)
    await up.bob.click(up.live(ask), LABELS.answer)
    notes = await up.wait_for_notes(up.bob, 2)
    assert notes == [LABELS.not_allowed.format(who="@U0ADA")] * 2
    assert up.bob.modal is None
    assert (await up.shown(ask)).open


@pytest.mark.rule("SURFACE-10")
async def test_a_late_form_is_given_back_in_full(up: Rig) -> None:
    names = [f"f{n}" for n in range(40)]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    ask = await up.submit({**NOTE, "answer_type": "schema", "schema": schema}, APPLY, **BOTH)
    for person in (up.ada, up.bob):
        await person.click(up.live(ask), LABELS.fill_in)
        await person.sees_modal()
    await up.ada.submit({"f0": "mine"})
    typed: dict[str, object] = {name: f"<{name}>" + "w" * 2_990 for name in names}
    late = await up.bob.submit(typed)
    assert late.ok
    assert up.bob.modal is not None
    seen = "".join(up.bob.sees(up.bob.modal).text.split())
    assert all(str(text) in seen for text in typed.values())


async def test_a_late_form_is_given_back_with_its_labels_and_choices(up: Rig) -> None:
    properties = {
        "name": {"type": "string", "title": "Your name"},
        "plan": {"enum": ["free", "team"]},
        "days": {"type": "array", "items": {"enum": ["Mo", "Tu", "We"]}},
        "terms": {"type": "boolean"},
        "from": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "left": {"type": "string"},
    }
    schema = {"type": "object", "properties": properties, "required": ["terms"]}
    ask = await up.submit({**NOTE, "answer_type": "schema", "schema": schema}, APPLY, **BOTH)
    for person in (up.ada, up.bob):
        await person.click(up.live(ask), LABELS.fill_in)
        await person.sees_modal()
    await up.ada.submit({"terms": LABELS.no})
    entered = {"Your name": "Bob", "plan": "team", "days": ["Mo", "We"], "terms": LABELS.yes}
    await up.bob.submit({**entered, "from": "2026-05-31", "at": 1_780_000_000})
    assert up.bob.modal is not None
    assert up.bob.sees(up.bob.modal).text.splitlines()[-6:] == [
        "Your name: Bob",
        "plan: team",
        "days: Mo, We",
        f"terms: {LABELS.yes}",
        "from: 2026-05-31",
        "at: 2026-05-28 20:26 UTC",
    ]


@pytest.mark.parametrize(
    ("character", "all_of_it"),
    [("a", True), ('"', True), ("漢", False), ("\U0001f600", False), ("\u202e", False)],
)
def test_a_rejected_submission_is_shown_as_far_as_a_view_holds_it(
    character: str, all_of_it: bool
) -> None:
    view = json.loads(
        json.dumps(
            modals.rejected_submission_modal(Entry.REPLY, "Too late.", character * 120_000, LABELS)
        )
    )
    assert check_view(view, foreign=False) == []
    assert len(json.dumps(view)) > 120_000
    assert (view["blocks"][-1]["type"] == "section") == all_of_it


@pytest.mark.rule("SLACK-8")
async def test_the_members_of_a_user_group_may_answer(up: Rig) -> None:
    up.slack.workspace.add_group("S0OPS", up.bob.id)
    ask = await up.submit(APPLY, responders=["@S0OPS"])
    await up.ada.click(up.live(ask), LABELS.yes)
    assert len(await up.wait_for_notes(up.ada)) == 1
    await up.bob.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status is Status.ANSWERED
    assert up.slack.count("usergroups.users.list") == 3  # for the post, and for each click


async def test_everyone_who_acts_during_a_lookup_shares_the_next_one(up: Rig) -> None:
    up.slack.workspace.add_group("S0OPS", up.bob.id)
    surface, ops = up.app.surface, frozenset({"S0OPS"})
    held = up.slack.faults.add("usergroups.users.list", hang=True)
    first = asyncio.create_task(surface.groups_of(ADA, ops))
    await up.slack.until(lambda: held.hits)
    later = [asyncio.create_task(surface.groups_of(ADA, ops)) for _ in range(3)]
    await asyncio.sleep(0)  # they wait for the lookup that is in progress
    up.slack.workspace.add_group("S0OPS", ADA.user_id)
    held.release()
    assert await asyncio.gather(*later) == [ops] * 3
    await first
    assert up.slack.count("usergroups.users.list") == 2


async def test_while_a_group_cannot_be_looked_up_its_members_are_asked_to_try_again(
    up: Rig,
) -> None:
    up.slack.workspace.add_group("S0OPS", up.bob.id)
    up.slack.faults.add("usergroups.users.list", status=500, times=None)
    ask = await up.submit(NOTE, responders=["@S0OPS"])
    await up.bob.click(up.live(ask), LABELS.end_turn)
    await up.bob.click(up.live(ask), LABELS.answer)
    assert await up.wait_for_notes(up.bob, 2) == [LABELS.unchecked] * 2
    up.slack.faults.clear()
    await up.bob.click(up.live(ask), LABELS.answer)
    await up.bob.sees_modal()


async def test_an_unknown_group_does_not_lock_out_members_of_another(up: Rig) -> None:
    up.slack.workspace.add_group("S0OPS", up.bob.id)
    ask = await up.submit(APPLY, responders=["@S0GONE", "@S0OPS"])
    await up.ada.click(up.live(ask), LABELS.yes)
    [note] = await up.wait_for_notes(up.ada)
    assert note.endswith("may answer here. Nothing was changed.")
    await up.bob.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("SLACK-7")
@pytest.mark.parametrize("delays", [replace(PATIENT, groups=0.3)])
async def test_a_slow_group_lookup_holds_up_no_click(up: Rig) -> None:
    up.slack.workspace.add_group("S0OPS", up.bob.id)
    held = up.slack.faults.add("usergroups.users.list", hang=True, times=2)
    ask = await up.submit(APPLY, responders=["@S0OPS", "@S0TOO"])
    ack = await up.bob.click(up.live(ask), LABELS.yes)
    assert ack is not None
    assert ack.ok
    assert await up.wait_for_notes(up.bob) == [LABELS.unchecked]
    await up.slack.until(lambda: held.hits == 2)
    held.release()
    async with asyncio.timeout(WAIT):
        while (await up.shown(ask)).open:
            await up.bob.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("SLACK-7", "DATA-4")
async def test_a_click_is_acknowledged_while_slack_hangs(up: Rig) -> None:
    ask = await up.submit(APPLY, NOTE)
    held = up.slack.faults.add("chat.update", hang=True)
    ack = await up.ada.click(up.live(ask), LABELS.yes)
    assert ack is not None
    assert ack.ok
    stored = await up.app.store.asks.get(ask.id)
    assert stored is not None
    assert stored.revision == 2
    await up.slack.until(lambda: held.hits)
    held.release()


@pytest.mark.rule("WHO-1")
async def test_a_guest_is_named_with_their_workspace(up: Rig) -> None:
    guest = up.slack.person("U0EVE", "eve", team="T0ELSE")
    up.slack.workspace.channels[CHANNEL].members.add(guest.id)
    ask = await up.submit(APPLY, responders=["anyone"])
    await guest.click(up.live(ask), LABELS.yes)
    ask = await up.shown(ask)
    assert ask.outcome is not None
    assert ask.outcome.ended_by is not None
    assert ask.outcome.ended_by.user_id == "U0EVE"
    assert ask.outcome.ended_by.name == "eve (T0ELSE)"


@pytest.mark.usefixtures("impatient")
@pytest.mark.rule("SURFACE-16", "SLACK-7")
async def test_a_click_that_cannot_be_saved_is_not_acknowledged_and_the_person_is_notified(
    up: Rig,
) -> None:
    ask = await up.submit(APPLY)
    live = up.live(ask)
    await up.app.store.close()
    ack = await up.ada.click(live, LABELS.yes)
    assert ack is not None
    assert not ack.ok
    assert await up.wait_for_notes(up.ada) == [LABELS.try_again]
    await up.app.store.open()
    assert (await up.shown(ask)).open


@pytest.mark.rule("SURFACE-15")
async def test_if_slack_does_not_open_a_modal_the_person_is_asked_to_press_again(up: Rig) -> None:
    ask = await up.submit(NOTE)
    up.slack.faults.add("views.open", error="expired_trigger_id")
    await up.ada.click(up.live(ask), LABELS.answer)
    assert await up.wait_for_notes(up.ada) == [LABELS.press_again]


@pytest.mark.rule("SURFACE-15")
async def test_an_unknown_control_gets_a_reply(up: Rig) -> None:
    ask = await up.submit(APPLY)
    live = up.live(ask)
    for element in live.blocks[-1]["elements"]:
        element["value"] = "ab0:something:older"
    await up.ada.click(
        live, LABELS.back if LABELS.back in up.ada.sees(live).buttons else LABELS.reply
    )
    assert await up.wait_for_notes(up.ada) == [LABELS.not_found]


async def test_an_unknown_group_lets_nobody_in(up: Rig) -> None:
    ask = await up.submit(APPLY, responders=["@S0NONE", up.bob.id])
    await up.ada.click(up.live(ask), LABELS.yes)
    assert len(await up.wait_for_notes(up.ada)) == 1
    assert (await up.shown(ask)).open
    up.slack.faults.add("usergroups.users.list", status=500)
    with pytest.raises(PlatformUnavailableError):
        await up.app.surface.groups_of(ADA, frozenset({"S0OTHER"}))
