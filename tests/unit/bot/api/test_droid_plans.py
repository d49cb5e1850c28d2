"""Droid's plans, changed and then approved: its host takes the plan alone, so nothing else of the call can change."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_edits import code_of, serving
from tests.unit.bot.api.test_edits import submit as submit_call
from tests.unit.bot.api.test_grants import act, record

pytestmark = pytest.mark.rule("EDIT-11")
NAME = "droid.request_permission"
PLAN = "# Plan\n\n1. Move the table\n2. Drop the old one\n"
BETTER = PLAN.replace("Drop the old one", "Keep the old one")
ALLOW: Json = {"action": "answer", "value": "proceed_once"}


def call(**more: object) -> Json:
    """Return the call of Droid 0.215.0 in its spec mode, with fewer options."""
    stands = {"plan": PLAN, "title": "Move the table"}
    use: Json = {
        "toolUse": {"type": "tool_use", "id": "c1", "name": "ExitSpecMode", "input": stands},
        "confirmationType": "exit_spec_mode",
        "details": {"type": "exit_spec_mode", **stands},
    }
    options = [
        {"value": "proceed_once", "label": "Proceed with implementation"},
        {"value": "proceed_auto_run_low", "label": "Proceed, and allow file edits"},
        {"value": "cancel", "label": "No, keep iterating on spec"},
    ]
    return {"toolUses": [use], "options": options, **more}


@pytest.fixture
async def api(serve: Serve) -> AsyncIterator[Served]:
    async with serving(serve) as served:
        yield served


async def submit(api: Served, arguments: Json | None = None) -> Json:
    return await submit_call(api, name=NAME, arguments=json.dumps(arguments or call()))


async def test_the_plan_alone_can_be_changed_and_stands_once_in_the_prompt(api: Served) -> None:
    prompt = (await submit(api))["prompt"]
    assert prompt["editable"] is True
    assert prompt["plan"] is True
    assert json.loads(prompt["arguments"]) == {"plan": PLAN}
    assert prompt["context"].startswith("# Plan")
    assert prompt["context"].count("Drop the old one") == 1


async def test_droid_gets_the_changed_plan_with_the_choice_and_the_words(api: Served) -> None:
    ask = await submit(api)
    status, done = await act(api, ask, **ALLOW, edited={"plan": BETTER}, note="Mind the index.")
    assert (status, done["status"]) == (200, "answered"), done
    assert done["tool_result"]["structured"] == {
        "selectedOption": "proceed_once",
        "editedSpecContent": BETTER,
        "comment": "Mind the index.",
    }
    difference = "plan:\n- 2. Drop the old one\n+ 2. Keep the old one"
    assert done["edited"]["difference"] == difference
    [response] = [each for each in await record(api, ask) if each["type"] == "response"]
    assert response["response"]["answered"]["edited"]["difference"] == difference


async def test_where_droid_offers_its_own_option_for_a_changed_plan_that_is_what_it_gets(
    api: Served,
) -> None:
    options = [*call()["options"], {"value": "proceed_edit", "label": "Proceed with edits"}]
    ask = await submit(api, call(options=options))
    assert "proceed_edit" not in [each["value"] for each in ask["prompt"]["options"]]
    _, done = await act(api, ask, **ALLOW, edited={"plan": BETTER})
    assert done["tool_result"]["structured"] == {
        "selectedOption": "proceed_edit",
        "editedSpecContent": BETTER,
    }


async def test_a_plan_that_nobody_changed_is_approved_as_it_is(api: Served) -> None:
    ask = await submit(api)
    _, done = await act(api, ask, **ALLOW, edited={"plan": PLAN})
    assert done["tool_result"]["structured"] == {"selectedOption": "proceed_once"}
    assert done["edited"] is None


NO_PLANS: dict[str, tuple[Json, str]] = {
    "the title as well": ({"plan": BETTER, "title": "Drop it"}, "unknown_value"),
    "no plan": ({}, "required"),
    "a plan that is no text": ({"plan": ["Drop it"]}, "wrong_type"),
    "a blank plan": ({"plan": " \n"}, "empty"),
}


@pytest.mark.parametrize("edited", NO_PLANS)
async def test_nothing_but_a_plan_is_taken_and_nothing_changes(api: Served, edited: str) -> None:
    ask = await submit(api)
    sent, code = NO_PLANS[edited]
    status, refused = await act(api, ask, **ALLOW, edited=sent)
    assert (status, code_of(refused)) == (422, code), refused
    _, now = await api.get(f"/v1/asks/{ask['id']}", **api.bearer("ci"))
    assert (now["status"], now["revision"]) == ("open", ask["revision"])


async def test_a_choice_that_lasts_takes_no_changed_plan(api: Served) -> None:
    ask = await submit(api)
    lasting = {"action": "answer", "value": "proceed_auto_run_low"}
    status, refused = await act(api, ask, **lasting, edited={"plan": BETTER})
    assert (status, code_of(refused)) == (422, "not_editable")


def _without(use: str) -> Json:
    """A call in which one place says nothing of the plan, or something else."""
    [one] = call()["toolUses"]
    places = {"input": one["toolUse"]["input"], "details": one["details"]}
    if use == "another":
        places["details"]["plan"] = BETTER
    else:
        del places[use]["plan"]
    return call(toolUses=[one])


@pytest.mark.parametrize("place", ["input", "details"])
async def test_a_plan_that_stands_in_one_place_only_can_be_changed(api: Served, place: str) -> None:
    ask = await submit(api, _without(place))
    _, done = await act(api, ask, **ALLOW, edited={"plan": BETTER})
    assert done["tool_result"]["structured"]["editedSpecContent"] == BETTER


@pytest.mark.rule("APPROVAL-2")
async def test_two_plans_in_one_call_are_both_shown_and_neither_can_be_changed(
    api: Served,
) -> None:
    prompt = (await submit(api, _without("another")))["prompt"]
    assert prompt["editable"] is False
    assert "Drop the old one" in prompt["context"]
    assert "Keep the old one" in prompt["context"]


@pytest.mark.rule("APPROVAL-11")
async def test_a_plan_that_droid_did_not_send_is_not_approved_unseen(api: Served) -> None:
    use = {"toolUse": {"id": "c1", "name": "ExitSpecMode", "input": {"title": "Move the table"}}}
    ask = await submit(api, call(toolUses=[use]))
    assert ask["prompt"]["editable"] is False
    assert ask["prompt"]["nothing_known"] is True


async def test_no_other_tool_of_droid_takes_a_changed_call(api: Served) -> None:
    command = {"toolUse": {"id": "c1", "name": "Execute", "input": {"command": "ls"}}}
    [plan] = call()["toolUses"]
    for uses in ([command], [command, plan]):
        ask = await submit(api, call(toolUses=uses))
        assert ask["prompt"]["editable"] is False
