"""Submit takes only the selection that its own message shows, even if responses that showed it were lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from tests import matrix
from tests.fakes.discord import interactions
from tests.fakes.discord.interactions import Interaction
from tests.fakes.discord.world import Message
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig
from tests.unit.adapters.discord.sight import remove_escapes

CALLBACK = "POST /interactions/*/*/callback"
FEW = ["orders", "users", "events"]
LABELS = Labels()
CHANGED = LABELS.selection_changed.format(submit="Submit")


pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        yield made


def wiping(options: list[str] | None = None) -> list[dict[str, Any]]:
    text = "Which shall be wiped?"
    kind = "multi_select"
    return [{"id": "dbs", "text": text, "answer_type": kind, "options": options or FEW}]


def many() -> list[dict[str, Any]]:
    return wiping([f"number {n}" for n in range(60)])


async def post_ask(up: Rig, questions: list[dict[str, Any]], **fields: Any) -> Ask:
    return await up.shown(await up.submit(questions, **fields))


async def wait_for_failure(up: Rig, made: Interaction) -> None:
    """Wait until an interaction whose response was lost has failed for its person."""
    if not up.discord.application.interactions_endpoint_url:
        await up.discord.faults.called(CALLBACK, 2)
        up.discord.clock.advance(interactions.ANSWER_WITHIN)
    await up.ann.ended(made)
    assert made.failed


def lose_the_next_answer(up: Rig) -> None:
    up.discord.interactions.lose_answers = 1
    up.discord.faults.drop(CALLBACK, after=False, times=2)


def latest_list(up: Rig) -> Message:
    """The list that Ann last opened."""
    return up.ann.notes()[0].message


def live_message(up: Rig) -> Message:
    return up.ann.latest(up.channel).message


async def answers(up: Rig, ask: Ask) -> list[Any]:
    return [given.value for given in (await up.shown(ask)).walk.answers]


async def expect_refused_and_redrawn(up: Rig, made: Interaction, chosen: list[str]) -> None:
    assert made.answered
    await up.ann.finds(CHANGED)
    assert up.ann.latest(up.channel).selects[0].chosen == chosen


@pytest.mark.rule("DISCORD-3")
async def test_submit_does_not_take_a_selection_whose_response_was_lost(up: Rig) -> None:
    ask = await post_ask(up, wiping())
    seen = up.ann.copy(live_message(up))
    lose_the_next_answer(up)
    await wait_for_failure(up, await up.ann.choose(None, FEW, wait=False))
    await expect_refused_and_redrawn(up, await up.ann.click_on(seen, "Submit"), FEW)
    assert await answers(up, ask) == []
    await up.ann.choose(None, ["users"])
    await up.ann.click("Submit")
    assert await answers(up, ask) == [["users"]]


async def test_a_selection_whose_response_was_lost_is_shown_by_an_edit(tmp_path: Path) -> None:
    async with rig(tmp_path, "gateway") as up:
        ask = await post_ask(up, wiping())
        lose_the_next_answer(up)
        await wait_for_failure(up, await up.ann.choose(None, ["users"], wait=False))
        await up.ann.until(lambda: up.ann.latest(up.channel).selects[0].chosen == ["users"])
        await up.ann.click("Submit")
        assert await answers(up, ask) == [["users"]]


@pytest.mark.rule("DISCORD-3")
async def test_submit_is_refused_before_the_selection_is_shown(tmp_path: Path) -> None:
    async with rig(tmp_path, "gateway") as up:
        ask = await post_ask(up, wiping())
        seen = up.ann.copy(live_message(up))
        late = up.discord.faults.hang(CALLBACK)
        ticking = await up.ann.choose(None, ["orders"], on=seen, wait=False)
        await up.ann.until(lambda: late.hits == 1)
        await expect_refused_and_redrawn(up, await up.ann.click_on(seen, "Submit"), ["orders"])
        late.release()
        await up.ann.ended(ticking)
        await up.ann.click("Submit")
        assert await answers(up, ask) == [["orders"]]


async def test_a_late_response_shows_an_old_selection_that_submit_then_refuses(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, "gateway") as up:
        ask = await post_ask(up, wiping())
        seen = up.ann.copy(live_message(up))
        late = up.discord.faults.hang(CALLBACK)
        first = await up.ann.choose(None, FEW, on=seen, wait=False)
        await up.ann.until(lambda: late.hits == 1)
        await up.ann.click_on(seen, "Choose…", ["users"])
        late.release()
        await up.ann.ended(first)
        assert up.ann.latest(up.channel).selects[0].chosen == FEW
        await expect_refused_and_redrawn(up, await up.ann.click("Submit"), ["users"])
        assert await answers(up, ask) == []


async def test_submit_from_another_client_takes_the_selection_that_client_shows(
    up: Rig,
) -> None:
    ask = await post_ask(up, wiping())
    phone = up.ann.copy(live_message(up))
    await up.ann.choose(None, ["orders", "users"])
    await expect_refused_and_redrawn(
        up, await up.ann.click_on(phone, "Submit"), ["orders", "users"]
    )
    assert await answers(up, ask) == []


async def test_a_selection_on_another_page_whose_response_was_lost_is_shown_before_it_counts(
    up: Rig,
) -> None:
    ask = await post_ask(up, many())
    await up.ann.click("Next")
    seen = up.ann.copy(latest_list(up))
    lose_the_next_answer(up)
    await wait_for_failure(up, await up.ann.choose(None, ["number 30"], on=seen, wait=False))
    made = await up.ann.click_on(seen, "Submit")
    assert made.answered
    assert CHANGED in remove_escapes(up.ann.sees(seen).text)
    assert "☑ number 30" in up.ann.sees(seen).text
    await up.ann.until(lambda: "☑ number 30" in up.ann.latest(up.channel).text)
    await up.ann.click("Submit", on=live_message(up))
    assert await answers(up, ask) == [["number 30"]]


async def test_a_selection_in_search_results_whose_response_was_lost_is_shown_before_it_counts(
    up: Rig,
) -> None:
    ask = await post_ask(up, many())
    await up.ann.click("Search…")
    up.ann.fill("Search…", "number 59")
    await up.ann.submit()
    seen = up.ann.copy(latest_list(up))
    lose_the_next_answer(up)
    await wait_for_failure(up, await up.ann.choose(None, ["number 59"], on=seen, wait=False))
    assert (await up.ann.click_on(seen, "Submit")).answered
    assert CHANGED in remove_escapes(up.ann.sees(seen).text)
    assert "☑ number 59" in up.ann.sees(seen).text
    assert await answers(up, ask) == []


@pytest.mark.rule("DISCORD-3")
async def test_submit_never_takes_an_unseen_selection_of_somebody_else(up: Rig) -> None:
    bob = up.discord.person("bob", up.guild)
    ask = await post_ask(up, many(), responders="anyone")
    await up.ann.choose(None, ["number 3"])
    seen = up.ann.copy(live_message(up))
    await bob.choose(None, ["number 3", "number 4"])
    both = ["number 3", "number 4"]
    await expect_refused_and_redrawn(up, await up.ann.click_on(seen, "Submit"), both)
    assert await answers(up, ask) == []
    await up.ann.click("Submit")
    assert await answers(up, ask) == [both]


@pytest.mark.rule("DISCORD-2")
async def test_the_selection_is_kept_across_pages_and_searches(up: Rig) -> None:
    ask = await post_ask(up, many())
    await up.ann.choose(None, ["number 3"])
    await up.ann.click("Next")
    mine = latest_list(up)
    await up.ann.choose(None, ["number 30", "number 31"], on=mine)
    await up.ann.click("Search…", on=mine)
    up.ann.fill("Search…", "number 59")
    assert (await up.ann.submit()).answered
    await up.ann.choose(None, ["number 59"], on=mine)
    assert "number 30" in up.ann.sees(mine).text
    await up.ann.click("Close", on=mine)
    assert up.ann.sees(mine).selects[0].chosen == ["number 3"]
    assert len(up.ann.notes()) == 1, "a list goes on where it was opened"
    await up.ann.click("Submit", on=mine)
    assert await answers(up, ask) == [["number 3", "number 30", "number 31", "number 59"]]


@pytest.mark.rule("DISCORD-2", "CARE-5")
async def test_pages_turn_for_one_person_and_the_message_shows_their_selection(
    up: Rig,
) -> None:
    bob = up.discord.person("bob", up.guild)
    ask = await post_ask(up, many(), responders="anyone")
    before = up.ann.sees(live_message(up)).controls
    await up.ann.click("Next")
    mine = latest_list(up)
    assert up.ann.sees(mine).selects[0].options[0].label == "number 25"
    assert [c.component for c in bob.sees(live_message(up)).controls] == [
        c.component for c in before
    ]
    assert bob.notes() == []
    await up.ann.choose(None, ["number 30"], on=mine)
    await bob.finds("☑ number 30", up.channel)
    await bob.click("Submit", on=live_message(up))
    assert await answers(up, ask) == [["number 30"]]
    await up.ann.click("Submit", on=mine)
    assert f"<@{bob.id}>" in up.ann.sees(mine).text


@pytest.mark.rule("DISCORD-2")
async def test_an_option_is_searched_for_and_picked_on_a_private_list(up: Rig) -> None:
    form = [{**many()[0], "answer_type": "select"}]
    ask = await post_ask(up, [*form, {"id": "go", "text": "Go on?", "answer_type": "boolean"}])
    await up.ann.click("Search…")
    up.ann.fill("Search…", "nothing like it")
    await up.ann.submit()
    mine = latest_list(up)
    assert "Nothing matches" in up.ann.sees(mine).text
    await up.ann.click("Next", on=mine)
    await up.ann.choose(None, ["number 30"], on=mine)
    assert await answers(up, ask) == ["number 30"]
    assert up.ann.sees(mine).controls == []
    assert str(live_message(up).id) in up.ann.sees(mine).text, "it leads to the next question"
    assert "Go on?" in up.ann.latest(up.channel).text


@pytest.mark.rule("DISCORD-2")
async def test_answers_past_the_first_page_of_a_review_are_edited_from_a_private_list(
    tmp_path: Path,
) -> None:
    asked = [
        {"id": f"q{n}", "prompt": f"Question {n}?", "options": [{"value": "a", "label": "A"}]}
        for n in range(1, 28)
    ]
    async with rig(tmp_path, "http") as up:
        submitted = await up.submit([], name="question", arguments={"questions": asked})
        ask = await up.shown(submitted)
        for _ in asked:
            await up.ann.click("A")
        assert up.ann.latest(up.channel).selects[0].options[-1].label == "25. Question 25?"
        await up.ann.click("Next")
        mine = latest_list(up)
        await up.ann.choose(None, ["26. Question 26?"], on=mine)
        assert "Question 26?" in (await up.ann.finds("Question 26?", up.channel)).text
        assert up.ann.sees(mine).controls == []
        assert (await up.shown(ask)).question is not None


async def test_a_refused_note_is_logged_and_the_message_is_still_updated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(tmp_path, "gateway") as up:
        await post_ask(up, wiping())
        seen = up.ann.copy(live_message(up))
        await up.ann.choose(None, ["orders"])
        refused = up.discord.faults.code("POST /webhooks/*/*", 50035)
        assert (await up.ann.click_on(seen, "Submit")).answered
        await up.ann.until(lambda: refused.hits == 1)
        await asyncio.gather(*up.surface._background._tasks)
        assert up.ann.latest(up.channel).selects[0].chosen == ["orders"]
        assert "the note after interaction" in caplog.text


@pytest.mark.rule("CLARIFY-3")
async def test_the_selection_survives_asking_back_and_the_explanation(up: Rig) -> None:
    ask = await post_ask(up, wiping(), accepts=["clarify"])
    await up.ann.choose(None, ["orders", "users"])
    await up.ann.click(LABELS.ask_back)
    up.ann.fill(LABELS.ask_back_label.format(label="the assistant"), "What is in them?")
    assert (await up.ann.submit()).answered
    assert (await up.shown(ask)).revision == 2
    assert up.ann.latest(up.channel).selects[0].chosen == ["orders", "users"]
    await up.service.explain(ask.id, "All that was bought.")
    await up.shown(ask)
    assert up.ann.latest(up.channel).selects[0].chosen == ["orders", "users"]
    await up.ann.click(LABELS.submit)
    assert await answers(up, ask) == [["orders", "users"]]
