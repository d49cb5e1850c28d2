"""The real Gemini CLI from npm: settings written by `answerback connect`, a scripted model."""

from __future__ import annotations

import asyncio
import json

from tests.agents.conftest import LATE, PATIENCE, Home, terminal
from tests.agents.model import Calls, Model, Says, scripted
from tests.recipes.conftest import Person

QUESTION = {
    "question": "Which port?",
    "header": "Port",
    "multiSelect": False,
    "options": [
        {"label": "8443", "description": "TLS"},
        {"label": "8080", "description": "Plain"},
    ],
}
ASKS = Calls("mcp_answerback_ask_user_question", {"questions": [QUESTION]})
"""Without a terminal, Gemini CLI withholds every tool called ask_user, whether its own or ours."""


def environment(model: Model) -> dict[str, str]:
    """Return the variables that make it use the scripted model."""
    return {
        "GOOGLE_GEMINI_BASE_URL": model.url,
        "GEMINI_API_KEY": "scripted",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


async def connect(home: Home) -> None:
    """Write its settings, including Answerback's."""
    folder = home.folder / ".gemini"
    folder.mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    await home.connect("gemini")


async def test_gemini_asks_with_the_mcp_tool(home: Home, person: Person) -> None:
    async with scripted(ASKS, Says("Done.")) as model:
        await connect(home)
        run = home.run("gemini", "-m", "gemini-2.5-pro", "-p", "Set it up", **environment(model))
        await asyncio.gather(run, person.answers("8443"))
    assert "mcp_answerback_ask_user" not in model.tools
    assert len(model.requests) == 2
    assert "8443" in model.sent()


async def test_a_person_answers_geminis_own_question_at_a_terminal(
    home: Home, person: Person
) -> None:
    questions = [{**QUESTION, "type": "choice"}]
    async with scripted(Calls("ask_user", {"questions": questions}), Says("Done.")) as model:
        await connect(home)
        arguments = ("gemini", "-m", "gemini-2.5-pro", "-i", "Set it up")
        environs = {**environment(model), "TERM": "xterm-256color"}
        with terminal() as screen:
            everywhere = {"stdin": screen, "stdout": screen, "stderr": screen}
            async with home.started(*arguments, environment=environs, **everywhere):
                await person.answers("8443")
                async with asyncio.timeout(PATIENCE):
                    await model.asked(2)
    assert "Tool execution blocked: The user answered: " in model.sent()
    assert "8443" in model.sent()


async def test_gemini_gets_a_late_answer_once_with_the_next_prompt(
    home: Home, person: Person
) -> None:
    async with scripted(ASKS, Says("Understood."), Says("Nothing new.")) as model:
        await connect(home)
        gemini = ("gemini", "-m", "gemini-2.5-pro")
        async with home.started(*gemini, "-p", "Set it up", environment=environment(model)):
            await person.sees()
        await person.answers("8443")
        await home.run(*gemini, "--resume", "latest", "-p", "Go on", **environment(model))
        assert model.sent().count(LATE) == 1
        await home.run(*gemini, "--resume", "latest", "-p", "And now?", **environment(model))
        assert model.sent().count(LATE) <= 1  # the earlier one is part of the conversation
