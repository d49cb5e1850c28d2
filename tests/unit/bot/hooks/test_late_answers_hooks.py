"""Answers that came after Claude Code stopped waiting are context for the next event of the same session, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback_hosts.claude.hook import CONTEXT_EVENTS
from tests.unit.bot.agent_support import Json, Served, served
from tests.unit.bot.hooks.test_claude_hooks import asking, decision, hook
from tests.unit.bot.hooks.test_claude_hooks_permission import permission


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


def moment(name: str = "UserPromptSubmit", **more: Any) -> Json:
    """An event whose response can add context."""
    event: Json = {"session_id": "abc123", "cwd": "/srv/a/project", "hook_event_name": name}
    return {**event, "tool_name": "Bash", "tool_input": {"command": "ls"}, **more}


async def answered(service: Served, **action: Any) -> str:
    """Answer a question after the hook has gone; returns its id."""
    assert decision(await hook(service, asking(), "?wait=0"))[0] == "deny"
    ask = await service.newest()
    await service.act(ask, **(action or {"action": "answer", "value": "Vue"}))
    return ask.id


@pytest.mark.rule("LATE-2")
@pytest.mark.parametrize("name", sorted(CONTEXT_EVENTS))
async def test_a_late_answer_is_context_for_the_next_event_of_its_session_once(
    service: Served, name: str
) -> None:
    ask_id = await answered(service)
    assert await hook(service, moment(name, session_id="another")) == {}
    assert await hook(service, moment(name, agent_id="subagent-1")) == {}
    response = await hook(service, moment(name))
    output = response["hookSpecificOutput"]
    assert output["hookEventName"] == name
    assert set(output) == {"hookEventName", "additionalContext"}
    for part in ("Which framework?", "Vue", ask_id, "since you stopped waiting"):
        assert part in output["additionalContext"]
    assert await hook(service, moment(name)) == {}


@pytest.mark.rule("LATE-2")
async def test_without_late_answers_the_response_is_empty(service: Served) -> None:
    waiting = asyncio.create_task(hook(service, asking()))
    ask = await service.newest()
    await service.act(ask, action="answer", value="Vue")
    assert decision(await waiting)[0] == "allow"
    assert await hook(service, moment()) == {}
    assert await hook(service, moment("PermissionDenied")) == {}


@pytest.mark.rule("LATE-2")
@pytest.mark.parametrize(
    ("action", "text"),
    [
        ({"action": "reply", "text": "Neither. Use htmx."}, "Neither. Use htmx."),
        ({"action": "end_turn"}, "ended the turn. Stop, and wait for the user."),
        ({"action": "other", "text": "Svelte"}, "Svelte"),
    ],
)
async def test_every_outcome_is_described(service: Served, action: Json, text: str) -> None:
    await answered(service, **action)
    context = (await hook(service, moment("Stop")))["hookSpecificOutput"]["additionalContext"]
    assert text in context


@pytest.mark.rule("LATE-7", "LATE-10")
async def test_a_denied_permission_is_context_once_people_want_it_tried_again(
    service: Served,
) -> None:
    denied = await hook(service, permission(), "?wait=0")
    assert denied["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    assert await hook(service, moment()) == {}
    path = f"{service.url}/v1/asks/{(await service.newest()).id}/retry"
    async with service.http.post(path, json={}, headers=service.acting) as response:
        assert response.status == 200
    context = (await hook(service, moment()))["hookSpecificOutput"]["additionalContext"]
    for part in ("(Run touch a)", "wants you to try again. Nothing is approved"):
        assert part in context
    assert await hook(service, moment()) == {}


@pytest.mark.rule("LATE-2")
async def test_a_long_question_is_shortened_and_more_of_them_are_counted(service: Served) -> None:
    long = {**asking()["tool_input"]["questions"][0], "question": "Which? " + "x" * 300}
    both = [long, {**long, "question": "And then?"}]
    await hook(service, asking(questions=both), "?wait=0")
    await service.act(await service.newest(), action="reply")
    context = (await hook(service, moment()))["hookSpecificOutput"]["additionalContext"]
    assert f'"{("Which? " + "x" * 300)[:200]}…" and 1 more (asked earlier' in context


@pytest.mark.rule("LATE-2", "LATE-4")
async def test_a_late_answer_whose_event_was_interrupted_comes_with_the_next_one(
    service: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_id = await answered(service)

    async def never(*_: object) -> bool:
        return False

    with monkeypatch.context() as cut:
        cut.setattr("answerback.http.response_arrival.ResponseArrival.wait_until_received", never)
        assert ask_id in str(await hook(service, moment()))
    assert ask_id in str(await hook(service, moment()))
    assert await hook(service, moment()) == {}


async def test_an_agent_gets_only_its_own_late_answers(tmp_path: Path) -> None:
    async with served(tmp_path, {"claude": "agent", "other": "agent"}) as service:
        token, other = service.tokens["claude"], service.tokens["other"]
        await hook(service, asking(), "?wait=0", token=token)
        ask = await service.newest()
        await service.running.service.expire(ask.id)
        assert await hook(service, moment(), token=other) == {}
        assert "[no answer: expired]" in str(await hook(service, moment(), token=token))


@pytest.mark.rule("APPROVAL-13")
async def test_words_with_a_permission_are_context_for_the_next_event_once(
    service: Served,
) -> None:
    waiting = asyncio.create_task(hook(service, permission()))
    ask = await service.newest()
    await service.act(ask, action="answer", value="allow", note="On staging.")
    allowed = (await waiting)["hookSpecificOutput"]["decision"]
    assert allowed == {"behavior": "allow"}
    context = (await hook(service, moment("Stop")))["hookSpecificOutput"]["additionalContext"]
    assert 'The user was asked "Run touch a", decided, and said: On staging.' in context
    assert await hook(service, moment("Stop")) == {}


@pytest.mark.rule("APPROVAL-13")
async def test_words_with_a_denial_are_its_message_and_come_once(service: Served) -> None:
    waiting = asyncio.create_task(hook(service, permission()))
    await service.act(await service.newest(), action="answer", value="deny", note="Not on staging.")
    denied = (await waiting)["hookSpecificOutput"]["decision"]
    assert denied["behavior"] == "deny"
    assert denied["message"].endswith("They said: Not on staging.")
    assert await hook(service, moment("Stop")) == {}
