"""The recipe for Factory Droid, on the real program and its SDK: what people decide about its plans takes effect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from answerback_client import Ask, AsyncClient
from tests.agents.conftest import BINARIES, OFFLINE, PATIENCE, Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.recipes.conftest import Person, Served, environment, recipe, serving

__all__ = ["environment", "recipe"]

PLAN = "# Plan\n\n1. Move the table\n2. Drop the old one\n"
PLANS = Calls("ExitSpecMode", {"plan": PLAN, "title": "Move the table"})
QUESTIONS = {
    "questionnaire": "1. [question] Which table?\n[topic] Table\n[option] notes\n[option] users\n"
}
MODEL = "custom:scripted"


EDITING = """
[routes.web]
to = "web"
responders = ["U7"]
edit = true
"""


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service at which people may change a plan."""
    with serving(tmp_path_factory.mktemp("editing"), before=EDITING) as made:
        yield made


@pytest.fixture
def droid(recipe: Callable[[str], ModuleType], home: Home, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a turn of Droid by the recipe, in a home of its own; return what its model was sent."""
    for name, value in {
        **OFFLINE,
        "HOME": str(home.folder),
        "FACTORY_API_KEY": "none",
    }.items():
        monkeypatch.setenv(name, value)
    module = recipe("droid_permissions")

    async def turn(decide: Callable[[], Awaitable[Any]], *steps: Calls) -> Model:
        async with scripted(*steps, Says("Done.")) as model:
            write_settings(home, model)
            options = {"model_id": MODEL, "spec_mode_model_id": MODEL}
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                group.create_task(
                    module.run(
                        "Move the table.",
                        cwd=str(home.project),
                        program=str(BINARIES / "droid"),
                        **options,
                    )
                )
                group.create_task(decide())  # type: ignore[arg-type]  # a coroutine
        return model

    return turn


def write_settings(home: Home, model: Model) -> None:
    """Give Droid the scripted model, and nothing that looks elsewhere."""
    file = home.folder / ".factory" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    fake = {"id": MODEL, "model": "scripted", "displayName": "Scripted", "apiKey": "none"}
    fake |= {"baseUrl": f"{model.url}/v1", "provider": "generic-chat-completion-api"}
    file.write_text(json.dumps({"customModels": [fake]}))


def saved_plans(home: Home) -> list[str]:
    """The plans that Droid has written into its home."""
    return [file.read_text() for file in (home.folder / ".factory" / "specs").glob("*.md")]


class Silent:
    """A session of Droid's SDK of which only the requests come, by the handlers."""

    def set_permission_handler(self, handler: object) -> None:
        """Take the handler, which the test calls itself."""

    def set_ask_user_handler(self, handler: object) -> None:
        """Take the handler, which the test calls itself."""


async def test_a_later_session_is_decided_anew_although_its_call_has_the_same_id(
    recipe: Callable[[str], ModuleType], served: Served, person: Person
) -> None:
    use = {"type": "tool_use", "id": "functions.Execute:0", "name": "Execute"}
    use["input"] = {"command": "make release"}  # type: ignore[assignment]
    options = [{"label": "Yes", "value": "proceed_once"}, {"label": "No", "value": "cancel"}]
    details = {"type": "exec", "fullCommand": "make release"}
    params = {"toolUses": [{"toolUse": use, "details": details}], "options": options}
    async with AsyncClient(served.url, served.token) as answerback:
        for decision in ("proceed_once", "cancel"):
            people = recipe("droid_permissions").People(Silent(), answerback)
            result, _ = await asyncio.gather(people.permission(params), person.answers(decision))
            assert result["selectedOption"] == decision


@pytest.mark.rule("EDIT-11")
async def test_droid_follows_the_plan_as_a_person_has_changed_it(
    droid: Any, home: Home, person: Person
) -> None:
    decided: list[Ask] = []

    async def decide() -> None:
        ask = await person.sees()
        prompt: Any = ask.prompt
        assert json.loads(prompt["arguments"]) == {"plan": PLAN}
        edited: Any = {"plan": PLAN.replace("Drop the old one", "Keep the old one for a week")}
        decided.append(
            await person.act(
                "answer", value="proceed_once", edited=edited, note="Mind the indexes."
            )
        )

    model = await droid(decide, PLANS)
    assert '\\"isEdited\\":true' in model.sent()
    assert "Mind the indexes." in model.sent()
    assert saved_plans(home) == [PLAN.replace("Drop the old one", "Keep the old one for a week")]
    assert decided[0].edited is not None
    assert "+ 2. Keep the old one for a week" in decided[0].edited.difference


@pytest.mark.rule("APPROVAL-9")
async def test_droid_follows_its_own_plan_if_nobody_changed_it(
    droid: Any, home: Home, person: Person
) -> None:
    model = await droid(lambda: person.answers("proceed_once"), PLANS)
    assert '\\"isEdited\\":false' in model.sent()
    assert saved_plans(home) == [PLAN]


@pytest.mark.rule("APPROVAL-9")
async def test_droid_reads_why_a_person_keeps_it_planning(
    droid: Any, home: Home, person: Person
) -> None:
    model = await droid(lambda: person.replies("Not without a backup."), PLANS)
    assert "Not without a backup." in model.sent()
    assert saved_plans(home) == []


async def test_a_person_answers_what_droid_asks(droid: Any, person: Person) -> None:
    model = await droid(lambda: person.answers("users"), Calls("AskUser", QUESTIONS))
    assert "[answer] users" in model.sent()
