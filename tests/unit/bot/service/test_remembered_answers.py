"""Answers "for this turn": reused for the very question that the person saw, and for nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Status
from answerback.core.walker import Source
from answerback.ports.surface import Rejected
from answerback.service.service import Service
from answerback.service.submission_request import Submission
from tests.service_support import actor, ask_user
from tests.unit.bot.service.test_service import result_of, tool_question


def call(turn: str | None, **question: Any) -> Submission:
    """A tool's question in a turn."""
    envelope = {"to": "chat:C1", "responders": "anyone", "conversation": "c", "turn": turn}
    asked = {"name": "tool_question", "arguments": tool_question(**question)}
    return ask_user().model_copy(update={**envelope, **asked})


@pytest.mark.rule("ROUTE-5")
async def test_a_remembered_answer_is_reused_in_the_same_turn_only(service: Service) -> None:
    first = (await service.submit(call("t1"))).ask
    await service.act(first.id, Answer(value=True, remember=True), actor())
    reused = (await service.submit(call("t1"))).ask
    assert (reused.status, result_of(reused)) == (
        Status.ANSWERED,
        {"answer_type": "boolean", "answer": True},
    )
    assert reused.outcome is not None
    assert (reused.outcome.source, reused.outcome.ended_by) == (Source.REMEMBERED, None)
    assert (await service.submit(call("t2"))).ask.open


@pytest.mark.rule("ROUTE-5")
@pytest.mark.parametrize(
    "other",
    [
        {"text": "Delete the production database?"},
        {"context": "origin/main"},
        {"id": "other"},
        {"default": True},
        {"exclusive": True},
        {"answer_type": "select", "options": ["yes", "no"]},
    ],
)
async def test_an_answer_is_only_reused_for_the_very_question_that_the_person_saw(
    service: Service, other: dict[str, Any]
) -> None:
    asked = {"text": "Read README.md?"}
    first = (await service.submit(call("t1", **asked))).ask
    await service.act(first.id, Answer(value=True, remember=True), actor())
    assert (await service.submit(call("t1", **asked | other))).ask.open
    assert not (await service.submit(call("t1", **asked))).ask.open


@pytest.mark.rule("ROUTE-5")
@pytest.mark.parametrize(("turn", "exclusive"), [(None, False), ("t1", True)])
async def test_what_may_not_be_remembered_is_refused(
    service: Service, turn: str | None, exclusive: bool
) -> None:
    asked = call(turn, exclusive=exclusive)
    ask = (await service.submit(asked)).ask
    result = await service.act(ask.id, Answer(value=True, remember=True), actor())
    assert isinstance(result, Rejected)
    assert [p.pointer for p in result.problems] == ["/remember"]
    await service.act(ask.id, Answer(value=True), actor())
    assert (await service.submit(asked)).ask.open
