"""`answerback acp -- qwen --acp`: the real Qwen Code asks its own questions over ACP, with a scripted model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.agents.conftest import Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.agents.rpc import Connection
from tests.agents.test_acp import send_prompt
from tests.recipes.conftest import Person

COMMAND = ("answerback", "acp", "--", "qwen", "--acp", "--auth-type", "openai")
QUESTIONS = [
    {
        "question": f"Which {each}?",
        "header": each,
        "options": [{"label": label, "description": label} for label in ("8443", "8080")],
        "multiSelect": each == "ports",
    }
    for each in ("port", "ports")
]
ASKS = Calls("ask_user_question", {"questions": QUESTIONS})
SETTINGS = {"memory": {"enableManagedAutoMemory": False}}


@asynccontextmanager
async def editor_session(home: Home, model: Model) -> AsyncIterator[tuple[Connection, str]]:
    """Open a session as an editor; yield the connection and the session's id."""
    folder = home.folder / ".qwen"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(SETTINGS))
    environment = {
        "OPENAI_API_KEY": "scripted",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_MODEL": "scripted",
        "ANSWERBACK_URL": home.service.url,
    }
    async with home.started(*COMMAND, environment=environment) as process:
        editor = Connection(process, jsonrpc="2.0")
        await editor.request("initialize", protocolVersion=1, clientCapabilities={})
        session = await editor.request("session/new", cwd=str(home.project), mcpServers=[])
        yield editor, session["sessionId"]


async def test_a_person_answers_qwens_questions_in_the_thread(home: Home, person: Person) -> None:
    async with (
        scripted(ASKS, Says("Done.")) as model,
        editor_session(home, model) as (editor, session),
    ):
        ended, ask = await asyncio.gather(
            send_prompt(editor, session), person.answers("8080", ["8443", "8080"])
        )
    assert ended["stopReason"] == "end_turn"
    assert ask.json["dialect"] == "qwen"
    result = json.dumps(model.requests[1]["messages"])
    assert "**port**: 8080" in result
    assert "**ports**: 8443, 8080" in result


async def test_the_words_of_a_reply_are_an_answer(home: Home, person: Person) -> None:
    async with (
        scripted(ASKS, Says("Done.")) as model,
        editor_session(home, model) as (editor, session),
    ):
        await asyncio.gather(send_prompt(editor, session), person.replies("Ask Ada."))
    assert "**port**: Ask Ada." in json.dumps(model.requests[1]["messages"])


async def test_a_reply_without_words_ends_qwens_turn(home: Home, person: Person) -> None:
    async with (
        scripted(ASKS, Says("Done.")) as model,
        editor_session(home, model) as (editor, session),
    ):
        ended, _ = await asyncio.gather(send_prompt(editor, session), person.act("reply"))
    assert ended["stopReason"] == "end_turn"
    assert len(model.requests) == 1
