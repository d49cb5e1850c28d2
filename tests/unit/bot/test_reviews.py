"""Forms that end in a review, over a real database: moving about loses nothing, whatever then happens to the ask."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.view import view_of
from answerback.core.walker import Action, Answer, Back, Edit, Other, Reply, Source
from answerback.dialects import registry
from answerback.ports.surface import Acted
from answerback.service.serialize import ask_json
from answerback.service.service import Service
from answerback.service.submission_request import read_submission
from tests.service_parts import actor

OPTIONS = [{"value": "1", "label": "One"}, {"value": "2", "label": "Two"}]
ANSWERS = (Answer(value="1"), Answer(value="2"), Other(text="mine"))


async def asked(service: Service, *actions: Action, **envelope: Any) -> Ask:
    questions = [{"id": q, "prompt": f"{q}?", "options": OPTIONS} for q in "abc"]
    body = {
        "name": "question",
        "arguments": {"questions": questions},
        "to": "chat:C1",
        "responders": "anyone",
        **envelope,
    }
    ask = (await service.submit(read_submission(body))).ask
    return await acted(service, ask, *actions)


async def acted(service: Service, ask: Ask, *actions: Action) -> Ask:
    for action in actions:
        told = await service.act(ask.id, action, actor())
        assert isinstance(told, Acted), told
        ask = told.ask
    return ask


def answers(ask: Ask) -> list[Any]:
    result = registry.render_result(ask)
    assert result is not None
    assert isinstance(result.structured, dict)
    given = result.structured["answers"]
    assert isinstance(given, list)
    return [each["value"] for each in given if isinstance(each, dict)]


@pytest.mark.rule("WALK-14")
async def test_back_shows_the_other_answers_and_hands_none_of_them_over_twice(
    service: Service,
) -> None:
    ask = await asked(service, *ANSWERS, Back(), Back())
    shown = ask_json(ask)
    assert shown["answers"] == {"a": "1", "b": "2", "c": "mine"}
    assert isinstance(shown["prompt"], dict)
    assert (shown["prompt"]["question_id"], shown["prompt"]["prefill"]) == ("b", "2")
    assert [line.question.id for line in view_of(ask).lines] == ["a", "c"]
    ask = await acted(service, ask, Answer(value="1"))
    prompt = view_of(ask).prompt
    assert prompt is not None
    assert (prompt.question.id, prompt.prefill, prompt.words) == ("c", "mine", "mine")


@pytest.mark.parametrize("moves", [[Back(), Back()], [Edit(question_id="a")]])
async def test_a_reply_after_moving_about_takes_the_answers_along(
    service: Service, moves: list[Action]
) -> None:
    ask = await asked(service, *ANSWERS, *moves, Reply(text="never mind"))
    assert (ask.status, answers(ask)) == (Status.CANCELLED, ["1", "2", "mine"])


@pytest.mark.parametrize("moves", [[Back(), Back()], [Edit(question_id="a")]])
async def test_at_expiry_answers_that_were_only_moved_away_from_are_handed_in(
    service: Service, moves: list[Action]
) -> None:
    ask = await asked(service, *ANSWERS, *moves, on_expiry="defaults")
    await service.expire(ask.id)
    ended = await service.get(ask.id)
    assert ended is not None
    assert (ended.status, answers(ended)) == (Status.ANSWERED, ["1", "2", "mine"])
    assert ended.outcome is not None
    assert ended.outcome.source is Source.HUMAN


@pytest.mark.rule("RECORD-1")
async def test_the_record_has_every_move_and_every_answer(service: Service) -> None:
    edit = (Edit(question_id="a"), Back(), Edit(question_id="a"), Answer(value="2"))
    ask = await asked(service, *ANSWERS, *edit)
    lines = [line.entry for line in await service.record(ask.id)]
    assert [(line.kind, line.question_id) for line in lines[6:]] == [
        ("request", "a"),
        ("backed", "a"),
        ("request", "a"),
        ("answered", "a"),
    ]
    assert ask_json(ask)["answers"] == {"a": "2", "b": "2", "c": "mine"}
