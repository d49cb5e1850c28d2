"""Who answers a question: a person, the inquiry backend, the configuration, or nobody."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core import ask as asks
from answerback.core.actions import Answer
from answerback.core.ask import Change, Reason, Status
from answerback.core.errors import InvalidCallError
from answerback.core.walker import Source
from answerback.dialects.registry import render_refusal
from answerback.service.question_routing import Rules, no_retry_message
from answerback.service.submission_request import Submission
from tests.service_support import actor, ask_user, boolean
from tests.unit.bot.background_support import inquiry_rules
from tests.unit.bot.conftest import Parts


def call(**more: Any) -> Any:
    _, update = inquiry_rules()
    return ask_user(**more).model_copy(update=update)


@pytest.mark.rule("ROUTE-4")
async def test_without_a_surface_a_question_that_needs_no_person_goes_to_the_inquiry_backend(
    parts: Parts,
) -> None:
    rules = Rules.model_validate({"tools": {"git": {}}})
    ask = (await parts.service(rules, inquiry=True).submit(call(to="pager:1"))).ask
    assert (ask.status, ask.schedule.awaits_inquiry) == (Status.OPEN, True)
    with pytest.raises(InvalidCallError) as refused:
        await parts.service(rules).submit(call(to="pager:1"))
    assert [problem.code for problem in refused.value.problems] == ["unknown_surface"]


@pytest.mark.rule("ROUTE-4")
async def test_a_surface_that_is_not_configured_is_refused_and_nothing_is_stored(
    parts: Parts,
) -> None:
    service = parts.service()
    with pytest.raises(InvalidCallError) as refused:
        await service.submit(ask_user(to="pager:1"))
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.code) == ("/to", "unknown_surface")
    assert "pager.*" in problem.message
    assert '"chat"' in problem.message
    assert refused.value.detail == problem.message
    assert not [ask async for ask in service.each_open("pager")]


QUESTION_CALL: Any = {
    "questions": [
        {"id": "go", "prompt": "Go?", "options": [{"value": "y", "label": "Yes"}]},
    ]
}


@pytest.mark.rule("ROUTE-4")
@pytest.mark.parametrize(
    ("body", "is_error"),
    [
        (ask_user(to="pager:1"), True),
        (
            ask_user(to="pager:1").model_copy(
                update={"name": "question", "arguments": QUESTION_CALL}
            ),
            False,
        ),
    ],
)
async def test_the_model_of_a_call_for_such_a_surface_gets_its_dialects_failure(
    parts: Parts, tmp_path: Path, body: Submission, is_error: bool
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        await parts.service().submit(body)
    result = render_refusal(refused.value)
    assert result.is_error is is_error
    assert "Do not retry this tool call in this turn" in result.content
    with closing(sqlite3.connect(tmp_path / "asks.db")) as db:
        ((line,),) = db.execute("SELECT entry FROM record WHERE ask_id IS NULL").fetchall()
    assert json.loads(line)["body"]["reason"] == "no_prompt_backend"


@pytest.mark.rule("ROUTE-1")
@pytest.mark.parametrize(
    ("rule", "inquiry", "reason", "text"),
    [
        (
            {"answer": "perhaps"},
            True,
            Reason.INVALID_STATIC_ANSWER,
            "tools.ask_user.questions.sure.answer",
        ),
        ({"target": "assistant"}, True, Reason.ASSISTANT_ROUTING_DENIED, "requires a human answer"),
    ],
)
async def test_a_configuration_that_cannot_work_fails_before_anybody_answers(
    parts: Parts, rule: Any, inquiry: bool, reason: Reason, text: str
) -> None:
    """Even if a condition might have skipped the question."""
    rules = Rules.model_validate({"tools": {"ask_user": {"questions": {"sure": rule}}}})
    form = ask_user(
        boolean("go"), {**boolean("sure"), "when": {"question_id": "go", "equals": True}}
    )
    service = parts.service(rules, inquiry=inquiry)
    ask = (await service.submit(form)).ask
    assert ask.outcome is not None
    assert (ask.status, ask.outcome.reason) == (Status.FAILED, reason)
    assert text in (ask.outcome.message or "")
    assert "Do not retry" in (ask.outcome.message or "")
    request, cancelled, ended = [e.entry for e in await service.store.record.read(ask.id)]
    assert (request.kind, request.question_id) == ("request", "sure")
    assert (cancelled.kind, cancelled.question_id) == ("cancelled", "sure")
    assert ended.kind == "ended"


@pytest.mark.rule("ROUTE-1")
async def test_fixed_answers_that_fit_do_not_fail_an_ask_with_other_questions(parts: Parts) -> None:
    rules = Rules.model_validate({"tools": {"ask_user": {"questions": {"b": {"answer": True}}}}})
    ask = (await parts.service(rules).submit(ask_user(boolean("a"), boolean("b")))).ask
    assert ask.open


@pytest.mark.rule("ROUTE-1")
async def test_a_question_answered_by_the_configuration_needs_no_surface(parts: Parts) -> None:
    rules = Rules.model_validate({"tools": {"ask_user": {"questions": {"go": {"answer": True}}}}})
    ask = (await parts.service(rules).submit(ask_user(to="pager:1"))).ask
    assert (ask.status, ask.walk.answers[0].value) == (Status.ANSWERED, True)


async def test_a_question_for_a_missing_assistant_fails_with_an_explanation(
    parts: Parts,
) -> None:
    rules, _ = inquiry_rules()
    ask = (await parts.service(rules).submit(call(to="chat:C1"))).ask
    assert ask.outcome is not None
    assert ask.outcome.reason is Reason.NO_PROMPT_BACKEND
    message = ask.outcome.message or ""
    assert "no inquiry backend is configured (inquiry.url)" in message
    assert "chat surface" not in message
    assert "Do not retry" in message
    elsewhere = (await parts.service(rules).submit(call(to="pager:1"))).ask
    assert (
        elsewhere.status is Status.FAILED
    )  # the configuration of the question is wrong, whatever the surface


async def test_a_corrupt_remembered_answer_is_asked_for_again(parts: Parts, tmp_path: Path) -> None:
    service = parts.service()
    named = {"conversation": "c", "turn": "t"}
    first = (await service.submit(call(**named))).ask
    await service.act(first.id, Answer(value=True, remember=True), actor())
    assert (await service.submit(call(**named))).ask.status is Status.ANSWERED
    with closing(sqlite3.connect(tmp_path / "asks.db", isolation_level=None)) as other:
        other.execute("UPDATE remembered SET value = ?", ('"perhaps"',))
    again = (await service.submit(call(**named))).ask
    assert (again.status, again.walk.answers) == (Status.OPEN, ())


async def test_each_question_is_routed_again_after_the_inquiry_backend_has_answered_one(
    parts: Parts,
) -> None:
    ask = (await parts.service().submit(ask_user(boolean("a"), boolean("b")))).ask
    change = asks.apply_action(
        replace(ask, schedule=replace(ask.schedule, awaits_inquiry=True)),
        Answer(value=True),
        at=2.0,
        by=None,
        source=Source.INQUIRY,
    )
    assert isinstance(change, Change)
    assert change.ask.question is not None
    assert not change.ask.schedule.awaits_inquiry


@pytest.mark.parametrize("why", ["It broke", "It broke.", "It broke. "])
def test_the_reason_of_a_failure_is_a_separate_sentence(why: str) -> None:
    assert no_retry_message(why) == "It broke. Do not retry this tool call in this turn."
    assert (
        no_retry_message(why, "go on")
        == "It broke. Do not retry this tool call in this turn; go on."
    )
