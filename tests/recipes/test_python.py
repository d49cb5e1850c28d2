"""The recipes for the Python client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType

import pytest

from tests.meta.project import PYTHONPATH, RECIPES
from tests.recipes.conftest import Person

Load = Callable[[str], ModuleType]
QUESTION = {"question": "Deploy now?", "answer_type": "boolean"}


async def test_the_answer_is_the_tool_result(recipe: Load, person: Person) -> None:
    tool_result = recipe("python_client").tool_result
    got, _ = await asyncio.gather(
        asyncio.to_thread(tool_result, "run-1", "call-1", "ask_user", QUESTION),
        person.answers(True),
    )
    assert got == ('{"answer_type": "boolean", "answer": true}', False)


async def test_repeating_a_call_asks_nobody(recipe: Load, person: Person) -> None:
    tool_result = recipe("python_client").tool_result
    call = partial(tool_result, "run-1", "call-2", "ask_user", QUESTION)
    first, _ = await asyncio.gather(asyncio.to_thread(call), person.answers(False))
    assert await asyncio.to_thread(call) == first


async def test_a_later_run_is_asked_anew_although_its_call_has_the_same_id(
    recipe: Load, person: Person
) -> None:
    tool_result = recipe("python_client").tool_result
    for run_id, answer in (("run-2", True), ("run-3", False)):
        call = partial(tool_result, run_id, "functions.ask_user:0", "ask_user", QUESTION)
        got, _ = await asyncio.gather(asyncio.to_thread(call), person.answers(answer))
        assert json.loads(got[0])["answer"] is answer


async def test_an_invalid_call_is_explained_to_the_model(recipe: Load) -> None:
    wrong = {"question": "Which?", "answer_type": "select"}
    text, is_error = await asyncio.to_thread(
        recipe("python_client").tool_result, "run-1", "call-3", "ask_user", wrong
    )
    assert is_error
    assert "options" in text


async def test_end_turn_gives_no_result(recipe: Load, person: Person) -> None:
    module = recipe("python_client")
    ending = asyncio.create_task(person.ends_the_turn())
    with pytest.raises(module.TurnEndedError):
        await asyncio.to_thread(module.tool_result, "run-1", "call-4", "ask_user", QUESTION)
    await ending


async def test_a_form_is_walked_and_comes_back_typed(recipe: Load, person: Person) -> None:
    release_window = recipe("python_async").release_window
    got, _ = await asyncio.gather(release_window(10), person.answers("tonight", "Ada"))
    assert got == {"when": "tonight", "who": "Ada"}


async def test_a_reply_instead_of_answers_releases_nothing(recipe: Load, person: Person) -> None:
    release_window = recipe("python_async").release_window
    got, _ = await asyncio.gather(release_window(10), person.replies("Not before the audit."))
    assert got is None


async def test_the_ask_is_withdrawn_if_nobody_answers_in_time(recipe: Load, person: Person) -> None:
    started = asyncio.create_task(recipe("python_async").release_window(0.5))
    seen = await person.sees()
    assert await started is None
    assert (await person.front.get(seen.id)).status == "withdrawn"


@pytest.mark.parametrize(
    ("name", "value", "printed"),
    [
        ("python_client.py", False, '{"answer_type": "boolean", "answer": false}'),
        ("python_async.py", "now", "{'when': 'now', 'who': None}"),
    ],
)
async def test_each_recipe_also_runs_as_a_program(
    name: str, value: str | bool, printed: str, environment: None, person: Person
) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        str(RECIPES / name),
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        (out, _), _ = await asyncio.gather(child.communicate(), person.answers(value))
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    assert out.decode().splitlines()[-1] == printed
    assert child.returncode == 0
