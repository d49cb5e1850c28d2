"""Plans and links of Claude Code: an approval has to hold the plan, or Claude Code drops it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.hooks.host import Echo, encode_answer
from answerback_agents.pipe import host_answers as denials
from answerback_hosts.claude import found_plan as claude_plans
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hook_support import REPLY, answered, value
from tests.unit.bot.hooks.test_claude_hooks import hook
from tests.unit.bot.hooks.test_claude_hooks_permission import get_decision, permission
from tests.unit.cases import read_case

PLAN = "# Plan\n\n1. Move the table\n2. Drop the old one\n"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


def planning(**tool_input: Any) -> Json:
    """A prompt about a plan."""
    return {**permission("ExitPlanMode"), "tool_input": tool_input}


def set_mode(mode: str) -> list[Json]:
    return [{"type": "setMode", "mode": mode, "destination": "session"}]


def context(ask: Ask) -> str:
    assert ask.question is not None
    return ask.question.context or ""


@pytest.mark.rule("HOOK-10")
@pytest.mark.parametrize(
    ("act", "decision"),
    [
        (value("allow"), {"behavior": "allow", "updatedPermissions": set_mode("default")}),
        (
            value("accept_edits"),
            {"behavior": "allow", "updatedPermissions": set_mode("acceptEdits")},
        ),
        (
            value("deny"),
            {"behavior": "deny", "message": "The user did not approve the plan. Keep planning."},
        ),
        (REPLY, {"behavior": "deny", "message": "Ask Ada."}),
    ],
)
async def test_a_plan_has_the_choices_of_claude_codes_own_window(
    service: Served, act: Json, decision: Json
) -> None:
    given = read_case("claude-plan-without-choices")["input"]["event"]
    waiting = asyncio.create_task(hook(service, given))
    ask = await service.newest()
    assert ask.question is not None
    assert [option.label for option in ask.question.options] == [
        "Approve, and ask about each edit",
        "Approve, and accept edits",
        "Keep planning",
    ]
    await service.act(ask, **act)
    echoed = {"updatedInput": given["tool_input"]} if decision["behavior"] == "allow" else {}
    assert get_decision(await waiting) == {**decision, **echoed}


@pytest.mark.rule("HOOK-10")
async def test_an_approved_plan_is_sent_back_as_it_was_shown(service: Served) -> None:
    case = read_case("claude-plan-allow-has-no-effect")
    waiting = asyncio.create_task(hook(service, case["input"]["event"]))
    ask = await service.newest()
    assert context(ask).startswith("`a.md`\n\n# Plan\n\n1. Move the table")
    await service.act(ask, **value("allow"))
    decision = get_decision(await waiting)
    assert decision["behavior"] == "allow"
    expected = case["expected"]["hookSpecificOutput"]["decision"]["updatedInput"]
    assert decision["updatedInput"] == expected


@pytest.mark.rule("HOOK-10")
async def test_what_is_echoed_keeps_its_bytes(service: Served) -> None:
    sent = '{ "plan": "# \\u0050lan", "budget": 1.10, "id": 12345678901234567890123 }'
    event = json.dumps(planning()).replace('"tool_input": {}', f'"tool_input": {sent}')
    for way in ("http", "command"):
        waiting = asyncio.create_task(answered(service, event.encode(), way))
        await service.act(await service.newest(1 if way == "http" else 2), **value("allow"))
        assert f'"updatedInput": {sent}' in await waiting


@pytest.mark.parametrize(
    ("event", "more", "echoed"),
    [
        ('{"a": {"b": [1.10, "}"] , "c":1e5}}', {}, '{"b": [1.10, "}"] , "c":1e5}'),
        ('{"a": {"b": 1.10}}', {"plan": "x"}, '{"b":1.10,"plan":"x"}'),
        ('{"a": {"b": 1, "plan": " "}}', {"plan": "x"}, '{"b":1,"plan":"x"}'),
        ('{"a": "text"}', {"plan": "x"}, '{"plan":"x"}'),
        ('{"b": 1}', {}, "{}"),
    ],
)
def test_an_object_is_echoed_by_its_bytes(event: str, more: Json, echoed: str) -> None:
    answer = {"x": {"y": Echo("a", more)}, "z": 1}
    assert encode_answer(answer, event.encode()) == f'{{"x": {{"y": {echoed}}}, "z": 1}}'


@pytest.mark.rule("HOOK-10", "APPROVAL-11")
async def test_a_plan_that_was_not_sent_is_asked_about_once_more(service: Served) -> None:
    waiting = asyncio.create_task(
        hook(service, read_case("claude-plan-empty-input")["input"]["event"])
    )
    ask = await service.newest()
    assert ask.question is not None
    assert ask.question.nothing_known
    await service.act(ask, **value("allow"), unseen=True)
    assert get_decision(await waiting)["updatedInput"] == {}


@pytest.mark.rule("HOOK-10")
async def test_the_command_hook_finds_the_plan_and_sends_back_what_was_shown(
    service: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    file = tmp_path / "claude" / "plans" / "a.md"
    file.parent.mkdir(parents=True)
    file.write_text(PLAN)
    transcript = tmp_path / "t.jsonl"
    said = {
        "type": "assistant",
        "message": {"content": [{"type": "text", "text": "I would move it."}]},
    }
    use = {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "name": "ExitPlanMode"}]},
    }
    transcript.write_text(
        "".join(json.dumps(each) + "\n" for each in (said, use, {"type": "user"}))
    )
    for count, (tool_input, shown) in enumerate(
        (({"planFilePath": str(file)}, PLAN), ({}, "I would move it.")), 1
    ):
        event = {**planning(**tool_input), "transcript_path": str(transcript)}
        raw = json.dumps(event).encode()
        waiting = asyncio.create_task(answered(service, raw, "command"))
        ask = await service.newest(count)
        assert shown in context(ask)
        heading = "**Last message of the session; it may not be the plan**"
        assert context(ask).startswith(heading) is (tool_input == {})
        file.write_text("Drop everything.")  # too late
        await service.act(ask, **value("allow"))
        decision = json.loads(await waiting)["hookSpecificOutput"]["decision"]
        assert decision["updatedInput"] == {**tool_input, "plan": shown}


def test_only_a_regular_file_among_the_plans_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    plans = tmp_path / ".claude" / "plans"
    plans.mkdir(parents=True)
    outside = tmp_path / "secret"
    outside.write_text("a secret")
    good, link, pipe, big, empty = (
        plans / name for name in ("good", "link", "pipe", "big", "empty")
    )
    good.write_text(PLAN)
    link.symlink_to(outside)
    os.mkfifo(pipe)
    big.write_text("x" * (10**6 + 1))
    empty.touch()
    found = {"source": "file", "text": PLAN}
    assert claude_plans.find_plan(planning(planFilePath=str(good))) == found
    for each in (outside, link, pipe, big, empty, plans, plans / "missing", plans / ".." / "x\0"):
        assert claude_plans.find_plan(planning(planFilePath=str(each))) is None
    big.write_text("x" * 10**6)
    assert claude_plans.find_plan(planning(planFilePath=str(big))) is not None


@pytest.mark.parametrize("lines", ["", "no JSON\n[]\n", '{"type": "assistant"}\n'])
def test_a_transcript_without_a_message_has_no_plan(tmp_path: Path, lines: str) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(lines)
    for path in (transcript, tmp_path / "missing", tmp_path):
        assert claude_plans.find_plan({**planning(), "transcript_path": str(path)}) is None
    for event in (planning(plan=PLAN), permission(), {"hook_event_name": "Stop"}):
        assert claude_plans.find_plan({**event, "transcript_path": str(transcript)}) is None


@pytest.mark.rule("HOOK-10")
async def test_a_plan_that_was_sent_counts_over_one_that_was_found(service: Served) -> None:
    event = {
        **planning(plan=PLAN),
        claude_plans.FOUND_PLAN: {"source": "file", "text": "Another one"},
    }
    waiting = asyncio.create_task(hook(service, event))
    ask = await service.newest()
    assert "Another one" not in context(ask)
    await service.act(ask, **value("allow"))
    assert get_decision(await waiting)["updatedInput"] == {"plan": PLAN}


@pytest.mark.rule("HOOK-10")
async def test_a_long_plan_is_not_cut(service: Served) -> None:
    plan = "# Plan\n\n" + "".join(f"{n}. Step {n}\n" for n in range(5_000))
    waiting = asyncio.create_task(hook(service, planning(plan=plan)))
    ask = await service.newest()
    assert plan in context(ask)
    await service.act(ask, **value("deny"))
    await waiting


@pytest.mark.rule("HOOK-7")
@pytest.mark.parametrize(("suggested", "is_told"), [([], True), (None, False)])
async def test_people_read_that_claude_code_may_ask_again_in_its_own_window(
    service: Served, suggested: list[Json] | None, is_told: bool
) -> None:
    event = permission("mcp__shop__drop_table", {"path": "x"}, permission_suggestions=suggested)
    waiting = asyncio.create_task(hook(service, event))
    ask = await service.newest()
    assert ("only an answer there counts" in context(ask)) is is_told
    await service.act(ask, **value("allow"))
    assert get_decision(await waiting) == {"behavior": "allow"}


@pytest.mark.rule("HOOK-3")
@pytest.mark.parametrize(("answer", "action"), [(True, "accept"), (False, "decline")])
async def test_a_link_is_put_to_people(service: Served, answer: bool, action: str) -> None:
    event = read_case("claude-elicitation-url")["input"]["event"]
    assert denials.denial("claude", event, "") is not None
    waiting = asyncio.create_task(hook(service, event))
    ask = await service.newest()
    assert ask.question is not None
    assert (ask.question.text, ask.question.context) == (event["message"], event["url"])
    await service.act(ask, **value(answer))
    output = (await waiting)["hookSpecificOutput"]
    assert output == {"hookEventName": "Elicitation", "action": action}
