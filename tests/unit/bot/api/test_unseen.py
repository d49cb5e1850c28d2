"""A permission of which nothing is known: over the API, an action has to say that the person allows it unseen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.bot.api.conftest import Served
from tests.unit.bot.api.test_batches import batch, statuses

OPTIONS = [
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def unknown(**tool_call: Any) -> dict[str, Any]:
    """A request of an agent that does not say what it will do."""
    call = {"toolCallId": "c1", "title": "Bash", **tool_call}
    arguments = {"sessionId": "s", "toolCall": call, "options": OPTIONS}
    return {"name": "session/request_permission", "dialect": "approval", "arguments": arguments}


@pytest.mark.rule("APPROVAL-11")
async def test_allowing_needs_to_say_that_it_is_unseen(api: Served) -> None:
    ask = await api.asked(**unknown())
    prompt = ask["prompt"]
    assert prompt["nothing_known"] is True
    assert "did not say what it will do." in prompt["context"]
    status, refused = await api.act(ask, action="answer", value="once")
    assert (status, refused["errors"][0]["code"]) == (422, "nothing_known")
    status, allowed = await api.act(ask, action="answer", value="once", unseen=True)
    assert (status, allowed["status"]) == (200, "answered")
    outcome = {"outcome": "selected", "optionId": "once"}
    assert allowed["tool_result"]["structured"] == {"outcome": outcome}
    denied = await api.asked(**unknown())
    assert (await api.act(denied, action="answer", value="no"))[0] == 200


@pytest.mark.rule("APPROVAL-11")
async def test_what_is_known_needs_no_such_word(api: Served) -> None:
    ask = await api.asked(**unknown(rawInput={"command": "make"}))
    assert ask["prompt"]["nothing_known"] is False
    assert (await api.act(ask, action="answer", value="once", unseen=True))[0] == 200


@pytest.mark.rule("APPROVAL-11", "BATCH-1")
async def test_no_batch_allows_it(api: Served) -> None:
    ask = await api.asked(**unknown())
    _, answer = await batch(api, [ask])
    [result] = answer["results"]
    assert (result["status"], result["error"]["errors"][0]["code"]) == (422, "nothing_known")
    _, answer = await batch(api, [ask], "deny")
    assert statuses(answer) == [200]
