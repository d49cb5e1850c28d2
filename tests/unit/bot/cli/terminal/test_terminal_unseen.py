"""In the terminal: what nobody knows anything of is allowed only after one more question."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback_client import Ask
from tests.unit.bot.api.test_unseen import unknown
from tests.unit.bot.terminal_support import Terminal, open_terminal


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with open_terminal(tmp_path) as made:
        yield made


async def asked(terminal: Terminal) -> Ask:
    url = f"{terminal.service.url}/v1/asks"
    async with terminal.service.http.post(url, json=unknown()) as made:
        return await terminal.client.get(str((await made.json())["id"]))


@pytest.mark.rule("APPROVAL-11")
@pytest.mark.parametrize(
    ("keys", "answer"),
    [("1\r1\r", "once"), ("1\rq\r2\r", "no"), ("2\r", "no")],
    ids=["meant", "not meant", "denied"],
)
async def test_a_person_is_asked_once_more(terminal: Terminal, keys: str, answer: str) -> None:
    result = await terminal.walked(await asked(terminal), keys)
    assert result.json["answers"]["decision"] == answer  # type: ignore[call-overload, index]  # JSON
    shown = terminal.screen.text
    assert "did not say what it will do." in shown
    assert ("Yes, unseen" in shown) is keys.startswith("1")


@pytest.mark.rule("APPROVAL-11", "TERMINAL-5")
async def test_what_was_typed_before_the_second_question_does_not_answer_it(
    terminal: Terminal,
) -> None:
    result = await terminal.walked(await asked(terminal), ["1\r1\r", "q\r", "2\r"])
    assert result.answers == {"decision": "no"}


@pytest.mark.rule("SURFACE-20")
@pytest.mark.parametrize(
    ("call", "label", "hint"),
    [
        (unknown(rawInput={"command": "ls"}), "Deny with a message", "is told no"),
        (
            unknown(title="ExitPlanMode", rawInput={"plan": "1. Drop the table"}),
            "Keep planning, with a message",
            "keeps planning, and reads your message.",
        ),
    ],
    ids=["command", "plan"],
)
async def test_a_reply_says_what_it_does(
    terminal: Terminal, call: dict[str, Any], label: str, hint: str
) -> None:
    async with terminal.service.http.post(f"{terminal.service.url}/v1/asks", json=call) as made:
        ask = await terminal.client.get(str((await made.json())["id"]))
    result = await terminal.walked(ask, "r\rNot that one.\r")
    assert result.json["reply"] == "Not that one."
    assert label in terminal.screen.text
    assert hint in terminal.screen.text
