"""Grants in the terminal: given there, listed and revoked by the command."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from answerback.core.ask import Destination
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.grants import GrantOffer, Match
from answerback.ports.store import Write
from answerback_agents.cli import main
from answerback_client import Ask
from answerback_testing.example_asks import new_ask
from tests.unit.bot.terminal_support import Terminal, open_terminal

RUN = Question(
    id="decision",
    text="Run ls",
    answer_type=AnswerType.SELECT,
    options=(
        Option(value="allow", label="Allow once", kind=OptionKind.ALLOW_ONCE),
        Option(value="deny", label="Deny", kind=OptionKind.DENY),
    ),
)
MATCHES = (
    Match(match="command", subject="ls \x1b[2J-la", scope="a"),
    Match(match="prefix:ls", subject="ls", scope="b"),
)


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with open_terminal(tmp_path) as made:
        yield made


async def approval(
    terminal: Terminal, minutes: int = 480, uses: int = 50, *, notes: bool = False
) -> Ask:
    service = terminal.service.running.service
    offer = GrantOffer(matches=MATCHES, minutes=minutes, uses=uses)
    request = {"agent": "coder", "route": "ops", "grants": offer}
    ask = new_ask(
        "0123456789abcdef",
        to=Destination(surface="web"),
        form=Form(questions=(RUN.model_copy(update={"notes": notes}),)),
        responders=("ana",),
        at=service.clock.now(),
        request=request,
    )
    await service.store.asks.create(Write(ask), None)
    return await terminal.client.get(ask.id)


async def run(terminal: Terminal, *arguments: str) -> tuple[int, str, str]:
    at = ("--url", terminal.service.url, "--token", terminal.service.key)
    invoke = CliRunner().invoke
    done = await asyncio.to_thread(invoke, main.app, ["grant", *arguments, *at])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.rule("GRANT-8", "CLI-4")
async def test_a_person_allows_it_again_in_the_terminal(terminal: Terminal) -> None:
    ask = await terminal.walked(await approval(terminal), "g\r2\r3\r4\r")
    assert ask.answers == {"decision": "allow"}
    [grant] = await terminal.service.running.service.store.grants.newest(9)
    assert (grant.match, grant.until - grant.at, grant.uses) == ("prefix:ls", 4 * 3_600, 20)
    assert grant.by.user_id == "ana"
    assert "Exactly this command: ls ␛[2J-la" in terminal.screen.text
    assert "\x1b[2J-la" not in terminal.screen.text


@pytest.mark.rule("GRANT-8", "TERMINAL-5")
async def test_what_was_typed_before_the_choices_of_a_grant_chooses_none(
    terminal: Terminal,
) -> None:
    keys = ["g\r1\r1\r1\r", "q\r", "2\r"]
    ask = await terminal.walked(await approval(terminal), keys)
    assert ask.answers == {"decision": "deny"}


@pytest.mark.rule("GRANT-8", "ACT-8")
async def test_a_note_goes_with_the_grant(terminal: Terminal) -> None:
    keys = "n\rFor today.\rg\rq\rg\r1\r1\r1\r"
    ask = await terminal.walked(await approval(terminal, notes=True), keys)
    store = terminal.service.running.service.store
    assert len(await store.grants.newest(9)) == 1
    stored = await store.asks.get(ask.id)
    assert stored is not None
    assert [given.note for given in stored.walk.answers] == ["For today."]


@pytest.mark.rule("GRANT-8")
@pytest.mark.parametrize("keys", ["g\rq\r", "g\r1\rq\r", "g\r1\r1\rq\r"])
async def test_a_person_changes_their_mind(terminal: Terminal, keys: str) -> None:
    ask = await terminal.walked(await approval(terminal), f"{keys}2\r")
    assert ask.answers == {"decision": "deny"}
    assert await terminal.service.running.service.store.grants.newest(9) == []


@pytest.mark.rule("GRANT-3")
async def test_no_more_is_offered_than_the_route_allows(terminal: Terminal) -> None:
    await terminal.walked(await approval(terminal, minutes=20, uses=5), "g\r1\r1\r2\r")
    assert "15 min" in terminal.screen.text
    assert "1 h" not in terminal.screen.text
    assert "How many times: 10" not in terminal.screen.text
    [grant] = await terminal.service.running.service.store.grants.newest(9)
    assert grant.uses == 5


@pytest.mark.rule("GRANT-6", "CLI-18", "CLI-11")
async def test_the_command_lists_and_revokes(terminal: Terminal) -> None:
    assert (await run(terminal, "list"))[2] == "Nothing is allowed again.\n"
    await terminal.walked(await approval(terminal), "g\r1\r1\r1\r")
    status, out, _ = await run(terminal, "list")
    assert status == 0
    assert "Exactly this command: ls ␛[2J-la  coder in" in out
    assert "by Ana  0 of 1 uses  until" in out
    _, out, _ = await run(terminal, "list", "--json")
    [found] = json.loads(out)
    assert (await run(terminal, "revoke", "grant_0"))[0] == 1
    status, out, err = await run(terminal, "revoke", found["id"], "--json")
    assert status == 0
    assert json.loads(out)["ended_at"] is not None
    assert err == f"{found['id']}: revoked.\n"
    assert await run(terminal, "revoke", found["id"]) == (0, "", err)
    assert (await run(terminal, "list", "--json"))[1] == "[]\n"
