"""The real Codex: its configuration written by `answerback connect`, its model scripted."""

from __future__ import annotations

import asyncio

from tests.agents.conftest import Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.recipes.conftest import Person

QUESTION = {
    "id": "port",
    "header": "Port",
    "question": "Which port?",
    "options": [
        {"label": "8443 (Recommended)", "description": "TLS"},
        {"label": "8080", "description": "Plain"},
    ],
}
CONFIG = """
model = "scripted"
model_provider = "scripted"

[features]
default_mode_request_user_input = true

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""


async def codex(home: Home, model: Model) -> None:
    """One run, of a Codex that is connected."""
    folder = home.folder / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(CONFIG.format(url=model.url))
    await home.connect("codex")
    assert "answerback" in await home.run("codex", "mcp", "list")
    await home.run(
        *("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "Set it up"),
        SCRIPTED_KEY="scripted",
    )


async def test_codexs_question_is_answered_by_a_person(home: Home, person: Person) -> None:
    asks = Calls("request_user_input", {"questions": [QUESTION]})
    async with scripted(asks, Says("Done.")) as model:
        await asyncio.gather(codex(home, model), person.answers("8080"))
    assert len(model.requests) == 2
    assert "The user answered: " in model.sent()
    assert '\\"8080\\"' in model.sent()


async def test_codex_asks_by_the_mcp_tool(home: Home, person: Person) -> None:
    question = {"question": "Which port?", "answer_type": "text"}
    async with scripted(Calls("mcp__answerback/ask_user", question), Says("Done.")) as model:
        await asyncio.gather(codex(home, model), person.answers("8443"))
    assert len(model.requests) == 2
    assert "8443" in model.sent()
