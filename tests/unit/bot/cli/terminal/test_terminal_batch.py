"""In the terminal: permissions are listed with their whole contexts, and several are decided at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.cli.terminal import batch
from answerback.cli.terminal.batch import BatchList
from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.core.labels import Labels
from answerback_client import Ask
from tests.service_support import WAIT
from tests.unit.bot.terminal_support import SELECT, Terminal, Typist, open_terminal

LABELS = Labels()
LONG = "true; " * 200 + "rm -rf /srv"
ROLES = {"front": {"role": "surface"}}
pytestmark = pytest.mark.rule("BATCH-6")


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with open_terminal(tmp_path) as made:
        yield made


async def approval(terminal: Terminal, command: str, **more: Any) -> Ask:
    arguments: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": command}}
    return await terminal.client.submit("PermissionRequest", arguments, dialect="approval", **more)


def listed(
    terminal: Terminal, surface: str | None = "web", keys: str | list[str] = ""
) -> BatchList:
    lines = Typist(terminal.keyboard, keys)
    prompter = TerminalPrompter(LABELS, lines)
    actor = {"user_id": "ana", "name": "Ana"}
    return BatchList(terminal.client, prompter, lines, actor, surface)  # type: ignore[arg-type] # JSON


async def work(terminal: Terminal, keys: str | list[str], surface: str | None = "web") -> str:
    async with asyncio.timeout(WAIT):
        await listed(terminal, surface, keys).work_through()
    return terminal.screen.text


async def decisions(terminal: Terminal, asks: list[Ask]) -> list[object]:
    stored = [await terminal.client.get(ask.id) for ask in asks]
    return [ask.answers.get("decision") for ask in stored]


async def test_numbers_name_what_is_allowed_or_denied(terminal: Terminal) -> None:
    asks = [await approval(terminal, f"make t{n}\nmake u{n}") for n in range(5)]
    text = await work(terminal, "1, 3-4\r1\r1\r2\rq\r")
    assert await decisions(terminal, asks) == ["allow", "deny", "allow", "allow", None]
    assert all(f"make u{n}" in text for n in range(5)), "the whole context is in each row"
    assert f"{LABELS.allow_once}: 3." in text
    assert f"{LABELS.deny}: 1." in text
    assert LABELS.batch_left.partition("{count}")[0] not in text


async def test_only_what_is_listed_whole_is_allowed(terminal: Terminal) -> None:
    asks = [await approval(terminal, LONG), await approval(terminal, "ls")]
    await terminal.client.submit("ask_user", {"questions": [SELECT]})
    text = await work(terminal, "1-2\r1\r1\r1\r1\r2\r")
    assert await decisions(terminal, asks) == ["deny", "allow"]
    assert LABELS.batch_open in text
    assert text.count(LABELS.batch_left.format(count=1)) == 2
    assert "Nothing is waiting" in text


async def test_a_hundred_permissions_are_cleared_among_and_below_as_many_questions(
    terminal: Terminal,
) -> None:
    asks = []
    for n in range(100):
        asks.append(await approval(terminal, LONG if n % 10 == 9 else f"make t{n}"))
        if n % 2:
            await terminal.client.submit("ask_user", {"questions": [SELECT]})
    for _ in range(60):  # newer than all permissions
        await terminal.client.submit("ask_user", {"questions": [SELECT]})
    whole = ",".join(str(n + 1) for n in range(100) if n % 10 != 9)
    text = await work(terminal, f"{whole}\r1\r1-10\r2\r")
    assert "Nothing is waiting" in text
    expected = ["deny" if n % 10 == 9 else "allow" for n in range(100)]
    assert await decisions(terminal, asks) == expected
    assert len(await terminal.client.open_asks(200)) == 110, "no question is decided"


async def test_wrong_numbers_are_entered_again_and_a_decision_can_be_dropped(
    terminal: Terminal,
) -> None:
    asks = [await approval(terminal, "ls")]
    text = await work(terminal, "2\r0\rx\r1-2\r1\rq\r\r")
    assert await decisions(terminal, asks) == [None]
    assert text.count("Enter numbers from 1 to 1, or q.") == 4


async def test_what_somebody_else_decided_first_is_left(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = [await approval(terminal, f"make {n}") for n in range(2)]
    working = asyncio.create_task(listed(terminal, keys="1-2\r").work_through())
    await terminal.shows("Allow once")
    await terminal.client.act(asks[0].id, {"action": "answer", "value": "deny"})
    terminal.keyboard.send_text("1\r")
    async with asyncio.timeout(WAIT):
        await working
    assert await decisions(terminal, asks) == ["deny", "allow"]
    assert LABELS.batch_left.format(count=1) in terminal.screen.text


async def test_a_front_end_lists_every_surface_and_the_key_its_own(terminal: Terminal) -> None:
    assert batch._MOST == 100
    await approval(terminal, "ls")
    assert "Run ls" in await work(terminal, "q\r", None)
    assert "Nothing is waiting" in await work(terminal, "", "slack")


@pytest.mark.rule("TERMINAL-5")
async def test_what_was_typed_before_a_list_decides_nothing_in_it(terminal: Terminal) -> None:
    asks = [await approval(terminal, f"make {n}") for n in range(2)]
    await work(terminal, ["1\r", "1\r1\r1\r", "q\r"])
    assert await decisions(terminal, asks) == ["allow", None]
