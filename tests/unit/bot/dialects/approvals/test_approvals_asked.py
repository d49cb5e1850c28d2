"""Approvals as asks of a real service: no deadline decides them, and the record and the rules know the tool."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Action, Answer
from answerback.core.ask import Ask, Status
from answerback.core.view import asker_label
from answerback.dialects import registry
from answerback.service.question_routing import Rules
from answerback.service.record_wire import entry_json
from answerback.service.service import Service
from answerback.service.submission_request import read_submission
from tests.service_support import actor
from tests.unit.bot.approval_support import CALLS, rendered
from tests.unit.bot.conftest import Parts


async def asked(service: Service, name: str, *actions: Action, **more: Any) -> Ask:
    """An ask of a host's request, after some actions."""
    body = {"name": name, "arguments": CALLS[name], "to": "web", **more}
    ask = (await service.submit(read_submission(body))).ask
    for action in actions:
        await service.act(ask.id, action, actor(surface="web"))
    return ask


@pytest.mark.rule("APPROVAL-1")
async def test_no_deadline_approves_anything_also_not_what_a_person_was_about_to_edit(
    parts: Parts,
) -> None:
    service = parts.service()
    call = {**CALLS["tool_approval"], "allowed_decisions": ["approve", "edit"]}
    for actions in ((), (Answer(value="edit"),)):
        ask = await asked(service, "tool_approval", *actions, arguments=call, on_expiry="defaults")
        await service.expire(ask.id)
        now = await service.get(ask.id)
        assert now is not None
        assert now.status is Status.EXPIRED
        assert rendered(now) == {"type": "reject", "message": "[no answer: expired]"}


@pytest.mark.rule("APPROVAL-2", "RECORD-2")
async def test_the_agent_asks_and_the_record_says_for_which_tool(parts: Parts) -> None:
    service = parts.service()
    yes = Answer(value="approve")
    ask = await asked(service, "DeferredToolRequests", yes, yes, yes)
    lines: Any = [entry_json(stored) for stored in await service.record(ask.id)]
    sources = [line["request"]["source"] for line in lines if line["type"] == "request"]
    assert sources == [{"tool": "delete"}, {"tool": "copy"}, {"tool": "move"}]
    assert asker_label(ask) == "Assistant"


async def test_an_operator_may_decide_beforehand_for_one_tool(parts: Parts) -> None:
    never = {"tools": {"copy": {"questions": {"c2": {"answer": "deny"}}}}}
    service = parts.service(Rules.model_validate(never))
    ask = await asked(service, "DeferredToolRequests", Answer(value="approve"))
    now = await service.get(ask.id)
    assert now is not None
    assert now.question is not None
    assert (now.question.id, [given.source for given in now.walk.answers]) == (
        "c3",
        ["human", "config"],
    )


def test_a_call_with_much_to_lay_out_or_a_schema_is_read_off_the_loop() -> None:
    assert registry.is_quick_to_parse(CALLS["PermissionRequest"])
    assert not registry.is_quick_to_parse({"tool_input": {"content": "x" * 200_000}})
    assert not registry.is_quick_to_parse({**CALLS["tool_approval"], "args_schema": {}})
