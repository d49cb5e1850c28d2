"""The recipes for Claude: the real Claude Code as its SDK ships it, against a scripted model."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

from answerback_client import Ask, AsyncClient
from tests.documentation.blocks import block_with
from tests.recipes.conftest import PATIENCE, Person, Served
from tests.recipes.frameworks.messages_api import (
    CLAUDE_SETTINGS,
    START,
    Claude,
    Json,
    asks,
    calls,
    says,
    scripted,
)

DONE = says("Done.")


def writes(file: Path) -> Json:
    """Return a call by Claude that writes a file, which needs permission."""
    return calls("Write", {"file_path": str(file), "content": "a note"})


@pytest.fixture(autouse=True)
def nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep this process's environment from Claude Code, which inherits it."""
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE"))]:
        monkeypatch.delenv(name)


@pytest.fixture
def run(recipe: Callable[[str], ModuleType]) -> Any:
    """Run the recipe's turn of Claude."""
    module = recipe("claude_permissions")

    async def turn(claude: Claude) -> str | None:
        async with asyncio.timeout(START):
            got: str | None = await module.run(
                "Set up the notes app.",
                cwd=claude.folder,
                env=claude.environment,
                setting_sources=[],
            )
        return got

    return turn


@pytest.mark.parametrize("tool", ["AskUserQuestion", "Bash"])
async def test_an_answer_that_no_person_gave_allows_nothing(
    recipe: Callable[[str], ModuleType], tool: str
) -> None:
    decision = {"hookSpecificOutput": {"decision": {"behavior": "allow"}}}
    result = {"content": "", "structured": decision, "is_error": False}
    ended = {"id": "ask_1", "status": "answered", "revision": 2, "answers": {}, "reply": None}
    found: Json = {
        **ended,
        "prompt": None,
        "thread": None,
        "end_turn": False,
        "tool_result": result,
    }

    class Fixed:
        async def ask(self, *_: Any, **__: Any) -> Ask:
            return Ask.of({**found, "source": "config"})

    decide = recipe("claude_permissions").permissions(Fixed())
    given = await decide(tool, {"command": "ls"}, ToolPermissionContext(tool_use_id="t1"))
    assert given == PermissionResultDeny(message="No person decided.")


async def test_people_read_what_claude_code_says_of_a_permission(
    recipe: Callable[[str], ModuleType], environment: None, person: Person, served: Served
) -> None:
    context = ToolPermissionContext(
        tool_use_id="t9",
        title="Claude wants to read secrets.env",
        description="It lies outside of the project.",
        decision_reason="A rule asks about it",
    )
    async with AsyncClient(served.url, served.token) as answerback:
        decide = recipe("claude_permissions").permissions(answerback)
        given = {"file_path": "/srv/secrets.env"}
        result, ask = await asyncio.gather(decide("Read", given, context), decides(person))
    assert isinstance(result, PermissionResultAllow)
    assert ask.prompt is not None
    assert ask.prompt["text"] == "Read /srv/secrets.env"
    said = str(ask.prompt["context"])
    assert said.startswith("Claude wants to read secrets.env\n\nIt lies outside of the project.")
    assert "decision_reason: A rule asks about it" in said


@pytest.mark.parametrize("tool", ["Read", "AskUserQuestion"])
async def test_a_later_session_is_decided_anew_although_its_call_has_the_same_id(
    recipe: Callable[[str], ModuleType],
    environment: None,
    person: Person,
    served: Served,
    tool: str,
) -> None:
    context = ToolPermissionContext(tool_use_id=f"functions.{tool}:0")
    given = asks()["input"] if tool == "AskUserQuestion" else {"file_path": "/srv/secrets.env"}
    async with AsyncClient(served.url, served.token) as answerback:
        for _ in range(2):
            decide = recipe("claude_permissions").permissions(answerback)
            result, _ = await asyncio.gather(decide(tool, given, context), person.replies("No."))
            assert result == PermissionResultDeny(message="No.")


async def decides(person: Person) -> Ask:
    """Allow it; return what was asked."""
    ask = await person.sees()
    await person.answers("allow")
    return ask


async def test_claudes_questions_are_answered_or_replied_to_by_a_person(
    run: Any, person: Person, tmp_path: Path
) -> None:
    async def answers_then_replies() -> None:
        await person.answers("SQLite", ["Requests", "Errors"])
        await person.replies("Ask Ada, she decides.")

    async with scripted(tmp_path, asks(), asks(), DONE) as claude:
        text, _ = await asyncio.gather(run(claude), answers_then_replies())
    assert text == "Done."
    answered, replied = claude.results()
    assert '"Which database?"="SQLite"' in answered["content"]
    assert '"What should be logged?"="Requests, Errors"' in answered["content"]
    assert replied["is_error"]
    assert "Ask Ada, she decides." in replied["content"]


async def test_end_turn_stops_claude(run: Any, person: Person, tmp_path: Path) -> None:
    async with scripted(tmp_path, asks()) as claude:
        await asyncio.gather(run(claude), person.ends_the_turn())
    assert len(claude.requests) == 1


async def test_a_person_decides_whether_a_tool_may_be_used(
    run: Any, person: Person, tmp_path: Path
) -> None:
    denied, allowed = (tmp_path / "project" / name for name in ("one.txt", "two.txt"))
    async with scripted(tmp_path, writes(denied), writes(allowed), DONE) as claude:
        await asyncio.gather(run(claude), person.answers("deny", "allow"))
    assert (denied.exists(), allowed.exists()) == (False, True)
    refused, done = claude.results()
    assert "does not allow" in refused["content"]
    assert "does not allow" not in done["content"]


async def test_a_person_allows_a_tool_as_claude_suggests_and_is_not_asked_again(
    run: Any, person: Person, tmp_path: Path
) -> None:
    notes = [tmp_path / "project" / name for name in ("one.txt", "two.txt")]
    async with scripted(tmp_path, *map(writes, notes), DONE) as claude:
        await asyncio.gather(run(claude), person.answers("always:1"))
    assert all(note.exists() for note in notes)


async def refuses(tool: str, arguments: Json, _context: object) -> PermissionResultDeny:
    """Refuse whatever reaches the terminal."""
    return PermissionResultDeny(message=f"{tool} came to the terminal: {arguments}")


@pytest.mark.rule("HOOK-1")
async def test_settings_alone_bring_claude_codes_questions_to_people(
    settings: Callable[[str], Path], environment: None, person: Person, tmp_path: Path
) -> None:
    file = settings(CLAUDE_SETTINGS)
    async with scripted(tmp_path, asks(), DONE) as claude:
        await asyncio.gather(
            claude.turn(settings=str(file), can_use_tool=refuses),
            person.answers("PostgreSQL", ["Errors"]),
        )
    [result] = claude.results()
    assert '"Which database?"="PostgreSQL"' in result["content"]
    assert '"What should be logged?"="Errors"' in result["content"]


@pytest.mark.rule("HOOK-2")
async def test_with_settings_claude_code_gets_a_reply_and_stops_at_end_turn(
    settings: Callable[[str], Path], environment: None, person: Person, tmp_path: Path
) -> None:
    async def goes_on_then_stops() -> None:
        await person.replies("Ask Ada.")
        await person.ends_the_turn()

    file = settings(CLAUDE_SETTINGS)
    async with scripted(tmp_path, asks(), asks()) as claude:
        await asyncio.gather(
            claude.turn(settings=str(file), can_use_tool=refuses), goes_on_then_stops()
        )
    [result] = claude.results()
    assert result["is_error"]
    assert "Ask Ada." in result["content"]
    assert len(claude.requests) == 2


async def leaves(_tool: str, _arguments: Json, _context: object) -> PermissionResultDeny:
    """Leave whatever reaches the terminal unanswered, as if nobody sat there."""
    await asyncio.Event().wait()
    raise AssertionError("nothing is decided at the terminal")


@pytest.mark.rule("HOOK-7")
async def test_settings_bring_claude_codes_permission_prompts_to_people(
    settings: Callable[[str], Path], environment: None, person: Person, tmp_path: Path
) -> None:
    async def decides() -> list[Ask]:
        return [await person.answers("deny"), await person.answers("allow")]

    file = settings(CLAUDE_SETTINGS)
    denied, allowed = (tmp_path / "project" / name for name in ("one.txt", "two.txt"))
    async with scripted(tmp_path, writes(denied), writes(allowed), DONE) as claude:
        _, asked = await asyncio.gather(
            claude.turn(settings=str(file), can_use_tool=leaves), decides()
        )
    assert (denied.exists(), allowed.exists()) == (False, True)
    assert [ask.json["dialect"] for ask in asked] == ["approval", "approval"]
    assert len(claude.requests) == 3


@pytest.mark.rule("HOOK-7")
async def test_with_settings_claude_code_is_denied_with_words_and_stops_at_end_turn(
    settings: Callable[[str], Path], environment: None, person: Person, tmp_path: Path
) -> None:
    async def denies_then_stops() -> None:
        await person.replies("Write to notes/ instead.")
        await person.ends_the_turn()

    file = settings(CLAUDE_SETTINGS)
    note = tmp_path / "project" / "note.txt"
    async with scripted(tmp_path, writes(note), writes(note)) as claude:
        await asyncio.gather(
            claude.turn(settings=str(file), can_use_tool=leaves), denies_then_stops()
        )
    [result] = claude.results()
    assert result["is_error"]
    assert "Write to notes/ instead." in result["content"]
    assert not note.exists()
    assert len(claude.requests) == 2


@pytest.mark.rule("HOOK-7")
async def test_a_prompt_decided_at_the_terminal_no_longer_waits_for_anybody_else(
    settings: Callable[[str], Path], environment: None, person: Person, tmp_path: Path
) -> None:
    async def allows(_tool: str, _arguments: Json, _context: object) -> PermissionResultAllow:
        open_asks.append(await person.sees())
        return PermissionResultAllow()

    open_asks: list[Ask] = []
    file = settings(CLAUDE_SETTINGS)
    note = tmp_path / "project" / "note.txt"
    async with scripted(tmp_path, writes(note), DONE) as claude:
        await claude.turn(settings=str(file), can_use_tool=allows)
    assert note.exists()
    ended = await person.front.wait(open_asks[0].id, timeout=PATIENCE)
    assert ended.status == "withdrawn"


@pytest.mark.rule("HOOK-7")
async def test_with_settings_claude_code_follows_the_suggestion_that_a_person_accepted(
    settings: Callable[[str], Path], environment: None, person: Person, tmp_path: Path
) -> None:
    file = settings(CLAUDE_SETTINGS)
    notes = [tmp_path / "project" / name for name in ("one.txt", "two.txt")]
    async with scripted(tmp_path, *map(writes, notes), DONE) as claude:
        await asyncio.gather(
            claude.turn(settings=str(file), can_use_tool=leaves), person.answers("always:1")
        )
    assert all(note.exists() for note in notes)


async def test_permission_prompts_alone_bring_claude_codes_questions_to_people(
    settings: Callable[[str], Path], environment: None, person: Person, tmp_path: Path
) -> None:
    file = settings(CLAUDE_SETTINGS)
    hooks = json.loads(file.read_text())["hooks"]
    file.write_text(json.dumps({"hooks": {"PermissionRequest": hooks["PermissionRequest"]}}))
    async with scripted(tmp_path, asks(), DONE) as claude:
        await asyncio.gather(
            claude.turn(settings=str(file), can_use_tool=leaves),
            person.answers("PostgreSQL", ["Errors"]),
        )
    [result] = claude.results()
    assert '"Which database?"="PostgreSQL"' in result["content"]


@pytest.mark.parametrize("transport", ['"type": "http"', '"command": "answerback"'])
async def test_an_mcp_clients_settings_give_the_model_the_tools(
    transport: str,
    settings: Callable[[str], Path],
    environment: None,
    person: Person,
    tmp_path: Path,
) -> None:
    file = settings(block_with(transport, "docs/agents/mcp.md"))
    question = {"question": "Which port?", "answer_type": "text"}
    asking = calls("mcp__answerback__ask_user", question)
    async with scripted(tmp_path, asking, DONE) as claude:
        await asyncio.gather(
            claude.turn(mcp_servers=str(file), allowed_tools=["mcp__answerback"]),
            person.answers("8443"),
        )
    [result] = claude.results()
    assert "8443" in json.dumps(result["content"])


async def test_the_same_settings_bring_an_mcp_servers_questions_to_people(
    settings: Callable[[str], Path], environment: None, person: Person, tmp_path: Path
) -> None:
    travel = {
        "type": "stdio",
        "command": sys.executable,
        "args": [str(Path(__file__).with_name("eliciting_server.py"))],
    }
    file = settings(CLAUDE_SETTINGS)
    async with scripted(tmp_path, calls("mcp__travel__book", {}), DONE) as claude:
        await asyncio.gather(
            claude.turn(
                settings=str(file),
                mcp_servers={"travel": travel},
                allowed_tools=["mcp__travel"],
            ),
            person.answers({"seat": "12A", "meal": True}),
        )
    [result] = claude.results()
    assert "Booked 12A, with a meal." in json.dumps(result["content"])
