"""Edit, then allow, in the terminal: the person changes the call in their own editor."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.service.submission_request import Route
from answerback_client import Ask
from tests.unit.bot.terminal_support import Terminal, open_terminal

INPUT = {"command": "rm -rf build", "timeout": 1.5}


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    route = Route(to="web", responders=("ana", "bob"), edit=True)
    async with open_terminal(tmp_path, routes={"ops": route}) as made:
        yield made


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script that stands for the person's editor."""
    script = tmp_path / "editor"
    monkeypatch.setenv("EDITOR", f"sh {script}")
    monkeypatch.delenv("VISUAL", raising=False)
    return script


async def approval(terminal: Terminal, **more: object) -> Ask:
    arguments: Any = {"tool_name": "Bash", "tool_input": {**INPUT, **more}}
    return await terminal.client.submit("PermissionRequest", arguments, to="ops", takes_edited=True)


@pytest.mark.rule("EDIT-9", "CLI-4")
async def test_a_person_allows_what_their_editor_has_made_of_it(
    terminal: Terminal, editor: Path
) -> None:
    editor.write_text('sed -i "s|build|build/tmp|; s|1.5|1.50|" "$1"')
    ask = await terminal.walked(await approval(terminal), "e\r1\r")
    assert ask.edited is not None
    assert ask.edited.written == '{"command": "rm -rf build/tmp", "timeout": 1.5}'
    assert 'command: "rm -rf build" → "rm -rf build/tmp"' in terminal.screen.text


@pytest.mark.rule("EDIT-9", "TERMINAL-5")
@pytest.mark.parametrize("script", ['sed -i "s|build|tmp|" "$1"', 'echo "{" > "$1"'])
async def test_what_is_typed_while_the_editor_is_open_allows_nothing(
    terminal: Terminal, editor: Path, script: str
) -> None:
    editor.write_text(script)
    ask = await terminal.walked(await approval(terminal), ["e\r1\r", "q\r", "2\r"])
    assert ask.answers == {"decision": "deny"}


@pytest.mark.rule("EDIT-9", "ACT-8")
async def test_a_note_goes_with_the_edited_call(terminal: Terminal, editor: Path) -> None:
    editor.write_text('sed -i "s|build|build/tmp|" "$1"')
    ask = await terminal.walked(await approval(terminal), "n\rOnly this.\re\rq\re\r1\r")
    assert ask.edited is not None
    assert ask.json["note"] == "Only this."


@pytest.mark.rule("EDIT-9")
@pytest.mark.parametrize(
    ("script", "keys"),
    [
        ("true", "e\r2\r"),
        ('sed -i "s|1.5|1.50|" "$1"', "e\r2\r"),
        ('sed -i "s|build|tmp|" "$1"', "e\rq\r2\r"),
        ('echo "{" > "$1"', "e\rq\r2\r"),
        ('echo "{" >> "$1"', "e\r1\rq\r2\r"),
    ],
    ids=["unchanged", "the same number", "not meant", "no JSON", "still no JSON"],
)
async def test_nothing_is_allowed_without_a_change_and_a_yes(
    terminal: Terminal, editor: Path, script: str, keys: str
) -> None:
    editor.write_text(script)
    ask = await terminal.walked(await approval(terminal), keys)
    assert ask.answers == {"decision": "deny"}


@pytest.mark.rule("EDIT-7", "EDIT-9")
async def test_the_editor_opens_with_an_earlier_change(terminal: Terminal, editor: Path) -> None:
    arguments: Any = {"tool_name": "Bash", "tool_input": INPUT}
    ask = await terminal.client.submit(
        "PermissionRequest", arguments, to="ops", takes_edited=True, confirmations=1
    )
    editor.write_text('sed -i "s|build|build/tmp|" "$1"')
    ask = await terminal.walked(ask, "e\r1\rb\rq\r")
    assert ask.prompt is not None
    assert "build/tmp" in str(ask.prompt["prefill_edited"])
    editor.write_text("true")
    ask = await terminal.walked(ask, "e\r1\rq\r")
    assert ask.prompt is not None
    assert ask.prompt["kind"] == "confirmation"


@pytest.mark.rule("EDIT-1")
async def test_no_editor_is_offered_for_another_prompt(terminal: Terminal) -> None:
    arguments: Any = {"tool_name": "Bash", "tool_input": INPUT}
    ask = await terminal.client.submit("PermissionRequest", arguments, to="ops")
    await terminal.walked(ask, "2\r")
    assert "Edit, then allow" not in terminal.screen.text
