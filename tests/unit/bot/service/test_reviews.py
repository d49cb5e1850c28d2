"""Forms that end in a review, over a real database: moving around loses no answers, however the ask then ends."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Action, Answer, Back, Edit, Other, Reply
from answerback.core.ask import Ask, Status
from answerback.core.view import view_of
from answerback.core.walker import Source
from answerback.dialects import registry
from answerback.ports.surface import Acted
from answerback.service.ask_wire import ask_json
from answerback.service.service import Service
from answerback.service.submission_request import read_submission
from tests.service_support import actor

OPTIONS = [{"value": "1", "label": "One"}, {"value": "2", "label": "Two"}]
ANSWERS = (Answer(value="1"), Answer(value="2"), Other(text="mine"))


async def submit(service: Service, *actions: Action, **envelope: Any) -> Ask:
    questions = [{"id": q, "prompt": f"{q}?", "options": OPTIONS} for q in "abc"]
    body = {
        "name": "question",
        "arguments": {"questions": questions},
        "to": "chat:C1",
        "responders": "anyone",
        **envelope,
    }
    ask = (await service.submit(read_submission(body))).ask
    return await act(service, ask, *actions)


async def act(service: Service, ask: Ask, *actions: Action) -> Ask:
    for action in actions:
        result = await service.act(ask.id, action, actor())
        assert isinstance(result, Acted), result
        ask = result.ask
    return ask


def answers(ask: Ask) -> list[Any]:
    result = registry.render_result(ask)
    assert result is not None
    assert isinstance(result.structured, dict)
    entries = result.structured["answers"]
    assert isinstance(entries, list)
    return [each["value"] for each in entries if isinstance(each, dict)]


@pytest.mark.rule("WALK-14")
async def test_after_back_the_other_answers_are_shown_and_none_appears_twice(
    service: Service,
) -> None:
    ask = await submit(service, *ANSWERS, Back(), Back())
    shown = ask_json(ask)
    assert shown["answers"] == {"a": "1", "b": "2", "c": "mine"}
    assert isinstance(shown["prompt"], dict)
    assert (shown["prompt"]["question_id"], shown["prompt"]["prefill"]) == ("b", "2")
    assert [line.question.id for line in view_of(ask).lines] == ["a", "c"]
    ask = await act(service, ask, Answer(value="1"))
    prompt = view_of(ask).prompt
    assert prompt is not None
    assert (prompt.question.id, prompt.prefill, prompt.other_text) == ("c", "mine", "mine")


@pytest.mark.parametrize("moves", [[Back(), Back()], [Edit(question_id="a")]])
async def test_a_reply_after_moving_around_keeps_the_answers(
    service: Service, moves: list[Action]
) -> None:
    ask = await submit(service, *ANSWERS, *moves, Reply(text="never mind"))
    assert (ask.status, answers(ask)) == (Status.CANCELLED, ["1", "2", "mine"])


@pytest.mark.parametrize("moves", [[Back(), Back()], [Edit(question_id="a")]])
async def test_at_expiry_answers_are_submitted_even_after_moving_back_past_them(
    service: Service, moves: list[Action]
) -> None:
    ask = await submit(service, *ANSWERS, *moves, on_expiry="defaults")
    await service.expire(ask.id)
    ended = await service.get(ask.id)
    assert ended is not None
    assert (ended.status, answers(ended)) == (Status.ANSWERED, ["1", "2", "mine"])
    assert ended.outcome is not None
    assert ended.outcome.source is Source.HUMAN


@pytest.mark.rule("RECORD-1")
async def test_the_record_contains_every_move_and_every_answer(service: Service) -> None:
    edit = (Edit(question_id="a"), Back(), Edit(question_id="a"), Answer(value="2"))
    ask = await submit(service, *ANSWERS, *edit)
    lines = [line.entry for line in await service.record(ask.id)]
    assert [(line.kind, line.question_id) for line in lines[6:]] == [
        ("request", "a"),
        ("backed", "a"),
        ("request", "a"),
        ("answered", "a"),
    ]
    assert ask_json(ask)["answers"] == {"a": "2", "b": "2", "c": "mine"}
