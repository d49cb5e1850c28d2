"""The recipe for the OpenAI Agents SDK: the real framework, its own scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from agents import set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from tests.recipes.conftest import Person

FORM = {"questions": [{"id": "go", "text": "Release?", "answer_type": "boolean"}]}
DONE = [assistant_message("Released.")]
set_tracing_disabled(True)


@pytest.fixture
def run(recipe: Callable[[str], ModuleType]) -> Any:
    """Run the recipe's agent."""
    return recipe("openai_agents_tool").run


def calling(call_id: str, arguments: object = FORM) -> list[Any]:
    """Return a model's output that calls the tool."""
    return [function_call("ask_user", arguments, call_id=call_id)]  # type: ignore[arg-type]


def outputs(model: ScriptedModel) -> list[str]:
    """Return the tool results that the model received last."""
    assert model.last_call is not None
    items = model.last_call.input
    return [item["output"] for item in items if item.get("type") == "function_call_output"]


async def test_the_model_gets_the_answer(run: Any, person: Person) -> None:
    model = ScriptedModel([calling("oa-1"), DONE])
    text, _ = await asyncio.gather(run(model, "Release version 7."), person.answers(True))
    assert text == "Released."
    assert outputs(model) == ['{"go": true}']


async def test_a_later_run_is_asked_anew_although_its_call_has_the_same_id(
    run: Any, person: Person
) -> None:
    for answer in (True, False):
        model = ScriptedModel([calling("functions.ask_user:0"), DONE])
        await asyncio.gather(run(model, "Release version 7."), person.answers(answer))
        assert outputs(model) == [json.dumps({"go": answer})]


async def test_the_model_sees_the_tool_as_the_service_describes_it(run: Any) -> None:
    model = ScriptedModel([DONE])
    await run(model, "Say it is done.")
    assert model.first_call is not None
    [tool] = model.first_call.tools
    assert tool.name == "ask_user"
    assert "secrets" in getattr(tool, "description", "")


async def test_the_model_corrects_an_invalid_call(run: Any, person: Person) -> None:
    wrong = {"questions": [{"id": "go", "text": "Release?", "answer_type": "select"}]}
    model = ScriptedModel([calling("oa-2", wrong), calling("oa-3"), DONE])
    await asyncio.gather(run(model, "Release version 7."), person.replies("Not today."))
    refused, replied = outputs(model)
    assert "options" in refused
    assert replied == '{"cancelled": true, "answered": {}, "reply": "Not today."}'


async def test_arguments_that_are_not_json_go_back_to_the_model(run: Any) -> None:
    model = ScriptedModel([calling("oa-4", "{broken"), DONE])
    await run(model, "Release version 7.")
    assert outputs(model) == ["The arguments are not valid JSON. Correct the call."]


async def test_end_turn_ends_the_run_without_calling_the_model(run: Any, person: Person) -> None:
    model = ScriptedModel([calling("oa-5")])
    text, _ = await asyncio.gather(run(model, "Release version 7."), person.ends_the_turn())
    assert text == "The user ended the turn."
    assert len(model.calls) == 1
