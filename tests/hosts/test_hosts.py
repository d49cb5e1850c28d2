"""Real hosts × kinds of prompts: what is allowed happens, what is denied does not, and both were seen before."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from answerback_client import Ask
from tests.agents.conftest import Home
from tests.agents.model import Calls, Json, Model, Says, Scripted, scripted
from tests.agents.test_claude_plans import write_plan
from tests.hosts import acp_programs, programs
from tests.hosts.acp_programs import Session
from tests.hosts.cells import HOSTS
from tests.hosts.kinds import ACTIONS, Deed, Kind, Visits
from tests.hosts.tools import CALLS, LABELS, PREFIXES, QUESTIONS
from tests.recipes.conftest import Person

PROGRAMS: dict[str, Any] = {
    "claude": programs.ClaudeCode(),
    "codex": programs.Codex(),
    "opencode": programs.OpenCode(),
    "copilot": programs.Copilot(),
    "opencode-acp": acp_programs.OPENCODE,
    "gemini-acp": acp_programs.GEMINI,
    "qwen-acp": acp_programs.QWEN,
    "kimi-acp": acp_programs.KIMI,
    "claude-agent-acp": acp_programs.CLAUDE_AGENT,
}
WHY = "Not in that place."


@pytest.fixture(params=PROGRAMS)
def host(request: pytest.FixtureRequest) -> Any:
    return PROGRAMS[request.param]


def skip_what_it_cannot(host: Any, kind: Kind) -> None:
    """Skip a cell of which it is written down why there is no such prompt."""
    [name] = [name for name, program in PROGRAMS.items() if program is host]
    if (why := HOSTS[name].cannot.get(kind)) is not None:
        pytest.skip(f"{HOSTS[name].name} {why}")


@asynccontextmanager
async def web_server() -> AsyncIterator[Visits]:
    """Run a web server on loopback that counts connections: some hosts insist on TLS, which it does not speak."""
    visits = Visits()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visits.count += 1
        await reader.read(2**16)
        page = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nA page."
        writer.write(page)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        visits.address = f"http://127.0.0.1:{port}"
        yield visits


async def converse(
    host: Any,
    home: Home,
    steps: list[Scripted],
    decide: Callable[[Session], Coroutine[Any, Any, Any]],
) -> Model:
    """Let a host work through a script, while people decide."""
    async with scripted(*steps, Says("Done.")) as model, host.session(home, model) as session:

        async def work() -> None:
            await session.prompt("Set it up")
            while model.steps or len(model.requests) < len(steps):
                await session.prompt("Go on")
            await session.prompt("And now?")

        async with asyncio.TaskGroup() as group:
            group.create_task(work())
            group.create_task(decide(session))
    return model


def option(ask: Ask, kind: str) -> str:
    """The value of the option that does this."""
    assert ask.prompt is not None
    options: Any = ask.prompt["options"]
    return next(str(each["value"]) for each in options if each.get("kind") == kind)


def read(ask: Ask) -> str:
    """Return the text that people read before they decide."""
    assert ask.prompt is not None
    return f"{ask.json['headline']}\n{ask.prompt['text']}\n{ask.prompt['context']}"


@pytest.mark.parametrize("kind", ACTIONS, ids=lambda kind: kind.name.lower())
async def test_what_people_decide_takes_effect(
    host: Any, kind: Kind, home: Home, person: Person
) -> None:
    skip_what_it_cannot(host, kind)
    async with web_server() as one, web_server() as other:
        await decide_about_two(
            host, [Deed(kind, home.project, each) for each in (one, other)], home, person
        )


async def decide_about_two(host: Any, deeds: list[Deed], home: Home, person: Person) -> None:
    """Deny the first deed in words and allow the second, in one conversation."""
    steps: list[Scripted] = [step for deed in deeds for step in CALLS[host.name](deed)]

    async def decide(_session: Session) -> None:
        for deed, is_allowed in zip(deeds, (False, True), strict=True):
            ask = await person.sees()
            for each in deed.shown():
                assert each in read(ask), (each, read(ask))
            assert ask.prompt is not None
            assert ask.prompt["nothing_known"] is False
            if is_allowed:
                await person.answers(option(ask, "allow_once"))
            else:
                await person.replies(WHY)

    model = await converse(host, home, steps, decide)
    assert [deed.is_done(model) for deed in deeds] == [False, True]
    assert any(WHY in str(each) for each in model.requests)


async def test_words_with_an_allow_reach_the_model(host: Any, home: Home, person: Person) -> None:
    skip_what_it_cannot(host, Kind.WORDS)
    async with web_server() as visits:
        deed = Deed(Kind.SHELL, home.project, visits)

        async def decide(_session: Session) -> None:
            ask = await person.sees()
            await person.act("answer", value=option(ask, "allow_once"), note=WHY)

        model = await converse(host, home, [*CALLS[host.name](deed)], decide)
    assert deed.is_done(model)
    assert any(WHY in str(each) for each in model.requests)


@pytest.mark.parametrize(
    ("kind", "tool", "answer"),
    [(Kind.FORM, "book", {"seat": "12A", "meal": True}), (Kind.URL, "pay", True)],
    ids=["form", "link"],
)
async def test_people_answer_what_an_mcp_server_asks(
    host: Any, kind: Kind, tool: str, answer: Any, home: Home, person: Person
) -> None:
    skip_what_it_cannot(host, kind)
    steps: list[Scripted] = [Calls(PREFIXES[host.name] + tool, {}) for _ in range(2)]

    async def decide(_session: Session) -> None:
        for is_allowed in (True, False):
            ask = await person.sees()
            while ask.json["dialect"] == "approval":
                once = option(ask, "allow_once")
                await person.act("answer", value=once, unseen=True)
                ask = await person.sees()
            await (person.answers(answer) if is_allowed else person.replies(WHY))

    model = await converse(host, home, steps, decide)
    results = set(re.findall(rf"{tool}: (accept|decline|cancel)", str(model.requests)))
    assert "accept" in results
    assert len(results) == 2


@pytest.mark.parametrize("kind", [Kind.QUESTION], ids=["question"])
async def test_people_answer_its_questions(
    host: Any, kind: Kind, home: Home, person: Person
) -> None:
    skip_what_it_cannot(host, kind)
    chosen, other = LABELS

    async def decide(_session: Session) -> None:
        ask = await person.sees()
        assert "Which port?" in read(ask)
        await person.replies(WHY)
        ask = await person.sees()
        assert "Which port?" in read(ask)
        await person.answers(choice(ask, chosen))

    steps: list[Scripted] = [QUESTIONS[host.name]() for _ in range(2)]
    model = await converse(host, home, steps, decide)
    read_by_model = str(model.requests[-1])
    assert WHY in read_by_model
    assert read_by_model.count(chosen) > read_by_model.count(other)


def choice(ask: Ask, label: str) -> Any:
    """The answer that chooses the option with this label."""
    assert ask.prompt is not None
    options: Any = ask.prompt["options"]
    if options is None:
        schema: Any = ask.prompt["schema"]
        return {next(iter(schema["properties"])): label}
    return next(each["value"] for each in options if each["label"] == label)


async def test_what_nobody_decides_is_not_done(
    host: Any, unanswered_home: Home, onlooker: Person
) -> None:
    skip_what_it_cannot(host, Kind.NOBODY)
    async with web_server() as visits:
        deed = Deed(Kind.SHELL, unanswered_home.project, visits)
        is_told = []

        async def decide(session: Session) -> None:
            ask = await onlooker.sees()
            ended = await onlooker.front.wait(ask.id, timeout=onlooker.patience)
            assert ended.status == "expired"
            is_told.append(session.refuse is None and host.name != "Codex")
            if session.refuse is not None:
                session.refuse()

        model = await converse(host, unanswered_home, [*CALLS[host.name](deed)], decide)
    assert not deed.is_done(model)
    if is_told[0]:
        assert any("no answer: expired" in str(each) for each in model.requests)


PLAN = "# Plan\n\n1. Move the table\n2. Drop the old one\n"


def named(request: Json, expression: str) -> str:
    """Return the tool that the host's instructions name."""
    found = re.search(expression, json.dumps(request))
    assert found, expression
    return found[0]


def write_kimis_plan(request: Json) -> Calls:
    """Write the plan to the file that Kimi Code's reminder names."""
    path = named(request, r"/[^\s\"'`\\\\]+/plans/[\w-]+\.md")
    return Calls("Write", {"path": path, "content": PLAN})


PLANS: dict[str, tuple[Scripted, ...]] = {
    "Claude Code": (write_plan, Calls("ExitPlanMode", {})),
    "claude-agent-acp": (write_plan, Calls("ExitPlanMode", {})),
    "Gemini CLI": (
        Calls("write_file", {"file_path": "tables.md", "content": PLAN}),
        Calls("exit_plan_mode", {"plan_filename": "tables.md"}),
    ),
    "Kimi Code": (write_kimis_plan, Calls("ExitPlanMode", {})),
    "Qwen Code": (Calls("exit_plan_mode", {"plan": PLAN}),),
}
"""The calls by which each host presents a plan."""


async def test_people_keep_it_planning_and_then_approve(
    host: Any, home: Home, person: Person
) -> None:
    skip_what_it_cannot(host, Kind.PLAN)
    planned = PLANS[host.name]
    last = planned[-1]
    assert isinstance(last, Calls)

    async def decide(_session: Session) -> None:
        for is_allowed in (False, True):
            ask = await person.sees()
            assert "2. Drop the old one" in read(ask)
            assert ask.prompt is not None
            assert ask.prompt["plan"] is True
            await (person.answers(option(ask, "allow_once")) if is_allowed else person.replies(WHY))

    steps = [*planned, Calls(last.tool, last.arguments)]
    model = await converse(host.planning(), home, steps, decide)
    assert any(WHY in str(each) for each in model.requests)
    assert "approved" in str(model.requests[-2:])
