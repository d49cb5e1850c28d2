"""Outdated copies: a person who uses one gets a truthful explanation, and the message is updated at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.ask import Ask, Change, Status
from answerback.ports.store import Decision, Write
from answerback.workers.message_sync import SyncPace
from answerback_slack import interactions
from tests.fakes.long_timeouts import PATIENT
from tests.unit.adapters.slack.rig import LABELS, Rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}
BOTH = {"responders": ["U0ADA", "U0BOB"]}
GIVEN_UP_AFTER = interactions._TRIGGER_SECONDS
"""Seconds, where no test says otherwise."""


async def _aged(up: Rig, ask: Ask, seconds: float) -> None:
    """Move the last change of an ask this far into the past."""

    def aged(latest: Ask | None) -> Decision[None]:
        assert latest is not None
        return Decision(Write(replace(latest, updated_at=latest.updated_at - seconds)), None)

    await up.app.store.asks.change(ask.id, aged)


@pytest.mark.parametrize("code", ["missing_scope", "message_limit_exceeded"])
async def test_a_click_on_an_outdated_copy_updates_the_message_at_once(up: Rig, code: str) -> None:
    ask = await up.submit(APPLY, NOTE, **BOTH)
    copy = up.live(ask).snapshot()
    refused = up.slack.faults.add("chat.update", error=code)
    await up.ada.click(up.live(ask), LABELS.yes)
    await up.app.shower.wait_until_idle()
    assert refused.hits == 1
    assert up.live(ask).payload()["text"] == copy.payload["text"]
    await _aged(up, ask, 60)
    await up.bob.click(up.live(ask), LABELS.no)
    assert await up.wait_for_notes(up.bob) == [LABELS.out_of_date.format(question="A note?")]
    await up.slack.until(lambda: "A note?" in up.bob.sees(up.live(ask)).text)
    assert (await up.shown(ask)).revision == 2


async def test_a_click_ends_the_pause_after_an_outage(up: Rig) -> None:
    up.app.shower.pace = SyncPace(first_pause=3_600.0, max_pause=3_600.0)
    ask = await up.submit(APPLY, NOTE, **BOTH)
    down = up.slack.faults.add("chat.update", status=503)
    await up.ada.click(up.live(ask), LABELS.yes)
    await up.slack.until(lambda: down.hits)
    await up.bob.click(up.live(ask), LABELS.no)
    assert await up.wait_for_notes(up.bob) == [LABELS.too_late.format(name="@U0ADA")]
    await up.slack.until(lambda: "A note?" in up.bob.sees(up.live(ask)).text)


@pytest.mark.parametrize("code", ["restricted_action", "is_archived", "not_in_channel"])
async def test_a_record_that_could_not_be_shown_is_shown_on_the_next_click(
    up: Rig, code: str
) -> None:
    ask = await up.submit(APPLY, **BOTH)
    refused = up.slack.faults.add("chat.update", error=code)
    await up.ada.click(up.live(ask), LABELS.yes)
    await up.slack.until(lambda: refused.hits)
    await up.app.shower.wait_until_idle()
    await _aged(up, ask, 60)
    await up.bob.click(up.live(ask), LABELS.no)
    assert await up.wait_for_notes(up.bob) == [LABELS.has_ended.format(how="Answered by @U0ADA")]
    await up.slack.until(lambda: LABELS.answered in up.bob.sees(up.live(ask)).text)
    assert (await up.shown(ask)).status is Status.ANSWERED


async def test_a_modal_submitted_from_an_old_copy_says_that_the_copy_was_outdated(up: Rig) -> None:
    ask = await up.submit(NOTE, APPLY, **BOTH)
    await up.bob.click(up.live(ask), LABELS.answer)
    await up.bob.sees_modal()
    await up.ada.click(up.live(ask), LABELS.answer)
    await up.ada.sees_modal()
    await up.ada.submit({LABELS.other_label: "mine"})
    await up.shown(ask)
    await _aged(up, ask, 60)
    before = up.slack.count("chat.update")
    await up.bob.submit({LABELS.other_label: "a thought"})
    assert up.bob.modal is not None
    assert LABELS.out_of_date.partition("{question}")[0] in up.bob.sees(up.bob.modal).text
    await up.slack.until(lambda: up.slack.count("chat.update") == before + 1)


async def test_a_question_moved_by_the_clock_is_not_blamed_on_another_person(up: Rig) -> None:
    ask = await up.submit(APPLY, NOTE, **BOTH)
    await up.ada.click(up.live(ask), LABELS.yes)
    ask = await up.shown(ask)
    copy = up.live(ask).snapshot()

    def moved(latest: Ask, at: float) -> Change:
        return Change(replace(latest, revision=latest.revision + 1, updated_at=at), ())

    await up.app.service.update(ask.id, moved)
    await up.bob.click_on(copy, LABELS.back)
    assert await up.wait_for_notes(up.bob) == [LABELS.too_late_unknown]


async def test_a_double_click_causes_no_edit(up: Rig) -> None:
    ask = await up.submit(APPLY, NOTE)
    copy = up.live(ask).snapshot()
    await up.ada.click_on(copy, LABELS.yes)
    await up.shown(ask)
    before = up.slack.count("chat.update")
    await up.ada.click_on(copy, LABELS.yes)
    await up.wait_for_notes(up.ada)
    await up.shown(ask)
    assert up.slack.count("chat.update") == before


@pytest.mark.parametrize("delays", [replace(PATIENT, call=3_600.0)])
async def test_opening_a_slow_modal_is_abandoned_before_its_trigger_expires(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert GIVEN_UP_AFTER < 3
    ask = await up.submit(NOTE)
    up.slack.faults.add("views.open", hang=True)
    with monkeypatch.context() as hurried:
        hurried.setattr(interactions, "_TRIGGER_SECONDS", 0.3)
        await up.ada.click(up.live(ask), LABELS.answer)
        assert await up.wait_for_notes(up.ada) == [LABELS.press_again]
    await up.ada.click(up.live(ask), LABELS.answer)
    await up.ada.sees_modal()


async def test_the_person_is_notified_if_a_page_cannot_be_turned(up: Rig) -> None:
    ask = await up.submit({**NOTE, "context": "漢" * 20_000, "text": "word " * 3_900})
    await up.ada.click(up.live(ask), LABELS.details)
    modal = await up.ada.sees_modal()
    up.slack.faults.add("views.update", status=503)
    await up.ada.click(modal, LABELS.next)
    assert await up.wait_for_notes(up.ada) == [LABELS.press_again]
