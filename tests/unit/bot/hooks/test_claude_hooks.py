"""Claude Code's hooks: its own events over real sockets, and the response for every way that an ask can end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.service_support import WAIT
from tests.unit.bot.agent_support import Json, Served, served

QUESTIONS: list[Json] = [
    {
        "question": "Which framework?",
        "header": "Framework",
        "options": [
            {"label": "React", "description": "Known to all"},
            {"label": "Vue", "description": "Smaller"},
        ],
        "multiSelect": False,
    }
]
SCHEMA: Json = {
    "type": "object",
    "properties": {"username": {"type": "string", "title": "Username"}},
    "required": ["username"],
}


def asking(tool_use_id: str | None = "toolu_1", **tool_input: Any) -> Json:
    """A PreToolUse event of an AskUserQuestion call."""
    event: Json = {
        "session_id": "abc123",
        "transcript_path": "/srv/a/.claude/projects/x/t.jsonl",
        "cwd": "/srv/a/project",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": QUESTIONS, **tool_input},
        "a_field_of_tomorrow": {},
    }
    return event if tool_use_id is None else {**event, "tool_use_id": tool_use_id}


def eliciting(**more: Any) -> Json:
    """An Elicitation event."""
    return {
        "session_id": "abc123",
        "cwd": "/srv/a/project",
        "permission_mode": "default",
        "hook_event_name": "Elicitation",
        "mcp_server_name": "my-server",
        "message": "Who are you?",
        "mode": "form",
        "requested_schema": SCHEMA,
        **more,
    }


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


async def hook(service: Served, event: object, query: str = "", token: str | None = None) -> Json:
    """The hook's response, which is always a 200: other statuses do not hold Claude Code back."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with service.http.post(
        f"{service.url}/hooks/claude{query}", json=event, headers=headers
    ) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "application/json"
        found: Json = await response.json()
        return found


def decision(answer: Json) -> tuple[str, str]:
    output = answer["hookSpecificOutput"]
    assert output["hookEventName"] == "PreToolUse"
    return output["permissionDecision"], output["permissionDecisionReason"]


@pytest.mark.rule("HOOK-1")
async def test_an_answer_allows_the_call_with_the_questions_echoed_and_the_answers(
    service: Served,
) -> None:
    event = asking(metadata={"source": "remember"})
    waiting = asyncio.create_task(hook(service, event))
    ask = await service.newest()
    await service.act(ask, action="answer", value="Vue")
    answer = await waiting
    assert decision(answer)[0] == "allow"
    assert answer["hookSpecificOutput"]["updatedInput"] == {
        **event["tool_input"],
        "answers": {"Which framework?": "Vue"},
    }
    assert "continue" not in answer
    assert (ask.request.conversation, ask.request.tool_call_id) == ("abc123", "toolu_1")
    assert ask.request.metadata == {"via": "claude-code", "cwd": "/srv/a/project"}


@pytest.mark.rule("DIALECT-21", "HOOK-1")
@pytest.mark.parametrize("event_name", ["PreToolUse", "PermissionRequest"])
async def test_questions_in_the_json_of_a_string_are_asked_and_echoed_as_the_array_that_they_are(
    service: Served, event_name: str
) -> None:
    event = {**asking(questions=json.dumps(QUESTIONS)), "hook_event_name": event_name}
    waiting = asyncio.create_task(hook(service, event))
    await service.act(await service.newest(), action="answer", value="Vue")
    output = (await waiting)["hookSpecificOutput"]
    updated = output.get("updatedInput") or output["decision"]["updatedInput"]
    assert updated == {"questions": QUESTIONS, "answers": {"Which framework?": "Vue"}}


async def test_a_call_of_the_extended_form_has_its_title_where_people_read_it(
    service: Served,
) -> None:
    event = asking(title="A new page", metadata={"source": "remember"})
    waiting = asyncio.create_task(hook(service, event))
    ask = await service.newest()
    assert ask.form.questions[0].context == "### A new page"
    await service.act(ask, action="answer", value="Vue")
    updated = (await waiting)["hookSpecificOutput"]["updatedInput"]
    assert updated == {**event["tool_input"], "answers": {"Which framework?": "Vue"}}


async def test_several_choices_are_joined_and_other_text_is_kept_unchanged(
    service: Served,
) -> None:
    many = [{**QUESTIONS[0], "multiSelect": True}, {**QUESTIONS[0], "question": "And then?"}]
    waiting = asyncio.create_task(hook(service, asking(questions=many)))
    ask = await service.newest()
    await service.act(ask, action="answer", value=["React", "Vue"])
    await service.act(ask, action="other", text="Rest, then ship")
    answer = await waiting
    assert answer["hookSpecificOutput"]["updatedInput"]["answers"] == {
        "Which framework?": "React, Vue",
        "And then?": "Rest, then ship",
    }


@pytest.mark.rule("HOOK-2")
async def test_a_reply_denies_and_quotes_the_person(service: Served) -> None:
    waiting = asyncio.create_task(hook(service, asking()))
    await service.act(await service.newest(), action="reply", text="Neither. Use htmx.")
    behaviour, reason = decision(await waiting)
    assert behaviour == "deny"
    assert "Neither. Use htmx." in reason


@pytest.mark.rule("HOOK-2")
async def test_an_empty_reply_denies_too(service: Served) -> None:
    waiting = asyncio.create_task(hook(service, asking()))
    await service.act(await service.newest(), action="reply")
    assert decision(await waiting) == ("deny", "The user declined to answer these questions.")


@pytest.mark.rule("HOOK-2")
async def test_end_turn_stops_claude_and_names_the_person(service: Served) -> None:
    waiting = asyncio.create_task(hook(service, asking()))
    await service.act(
        await service.newest(), action="end_turn", actor={"user_id": "U1", "name": "Ana"}
    )
    answer = await waiting
    assert answer["continue"] is False
    assert answer["stopReason"] == "The turn was ended by Ana on web."
    assert decision(answer)[0] == "deny"


@pytest.mark.rule("HOOK-4")
async def test_a_timeout_denies_shows_on_the_page_and_keeps_the_ask_answerable(
    service: Served,
) -> None:
    behaviour, reason = decision(await hook(service, asking(), "?wait=0.05"))
    ask = await service.newest()
    assert behaviour == "deny"
    assert "stays open" in reason
    assert ask.id in reason
    assert ask.open
    assert ask.placement.thread is not None
    page = ask.placement.thread.url or ""

    async def says_moved_on() -> bool:
        async with service.http.get(page) as response:
            return "has gone on" in await response.text()

    assert await says_moved_on()
    waiting = asyncio.create_task(hook(service, asking()))
    async with asyncio.timeout(WAIT):
        while await says_moved_on():  # noqa: ASYNC110 - nothing tells what is stored of who waits
            await asyncio.sleep(0.005)
    await service.act(ask, action="answer", value="React", revision=ask.revision)
    assert decision(await waiting)[0] == "allow"


@pytest.mark.rule("HOOK-5")
async def test_a_repeated_hook_finds_the_same_ask_even_after_it_was_answered(
    service: Served,
) -> None:
    for _ in range(2):
        await hook(service, asking(), "?wait=0")
    ask = await service.newest()
    assert len((await service.running.service.store.asks.page()).rows) == 1
    await service.act(ask, action="answer", value="React")
    assert decision(await hook(service, asking()))[0] == "allow"
    await hook(service, asking("toolu_2"), "?wait=0")
    await hook(service, asking(None), "?wait=0")
    await hook(service, asking(None), "?wait=0")
    assert len((await service.running.service.store.asks.page()).rows) == 4


@pytest.mark.rule("HOOK-5")
async def test_the_same_id_with_other_questions_is_another_ask(service: Served) -> None:
    await hook(service, asking(), "?wait=0")
    other = [{**QUESTIONS[0], "question": "Another one?"}]
    for _ in range(2):
        await hook(service, asking(questions=other), "?wait=0")
    assert (await service.newest()).form.questions[0].text == "Another one?"
    assert len((await service.running.service.store.asks.page()).rows) == 2


@pytest.mark.parametrize("ending", ["withdrawn", "expired", "failed"])
async def test_an_ask_that_ends_without_a_person_denies_with_a_reason(
    service: Served, ending: str
) -> None:
    waiting = asyncio.create_task(hook(service, asking()))
    await service.end_newest_without_person(ending)
    behaviour, reason = decision(await waiting)
    assert behaviour == "deny"
    assert {"withdrawn": "withdrawn", "expired": "in time", "failed": "Broken"}[ending] in reason


@pytest.mark.rule("HOOK-6")
@pytest.mark.parametrize(
    ("questions", "text"),
    [
        ([QUESTIONS[0], QUESTIONS[0]], "Which framework?"),
        ([], "questions"),
        (None, "questions"),
        ([{"question": "One option?", "header": "x", "options": [{"label": "a", "description": ""}]}], "options"),
    ],
)  # fmt: skip
async def test_questions_that_cannot_be_asked_are_denied_with_what_to_fix(
    service: Served, questions: Any, text: str
) -> None:
    behaviour, reason = decision(await hook(service, asking(questions=questions)))
    assert behaviour == "deny"
    assert text in reason
    assert (await service.running.service.store.asks.page()).rows == ()


async def test_an_unknown_place_is_denied_with_a_reason(service: Served) -> None:
    behaviour, reason = decision(await hook(service, asking(), "?to=nowhere"))
    assert behaviour == "deny"
    assert "nowhere" in reason


@pytest.mark.rule("HOOK-6")
@pytest.mark.parametrize(
    "event",
    [
        {**asking(), "tool_name": "Bash", "tool_input": {"command": "ls"}},
        {"session_id": "s", "hook_event_name": "Stop"},
        {},
        {"hook_event_name": "PreToolUse"},
        {"hook_event_name": "Elicitation", "session_id": 1},
        {"hook_event_name": ["Stop"], "session_id": "s"},
        eliciting(mode="url", requested_schema=None, url=None),
        # of other hosts that read the same settings
        {"hookEventName": "PreToolUse", "sessionId": "s", "toolName": "AskUserQuestion"},
        {"hookEventName": "Stop", "sessionId": "s", "cwd": "/w"},
        {
            "hook_event_name": "PermissionRequest",
            "toolName": "bash",
            "toolInput": {"command": "ls"},
        },
    ],
)
async def test_events_that_do_not_concern_people_are_left_to_claude_code(
    service: Served, event: Json
) -> None:
    assert await hook(service, event) == {}


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (b"{", ""),
        (b"[]", ""),
        (b'{"hook_event_name":"Stop","session_id":"\\ud800"}', ""),
        (b'{"hook_event_name":"Stop"}', "?wait=long"),
        (b'{"hook_event_name":"Stop"}', "?wait=nan"),
        (b'{"hook_event_name":"Stop"}', "?surprise=1"),
    ],
)
async def test_an_invalid_body_or_query_is_a_400(service: Served, body: bytes, query: str) -> None:
    async with service.http.post(f"{service.url}/hooks/claude{query}", data=body) as response:
        assert response.status == 400
        assert response.content_type == "application/problem+json"


@pytest.mark.rule("HOOK-3")
async def test_an_elicitation_is_accepted_with_what_the_person_entered(service: Served) -> None:
    waiting = asyncio.create_task(hook(service, eliciting()))
    ask = await service.newest()
    await service.act(ask, action="answer", value={"username": "ana"})
    assert await waiting == {
        "hookSpecificOutput": {
            "hookEventName": "Elicitation",
            "action": "accept",
            "content": {"username": "ana"},
        }
    }
    assert ask.request.metadata["mcp_server"] == "my-server"


@pytest.mark.rule("HOOK-3")
async def test_an_elicitation_is_declined_by_a_reply_and_cancelled_by_everything_else(
    service: Served,
) -> None:
    waiting = asyncio.create_task(hook(service, eliciting(elicitation_id="e1")))
    await service.act(await service.newest(1), action="reply")
    assert (await waiting)["hookSpecificOutput"]["action"] == "decline"
    waiting = asyncio.create_task(hook(service, eliciting(elicitation_id="e2")))
    await service.act(await service.newest(2), action="end_turn")
    stopped = await waiting
    assert stopped["hookSpecificOutput"]["action"] == "cancel"
    assert stopped["continue"] is False
    late = await hook(service, eliciting(elicitation_id="e3"), "?wait=0")
    assert late["hookSpecificOutput"]["action"] == "cancel"
    assert "stays open" in late["systemMessage"]


@pytest.mark.rule("HOOK-3")
@pytest.mark.parametrize(
    ("more", "query", "text"),
    [
        ({"requested_schema": {"type": "array"}}, "", "requestedSchema"),
        ({}, "?to=nowhere", "nowhere"),
    ],
)
async def test_an_elicitation_that_nobody_here_was_asked_is_left_to_claude_codes_own_window(
    service: Served, more: Json, query: str, text: str
) -> None:
    left = await hook(service, eliciting(**more), query)
    assert [*left] == ["systemMessage"]
    assert text in left["systemMessage"]


async def test_with_tokens_the_hook_needs_an_agents_token_and_asks_on_its_route(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, {"claude": "agent", "front": "surface"}) as service:
        tokens = service.tokens
        await hook(service, asking(), "?wait=0", token=tokens["claude"])
        assert (await service.newest()).request.agent == "claude"
        for token, status in (("ab_wrong", 401), (tokens["front"], 403)):
            headers = {"Authorization": f"Bearer {token}"}
            async with service.http.post(
                f"{service.url}/hooks/claude", json=asking(), headers=headers
            ) as response:
                assert response.status == status


@pytest.mark.rule("HOOK-3", "HOOK-5")
@pytest.mark.parametrize("message", ["Who are you?", "Who else?"])
async def test_an_elicitation_gets_no_answer_to_another_one_of_the_same_id(
    service: Served, message: str
) -> None:
    first = asyncio.create_task(hook(service, eliciting(elicitation_id="e1")))
    await service.newest()
    events = {"elicitation_id": "e1", "message": message}
    second = asyncio.create_task(hook(service, eliciting(**events)))
    await service.act(await service.newest(2), action="answer", value={"username": "bo"})
    assert (await second)["hookSpecificOutput"]["content"] == {"username": "bo"}
    assert not first.done()
    third = asyncio.create_task(hook(service, eliciting(**events)))
    await service.newest(3)
    for each in (first, third):
        each.cancel()
    await asyncio.gather(first, third, return_exceptions=True)


async def test_a_waiting_hook_and_its_prompt_report_that_the_service_stops(
    service: Served,
) -> None:
    waiting = asyncio.create_task(hook(service, asking()))
    ask = await service.newest()
    await service.wait_for_waiters(ask)
    service.running.service.stop_waiting()
    result, why = decision(await waiting)
    assert result == "deny"
    assert why.startswith("Answerback was stopped before anyone answered. The question stays open")
    now = await service.running.service.get(ask.id)
    assert now is not None
    assert (now.open, now.attendance.agent_left) == (True, True)
