"""The real Codex: configuration written by `answerback connect`, a scripted model."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.agents.conftest import LATE, PATIENCE, Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.agents.rpc import Connection, Json
from tests.meta.project import ROOT
from tests.recipes.conftest import Person
from tests.unit.picture_samples import png

PNG = png(64, 64)
QUESTION = {
    "id": "port",
    "header": "Port",
    "question": "Which port?",
    "options": [
        {"label": "8443 (Recommended)", "description": "TLS"},
        {"label": "8080", "description": "Plain"},
    ],
}
ASKS = Calls("request_user_input", {"questions": [QUESTION]})
CONFIG = """
model = "scripted"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "read-only"

[features]
default_mode_request_user_input = true

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""
ENVIRONMENT = {"SCRIPTED_KEY": "scripted"}
EXEC = ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust")
SERVER = ("codex", "app-server")


def configure(home: Home, model: Model) -> Path:
    """Write its configuration, with the scripted model."""
    folder = home.folder / ".codex"
    folder.mkdir()
    file = folder / "config.toml"
    file.write_text(CONFIG.format(url=model.url))
    return file


async def run_codex(home: Home, model: Model) -> None:
    """Run a connected Codex once."""
    configure(home, model)
    await home.connect("codex")
    assert "answerback" in await home.run("codex", "mcp", "list")
    await home.run(*EXEC, "Set it up", **ENVIRONMENT)


@asynccontextmanager
async def drive(home: Home, *command: str) -> AsyncIterator[Connection]:
    """Run an app server, or the bridge in front of it; yield the program's end of the connection."""
    environment = {**ENVIRONMENT, "ANSWERBACK_URL": home.service.url}
    async with home.started(*command, environment=environment) as process:
        program = Connection(process)
        await program.request("initialize", clientInfo={"name": "test", "version": "1"})
        program.say({"method": "initialized"})
        yield program


async def thread_of(home: Home, program: Connection) -> str:
    """Start a new thread; return its id."""
    started = await program.request("thread/start", cwd=str(home.project))
    return str(started["thread"]["id"])


async def turn(program: Connection, thread: str, text: str = "Set it up") -> Json:
    """Run one turn to its end."""
    async with asyncio.timeout(PATIENCE):
        prompt = [{"type": "text", "text": text}]
        await program.request("turn/start", threadId=thread, input=prompt)
        return await program.until(lambda message: message.get("method") == "turn/completed")


async def trust_hooks(home: Home, file: Path) -> None:
    """Trust Codex's hooks, as a person would."""
    async with drive(home, *SERVER) as program:
        listed = await program.request("hooks/list", cwds=[str(home.project)])
    hooks = [hook for each in listed["data"] for hook in each["hooks"]]
    assert len(hooks) == 3
    tables = [
        f"[hooks.state.{json.dumps(hook['key'])}]\ntrusted_hash = {json.dumps(hook['currentHash'])}\n"
        for hook in hooks
    ]
    file.write_text("\n".join([file.read_text(), *tables]))


def touch_call(file: Path) -> Calls:
    """Return a call for which Codex needs permission."""
    arguments = {"cmd": f"touch {file}", "sandbox_permissions": "require_escalated"}
    return Calls("exec_command", {**arguments, "justification": "To mark it."})


async def test_a_person_answers_codexs_question(home: Home, person: Person) -> None:
    async with scripted(ASKS, Says("Done.")) as model:
        await asyncio.gather(run_codex(home, model), person.answers("8080"))
    assert len(model.requests) == 2
    assert "The user answered: " in model.sent()
    assert '\\"8080\\"' in model.sent()


def view_what_was_saved(request: Json) -> Calls:
    """Return a call that shows the photo at the path that the model was told."""
    found = re.search(r"it is saved at (\S+?/file_\w{32}\.png)", json.dumps(request))
    assert found is not None, request
    return Calls("view_image", {"path": found[1]})


async def test_codex_reads_a_photo_that_a_person_sent(home: Home, person: Person) -> None:
    async with scripted(ASKS, view_what_was_saved, Says("Done.")) as model:
        await asyncio.gather(
            run_codex(home, model), person.sends(PNG, "reply", text="As in the photo")
        )
    assert "As in the photo" in model.sent()
    assert "data:image/png;base64," in model.sent()


async def test_codex_asks_with_the_mcp_tool(home: Home, person: Person) -> None:
    question = {"question": "Which port?", "answer_type": "text"}
    async with scripted(Calls("mcp__answerback/ask_user", question), Says("Done.")) as model:
        await asyncio.gather(run_codex(home, model), person.answers("8443"))
    assert len(model.requests) == 2
    assert "8443" in model.sent()


async def test_a_person_decides_codexs_permission_requests_through_the_hook(
    home: Home, person: Person
) -> None:
    notes = [home.project / name for name in ("one.txt", "two.txt")]
    steps = (touch_call(notes[0]), touch_call(notes[1]), Says("Done."))

    async def decides() -> None:
        await person.answers("allow")
        await person.replies("One is enough.")

    async with scripted(*steps) as model:
        file = configure(home, model)
        await home.connect("codex")
        await trust_hooks(home, file)
        async with drive(home, *SERVER) as program:
            await asyncio.gather(turn(program, await thread_of(home, program)), decides())
    assert [note.exists() for note in notes] == [True, False]
    assert "One is enough." in model.sent()


async def test_a_killed_codex_gets_the_answer_once_with_the_next_prompt(
    home: Home, person: Person
) -> None:
    async with scripted(ASKS, Says("Understood."), Says("Nothing new.")) as model:
        configure(home, model)
        await home.connect("codex")
        async with home.started(*EXEC, "Set it up", environment=ENVIRONMENT, stdin=DEVNULL):
            await person.sees()
        await person.answers("8443 (Recommended)")
        for text in ("Go on", "And now?"):
            await home.run(*EXEC, "resume", "--last", text, **ENVIRONMENT)
            assert model.sent().count(LATE) == 1  # the earlier one is part of the conversation


BRIDGE = ("answerback", "bridge", "codex", "--", *SERVER)


async def test_codex_gets_peoples_answers_through_the_bridge(home: Home, person: Person) -> None:
    notes = [home.project / name for name in ("one.txt", "two.txt")]
    steps = (ASKS, touch_call(notes[0]), touch_call(notes[1]), Says("Done."))

    async def answers() -> None:
        await person.answers("8080", "accept")
        await person.replies("One is enough.")

    async with scripted(*steps) as model:
        configure(home, model)
        async with drive(home, *BRIDGE) as program:
            thread = await thread_of(home, program)
            _, _ = await asyncio.gather(turn(program, thread), answers())
    assert '{\\"answers\\":{\\"port\\":{\\"answers\\":[\\"8080\\"]}}}' in json.dumps(
        model.requests[1]
    )
    assert [note.exists() for note in notes] == [True, False]


async def test_a_killed_bridge_gives_codex_the_answer_once_with_the_next_turn(
    home: Home, person: Person
) -> None:
    async with scripted(ASKS, Says("Understood."), Says("Nothing new.")) as model:
        configure(home, model)
        async with drive(home, *BRIDGE) as program:
            thread = await thread_of(home, program)
            prompt = [{"type": "text", "text": "Set it up"}]
            await program.request("turn/start", threadId=thread, input=prompt)
            await person.sees()
        await person.answers("8443 (Recommended)")
        for text in ("Go on", "And now?"):
            async with drive(home, *BRIDGE) as program:
                await program.request("thread/resume", threadId=thread)
                await turn(program, thread, text)
            assert model.sent().count(LATE) == 1  # the earlier one is part of the conversation


SHOP = """
[mcp_servers.shop]
command = {python}
args = [{server}]
"""
DROP = Calls("mcp__shop/drop_rows", {"table": "orders"})


async def test_codex_remembers_an_mcp_tool_that_a_person_allowed_for_the_session(
    home: Home, person: Person
) -> None:
    server = ROOT / "tests" / "data" / "shop_mcp_server.py"
    config = SHOP.format(python=json.dumps(sys.executable), server=json.dumps(str(server)))

    async def answers() -> None:
        approval = await person.answers("session")
        assert (approval.json["dialect"], approval.json["tool_call_id"]) == ("approval", DROP.id)
        # What the server itself asks is its own question, whatever it claims to be.
        claim = await person.answers(True)
        assert claim.json["dialect"] == "elicitation"
        await person.answers(False)  # the second call asks for no permission

    async with scripted(DROP, Calls(DROP.tool, DROP.arguments), Says("Done.")) as model:
        file = configure(home, model)
        file.write_text(file.read_text() + config)
        async with drive(home, *BRIDGE) as program:
            thread = await thread_of(home, program)
            _, _ = await asyncio.gather(turn(program, thread), answers())
    assert model.sent().count("The claim got") == 2
    assert len(model.requests) == 3
