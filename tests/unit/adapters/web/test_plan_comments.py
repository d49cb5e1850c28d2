"""Comments on a plan's lines become one message, in the place that the decision has for words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from answerback.core.actions import Answer, EndTurn, Object, Other, Reply
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.labels import Labels
from answerback_web import parse, posts, render
from answerback_web.plan_comments import comments_of, with_comments
from answerback_web.posts import ConfirmEndTurn, InvalidPost, Post
from tests.unit.adapters.web.test_render_and_parse import ask_of

pytestmark = pytest.mark.rule("WEB-27")
LABELS = Labels()
COMMENTS = json.dumps([[0, "# Plan", "In two steps."], [3, "make a\nmake b", "At night.\n"]])
MESSAGE = "> # Plan\n\nIn two steps.\n\n> make a\n> make b\n\nAt night."
OPTIONS = (
    Option(value="allow", label="Approve", kind=OptionKind.ALLOW_ONCE),
    Option(value="deny", label="Keep planning", kind=OptionKind.DENY),
)


def plan(**more: Any) -> Ask:
    question = Question(
        id="decision",
        text="Approve this plan?",
        answer_type=AnswerType.SELECT,
        options=OPTIONS,
        context="# Plan",
        plan=True,
        notes=True,
    )
    return ask_of(Form(questions=(question.model_copy(update=more),)))


def post(do: str, **fields: str) -> Post:
    sent = {"do": do, "at": "0", "revision": "1", "comments": COMMENTS, **fields}
    parsed = posts.parse_post(urlencode(sent).encode())
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("do", "said", "meant"),
    [
        ("reply", {}, Reply(text=MESSAGE)),
        ("reply", {"reply": "Else fine."}, Reply(text=f"{MESSAGE}\n\nElse fine.")),
        ("reply", {"reply": " \u200b"}, Reply(text=MESSAGE)),
        ("object", {}, Object(text=MESSAGE)),
        ("answer:0", {}, Answer(value="allow", note=MESSAGE)),
        ("answer:1", {"note": "No."}, Answer(value="deny", note=f"{MESSAGE}\n\nNo.")),
        ("end_turn", {}, ConfirmEndTurn()),
        ("end_turn_now", {}, EndTurn()),
    ],
)
def test_comments_go_where_the_decision_has_a_place_for_words(
    do: str, said: dict[str, str], meant: object
) -> None:
    assert parse.interpret_post(post(do, **said), plan(), LABELS) == meant


def test_where_only_a_denial_takes_words_nothing_is_approved_without_them() -> None:
    ask = plan(notes=False)
    assert parse.interpret_post(post("answer:1"), ask, LABELS) == Reply(text=MESSAGE)
    refused = parse.interpret_post(post("answer:0"), ask, LABELS)
    assert isinstance(refused, InvalidPost)
    assert LABELS.keep_planning in refused.problems[0].message
    without = post("answer:0", comments="")
    assert parse.interpret_post(without, ask, LABELS) == Answer(value="allow")


def test_an_answer_in_own_words_takes_them_too() -> None:
    ask = plan(other=True, options=(Option(value="a", label="A"),))
    sent = post("answer:other", other="Mine.")
    assert parse.interpret_post(sent, ask, LABELS) == Other(text=f"{MESSAGE}\n\nMine.")


@pytest.mark.parametrize("sent", ["what?", "[1]", '{"a": 1}', "[[1, 2]]", "7"])
def test_comments_that_cannot_be_read_are_sent_as_they_are(sent: str) -> None:
    assert with_comments(comments_of(sent), "") == sent


@pytest.mark.parametrize("sent", ["", " ", "[]", '[[1, "a line", " "]]'])
def test_no_comment_is_none(sent: str) -> None:
    assert comments_of(sent) == ()
    meant = parse.interpret_post(post("answer:0", comments=sent), plan(), LABELS)
    assert meant == Answer(value="allow")


def test_the_page_shows_them_again_and_gives_them_back_when_they_came_too_late() -> None:
    sent = post("answer:0")
    assert render.ask_page(plan(), LABELS, post=sent).comments == COMMENTS
    assert parse.typed_texts(sent, plan()) == (MESSAGE,)
    asked = {**sent.fields, "do": ("ask_back",), "ask_back": ("Why?",)}
    rest = parse.without_sent(replace(sent, fields=asked))
    assert rest is not None
    assert rest.first("comments") == COMMENTS
