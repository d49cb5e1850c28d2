"""The view of an ask: the prompt, the review and the result, with every kind of answer as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer, Back, Edit, EndTurn, Other
from answerback.core.ask import Ask, Change, Reason, Status, apply_action, end_ask
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.labels import Labels
from answerback.core.view import Control, answer_lines, view_of
from answerback.core.walker import GivenAnswer, Source, start
from answerback.service.ask_wire import ask_json
from answerback.service.prompt_wire import prompt_body
from tests.unit.bot.dialect_support import act, make_ask

QUESTION = Question(id="q", text="?", answer_type=AnswerType.TEXT)
OPTIONS = (Option(value="x", label="Ex"), Option(value="y", label="Why"))


@pytest.mark.parametrize(
    ("kind", "value", "other", "text"),
    [
        (AnswerType.BOOLEAN, True, False, "Yes"),
        (AnswerType.BOOLEAN, False, False, "No"),
        (AnswerType.TEXT, "", False, "(none)"),
        (AnswerType.SELECT, "y", False, "Why"),
        (AnswerType.SELECT, "y", True, "y"),
        (AnswerType.MULTI_SELECT, ["x", "y"], False, "Ex\nWhy"),
        (AnswerType.MULTI_SELECT, [], False, "(none)"),
        (AnswerType.MULTI_SELECT, "mine", True, "mine"),
        (AnswerType.SCHEMA, "text", False, '"text"'),
        (AnswerType.SCHEMA, True, False, "true"),
        (AnswerType.SCHEMA, ["é"], False, '[\n  "é"\n]'),
    ],
)
def test_an_answer_is_shown_with_the_labels_that_people_chose(
    kind: AnswerType, value: Any, other: bool, text: str
) -> None:
    question = QUESTION.model_copy(update={"answer_type": kind, "options": OPTIONS})
    given = GivenAnswer(question_id="q", value=value, other=other)
    assert "\n".join(answer_lines(question, given, Labels())) == text


FORM = {
    "properties": {
        "replicas": {"type": "integer", "title": "How many replicas"},
        "zone": {"oneOf": [{"const": "eu-1", "title": "Europe"}]},
        "days": {"type": "array", "items": {"enum": ["Mon", "Tue"]}},
        "spot": {"type": "boolean"},
        "note": {"type": "string"},
    }
}


HOSTS = {
    "type": "array",
    "title": "Hosts",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "tls": {"type": "boolean", "title": "TLS"},
        },
    },
}
NAMED = [{"name": "a", "tls": True}, {"tls": False, "port": 2}, {}]


@pytest.mark.rule("WEB-26")
@pytest.mark.parametrize(
    ("schema", "value", "lines"),
    [
        (
            FORM,
            {"replicas": 3, "zone": "eu-1", "days": ["Mon", "Tue"], "spot": False, "note": ""},
            ["How many replicas: 3", "zone: Europe", "days: Mon, Tue", "spot: No", "note: (none)"],
        ),
        (FORM, {"zone": "mars", "more": [1]}, ['zone: "mars"', "more: [\n  1\n]"]),
        (FORM, {}, ["(none)"]),
        (HOSTS, NAMED, ["Name: a, TLS: Yes", "TLS: No, port: 2", "(none)"]),
        (HOSTS, [], ["(none)"]),
        (
            {"properties": {"hosts": HOSTS, "why": {"type": "string", "title": "Why"}}},
            {"hosts": NAMED[:2], "why": "because"},
            ["Hosts 1: Name: a, TLS: Yes", "Hosts 2: TLS: No, port: 2", "Why: because"],
        ),
        ({"properties": {"hosts": HOSTS}}, {"hosts": []}, ["Hosts: (none)"]),
        ({"type": "number"}, 2.5, ["2.5"]),
        ({"oneOf": [{"const": 1, "title": "one"}]}, 1, ["one"]),
    ],
)
def test_a_schema_answer_is_shown_with_the_titles_of_its_fields(
    schema: JsonValue, value: Any, lines: list[str]
) -> None:
    question = QUESTION.model_copy(update={"answer_type": AnswerType.SCHEMA, "json_schema": schema})
    assert answer_lines(question, GivenAnswer(question_id="q", value=value), Labels()) == lines


@pytest.mark.rule("ASK-3", "WALK-4", "WALK-7")
def test_the_first_prompt_has_no_back_and_the_next_one_has() -> None:
    first = view_of(make_ask("ask_user"))
    second = view_of(act(make_ask("ask_user"), Answer(value="A")))
    assert first.controls == (Control.REPLY, Control.END_TURN)
    assert second.controls == (Control.BACK, Control.REPLY, Control.END_TURN)
    assert first.prompt is not None
    assert (first.prompt.progress, first.lines) == ("[1/2]", ())
    assert [line.question.id for line in second.lines] == ["a"]


@pytest.mark.rule("WALK-3")
def test_after_back_the_prompt_is_prefilled_with_the_earlier_answer() -> None:
    view = view_of(act(make_ask("claude"), Other(text="mine"), Back()))
    assert view.prompt is not None
    assert (view.prompt.prefill, view.prompt.other_text, view.prompt.chosen) == (
        "mine",
        "mine",
        None,
    )


@pytest.mark.rule("WALK-11")
def test_a_review_lists_what_a_person_can_edit() -> None:
    ask = act(make_ask("question"), Answer(value="A"))
    filled = apply_action(ask, Answer(value="A"), at=2, by=None, source=Source.CONFIG)
    assert isinstance(filled, Change)
    view = view_of(filled.ask)
    assert view.is_review
    assert [(line.question.id, line.editable) for line in view.lines] == [("a", True), ("b", False)]
    prompt: Any = prompt_body(view)
    assert prompt is not None
    assert (prompt["kind"], prompt["editable"], prompt["reviewed"]) == ("review", ["a"], True)
    person = {"surface": "web", "user_id": "u", "name": None}
    given = [(person, "1970-01-01T00:00:01.000Z"), (None, "1970-01-01T00:00:02.000Z")]
    assert prompt["answered"] == [
        {
            "question_id": line.question.id,
            "text": line.question.text,
            "answer": ["Ay"],
            "by": by,
            "at": at,
        }
        for line, (by, at) in zip(view.lines, given, strict=True)
    ]
    edited = view_of(act(filled.ask, Edit(question_id="a")))
    assert edited.prompt is not None
    assert edited.prompt.prefill == "A"


def _ended(how: str) -> Ask:
    ask = act(make_ask("ask_user"), Answer(value="A"))
    if how == "turn_ended":
        return act(ask, EndTurn())
    return end_ask(ask, Status(how), at=9, reason=Reason(how)).ask


@pytest.mark.rule("ASK-3", "ASK-4")
@pytest.mark.parametrize("how", ["turn_ended", "expired", "withdrawn"])
def test_an_ended_ask_has_no_controls_and_shows_the_unanswered_question(how: str) -> None:
    ask = _ended(how)
    view = view_of(ask)
    assert (view.prompt, view.controls, view.is_review) == (None, (), False)
    assert [(line.question.id, line.given is not None) for line in view.lines] == [
        ("a", True),
        ("b", False),
    ]
    shown = ask_json(ask)
    assert (shown["status"], shown["prompt"], shown["end_turn"]) == (how, None, how == "turn_ended")
    assert (shown["tool_result"] is None) == (how == "turn_ended")


def test_the_asker_is_the_label_configured_for_the_question() -> None:
    ask = make_ask("ask_user")
    request = ask.request.model_copy(update={"prompt_labels": {"a": "Deploy bot"}})
    named = replace(ask, request=request)
    assert view_of(named).label == "Deploy bot"
    assert view_of(act(named, Answer(value="A"))).label == "Assistant"


@pytest.mark.rule("ROUTE-5")
def test_for_this_turn_is_offered_only_if_the_turn_has_an_id() -> None:
    ask = make_ask("tool_question")
    question = ask.form.questions[0].model_copy(update={"answer_type": AnswerType.BOOLEAN})
    form = ask.form.model_copy(update={"questions": (question,)})
    for named in (True, False):
        update = {"form": form, **({"conversation": "c", "turn": "t"} if named else {})}
        view = view_of(replace(ask, request=ask.request.model_copy(update=update)))
        assert view.prompt is not None
        assert view.prompt.remember is named


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [
        ({"b": "It is large."}, "It is large."),
        (
            {"a": "It takes an hour.", "b": "It is large."},
            "Back up?\n\nIt takes an hour.\n\n---\n\nDrop?\n\nIt is large.",
        ),
        ({}, None),
    ],
    ids=["one", "two", "none"],
)
def test_who_confirms_sees_to_which_question_each_context_belongs(
    contexts: dict[str, str], expected: str | None
) -> None:
    texts = {"a": "Back up?", "b": "Drop?"}
    questions = tuple(
        Question(id=key, text=text, answer_type=AnswerType.BOOLEAN, context=contexts.get(key))
        for key, text in texts.items()
    )
    ask = make_ask("ask_user")
    form = Form(questions=questions, confirmation=ConfirmationRule(due=1))
    waiting = act(
        replace(ask, request=ask.request.model_copy(update={"form": form}), walk=start(form)),
        *[Answer(value=True)] * 2,
    )
    confirmation = view_of(waiting).confirmation
    assert confirmation is not None
    assert confirmation.about.question.context == expected
