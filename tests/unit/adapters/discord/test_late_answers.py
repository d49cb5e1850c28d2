"""Responses that Discord applies late: whatever comes last, the message ends up in the ask's stored state."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback_discord import pending_edits as answers_module
from answerback_discord.api_client import ResponseResult
from answerback_discord.pending_edits import PendingEdits
from answerback_testing.example_asks import FORM, with_values
from tests.unit.adapters.discord.examples import ask_of
from tests.unit.adapters.discord.rig import Rig, rig

CALLBACK, EDIT = "POST /interactions/*/*/callback", "PATCH /channels/*/messages/*"
MANY: list[dict[str, Any]] = [
    {
        "id": "pick",
        "text": "Pick one",
        "answer_type": "select",
        "options": [f"number {n}" for n in range(60)],
    }
]
SEVERAL = [{**MANY[0], "answer_type": "multi_select"}]
GO: dict[str, Any] = {"id": "go", "text": "Go on?", "answer_type": "boolean"}
WHY: dict[str, Any] = {"id": "why", "text": "Why so?", "answer_type": "text"}
ACCEPTED = ResponseResult(True, 5.0)
MESSAGE = "5"


async def test_a_late_selection_does_not_replace_the_record(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, "gateway") as up:
        bob = up.discord.person("bob", up.guild)
        people = [str(up.ann.id), str(bob.id)]
        ask = await up.shown(await up.submit(SEVERAL, responders=people))
        message = up.ann.latest(up.channel).message
        late = up.discord.faults.hang(CALLBACK)
        ticked = await up.ann.choose(None, ["number 3"], on=message, wait=False)
        await up.discord.bell.until(lambda: late.hits == 1)
        await bob.click("Reply", on=message)
        await bob.submit()
        late.release()
        await up.ann.ended(ticked)
        assert (await up.until_current(ask)).status == "cancelled"
        assert up.ann.sees(message).controls == []


async def test_an_edit_waits_for_a_response_of_unknown_outcome(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, "gateway", confirm_after=0.4) as up:
        ask = await up.shown(await up.submit(SEVERAL))
        loop = asyncio.get_running_loop()
        up.discord.faults.drop(CALLBACK, after=True, times=2)
        clicked = loop.time()
        await up.ann.choose(None, ["number 3"], wait=False)
        await up.discord.faults.called(CALLBACK, 2)
        await _answered(up, ask, Answer(value=["number 3"]))
        await up.until_current(ask)
        assert loop.time() - clicked >= 0.4
        assert up.discord.faults.count(EDIT) == 1
        assert up.ann.latest(up.channel).controls == []


async def test_an_edit_waits_for_an_http_response_to_a_selection(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, "http", gateway=False, confirm_after=0.4) as up:
        ask = await up.shown(await up.submit(SEVERAL))
        loop = asyncio.get_running_loop()
        ticked = loop.time()
        await up.ann.choose(None, ["number 3"])
        await _answered(up, ask, Answer(value=["number 3"]))
        await up.until_current(ask)
        assert loop.time() - ticked >= 0.4
        assert up.ann.latest(up.channel).controls == []


async def test_an_edit_waits_for_a_response_to_a_message_that_is_not_recorded_yet(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, "gateway") as up:
        posted = up.discord.faults.hang("POST /channels/*/messages", after=True)
        ask = await up.submit([{**each, "answer_type": "boolean"} for each in (GO, WHY)])
        await up.ann.finds(GO["text"], up.channel)
        message = up.ann.latest(up.channel).message
        late = up.discord.faults.hang(CALLBACK)
        clicked = await up.ann.click("Yes", on=message, wait=False)
        await up.discord.bell.until(lambda: late.hits == 1)
        posted.release()
        await up.service.withdraw(ask.id)
        marker = await up.submit([WHY])
        await up.discord.faults.called("POST /channels/*/messages/*/threads", 2)
        late.release()
        await up.ann.ended(clicked)
        await up.until_current(ask)
        await up.shown(marker)
        assert up.ann.sees(message).controls == []


@pytest.mark.parametrize("method", ["draft", "change_draft"], ids=["turns a page", "selects"])
async def test_a_person_who_uses_a_list_while_somebody_answers_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    async with rig(tmp_path, "http", gateway=False) as up:
        ask = await up.shown(await up.submit(SEVERAL))
        looked = getattr(up.service, method)

        async def answered_meanwhile(*args: Any) -> Any:
            await _answered(up, ask, Answer(value=["number 3"]))
            return await looked(*args)

        monkeypatch.setattr(up.service, method, answered_meanwhile)
        clicked = up.ann.click("Next") if method == "draft" else up.ann.choose(None, ["number 4"])
        assert (await clicked).answered
        await up.ann.finds("have ended")
        await up.until_current(ask)
        assert up.ann.latest(up.channel).controls == []


async def test_an_outdated_message_is_answered_with_the_newest_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig(tmp_path, "http", gateway=False) as up:
        ask = await up.shown(await up.submit([GO, *SEVERAL, WHY]))
        copy = up.ann.copy(up.ann.latest(up.channel).message)
        assert (await up.ann.click("Yes")).answered
        await up.until_current(ask)  # from now on, only the click looks for a selection
        looked = up.service.draft

        answers = [Answer(value=["number 3"])]

        async def answered_meanwhile(key: str) -> Any:
            while answers:
                await _answered(up, ask, answers.pop())
            return await looked(key)

        monkeypatch.setattr(up.service, "draft", answered_meanwhile)
        made = await up.ann.click_on(copy, "No")
        assert made.callback is not None
        assert WHY["text"] in str(made.callback["data"])


async def test_cancelling_an_edit_does_not_cancel_the_response_it_waits_for() -> None:
    answers, ask, taken = PendingEdits(0.0), _ask(2), _taken()
    answers.track_response(ask, MESSAGE, taken)
    waiting = asyncio.create_task(answers.updated_at(ask))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    taken.set_result(ACCEPTED)
    assert await answers.updated_at(ask) == ACCEPTED.updated_at


async def test_a_response_counts_even_if_its_message_was_recorded_only_later() -> None:
    answers, taken = PendingEdits(60.0), _taken()
    answers.track_response(with_values(_ask(2), message={}), MESSAGE, taken)
    taken.set_result(ACCEPTED)
    assert await answers.updated_at(_ask(2)) == ACCEPTED.updated_at
    answers.record_unconfirmed_response(with_values(_ask(2), message={}), MESSAGE)
    assert answers.seconds_unconfirmed(_ask(2)) > 0


async def test_an_edit_is_needed_unless_the_last_response_shows_the_state() -> None:
    answers = PendingEdits(0.0)
    first, second = _taken(), _taken()
    answers.track_response(_ask(1), MESSAGE, first)
    answers.track_response(_ask(2), MESSAGE, second)
    first.set_result(ACCEPTED)
    second.set_result(ACCEPTED)
    assert not await answers.updated_at(_ask(2)), "nobody knows which of the two was applied last"
    for revision in (1, 2):
        settled = _taken()
        answers.track_response(_ask(revision), MESSAGE, settled)
        settled.set_result(ACCEPTED)
    assert await answers.updated_at(_ask(2)), "the first was applied before the second was sent"
    answers.track_response(_ask(2), MESSAGE, refused := _taken())
    refused.set_result(ResponseResult(False))
    assert not await answers.updated_at(_ask(2))


async def test_a_response_in_flight_during_an_edit_does_not_make_the_next_edit_unnecessary() -> (
    None
):
    answers, done, under_way = PendingEdits(0.0), _taken(), _taken()
    answers.track_response(_ask(2), MESSAGE, done)
    done.set_result(ACCEPTED)
    answers.record_edit(_ask(2))
    assert not await answers.updated_at(_ask(2))
    answers.track_response(_ask(3), MESSAGE, under_way)
    answers.record_edit(_ask(2))
    under_way.set_result(ACCEPTED)
    assert not await answers.updated_at(_ask(3))


async def test_a_response_next_to_an_unconfirmed_one_does_not_make_an_edit_unnecessary() -> None:
    answers, taken = PendingEdits(60.0), _taken()
    answers.record_unconfirmed_response(_ask(2), MESSAGE)
    answers.track_response(_ask(3), MESSAGE, taken)
    taken.set_result(ACCEPTED)
    assert not await answers.updated_at(_ask(3))


async def test_a_different_appearance_at_the_same_revision_is_not_up_to_date() -> None:
    answers, taken = PendingEdits(0.0), _taken()
    answers.track_response(_ask(2), MESSAGE, taken)
    taken.set_result(ACCEPTED)
    assert not await answers.updated_at(with_values(_ask(2), agent_left=True))


async def test_responses_are_tracked_for_a_limited_number_of_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answers_module, "_MAX_TRACKED", 2)
    answers = PendingEdits(60.0)
    for number in range(3):
        ask = replace(_ask(2), id=f"ask_{number}")
        answers.record_unconfirmed_response(ask, MESSAGE)
    gone, kept = replace(_ask(2), id="ask_0"), replace(_ask(2), id="ask_1")
    elsewhere = replace(kept, placement=replace(kept.placement, message={"id": "6"}))
    assert [answers.seconds_unconfirmed(ask) > 0 for ask in (gone, kept, elsewhere)] == [
        False,
        True,
        False,
    ]
    for number in range(3):
        taken = _taken()
        answers.track_response(replace(_ask(2), id=f"other_{number}"), MESSAGE, taken)
        taken.set_result(ACCEPTED)
    gone, kept = replace(_ask(2), id="other_0"), replace(_ask(2), id="other_1")
    elsewhere = replace(kept, placement=replace(kept.placement, message={"id": "6"}))
    asks = (gone, kept, elsewhere)
    assert [await answers.updated_at(ask) for ask in asks] == [None, 5.0, None]


def _ask(revision: int) -> Ask:
    return ask_of(FORM, revision=revision, message={"id": MESSAGE})


def _taken() -> asyncio.Future[ResponseResult]:
    return asyncio.get_running_loop().create_future()


async def _answered(up: Rig, ask: Ask, answer: Answer) -> None:
    ann = Actor(Person(surface="discord", user_id=str(up.ann.id), name="Ann"))
    await up.service.act(ask.id, answer, ann)
