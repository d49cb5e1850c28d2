"""`answerback acp -- opencode acp`: the real agent, a scripted model, and this test as the editor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.agents.conftest import PATIENCE, Home
from tests.agents.model import Model, Says, scripted
from tests.agents.rpc import Connection, Json
from tests.agents.test_opencode import Program, touch_call
from tests.recipes.conftest import Person

OPENCODE = Program("opencode")
COMMAND = ("answerback", "acp", "--", "opencode", "acp")


@asynccontextmanager
async def editor_session(home: Home, model: Model) -> AsyncIterator[tuple[Connection, str]]:
    """Open a session as an editor; yield the connection and the session's id."""
    await OPENCODE.connect(home, model, permission={"bash": "ask"})
    environment = {**OPENCODE.environment, "ANSWERBACK_URL": home.service.url}
    async with home.started(*COMMAND, environment=environment) as process:
        editor = Connection(process, jsonrpc="2.0")
        await editor.request("initialize", protocolVersion=1, clientCapabilities={})
        session = await editor.request("session/new", cwd=str(home.project), mcpServers=[])
        yield editor, session["sessionId"]


async def send_prompt(editor: Connection, session: str) -> Json:
    """Send a prompt; return how its turn ended."""
    prompt = [{"type": "text", "text": "Set it up"}]
    async with asyncio.timeout(PATIENCE):
        return await editor.request("session/prompt", sessionId=session, prompt=prompt)


async def test_a_person_can_allow_in_the_thread_what_the_editor_is_asked_too(
    home: Home, person: Person
) -> None:
    note = home.project / "note.txt"
    async with (
        scripted(touch_call(note), Says("Done.")) as model,
        editor_session(home, model) as (editor, session),
    ):
        ended, ask = await asyncio.gather(send_prompt(editor, session), person.answers("once"))
    assert ended["stopReason"] == "end_turn"
    assert note.exists()
    assert ask.json["conversation"] == session
    methods = [message.get("method") for message in editor.received]
    assert methods.index("session/request_permission") < methods.index("$/cancel_request")


async def test_a_person_denies_it(home: Home, person: Person) -> None:
    note = home.project / "note.txt"
    async with (
        scripted(touch_call(note), Says("Done.")) as model,
        editor_session(home, model) as (editor, session),
    ):
        await asyncio.gather(send_prompt(editor, session), person.replies("Not there."))
    assert not note.exists()


async def test_an_ask_that_the_editor_answers_first_is_withdrawn(
    home: Home, person: Person
) -> None:
    note = home.project / "note.txt"

    async def answers() -> None:
        asked = await person.sees()
        request = next(
            message
            for message in editor.received
            if message.get("method") == "session/request_permission"
        )
        outcome = {"outcome": "selected", "optionId": "once"}
        editor.say({"id": request["id"], "result": {"outcome": outcome}})
        ended = await person.front.wait(asked.id, timeout=PATIENCE)
        assert ended.status == "withdrawn"

    async with (
        scripted(touch_call(note), Says("Done.")) as model,
        editor_session(home, model) as (editor, session),
    ):
        await asyncio.gather(send_prompt(editor, session), answers())
    assert note.exists()
