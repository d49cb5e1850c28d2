"""The details of an ask in a list, beside its headline."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.view import view_of
from answerback.presentation.list_row import row_detail
from tests.unit.adapters.slack.asks import ask_of

pytestmark = pytest.mark.rule("WEB-3")


def detail(context: str | None = None, **more: Any) -> str:
    """Return the detail of an ask with one question."""
    whole: dict[str, Any] = {"decided_by_hand": True, "context_format": "markdown"}
    whole |= {name: more.pop(name) for name in tuple(more) if name in whole}
    question = Question(id="q", text="Run ls", answer_type=AnswerType.SELECT, context=context)
    ask = ask_of(Form(questions=(question.model_copy(update=more),), **whole))
    return row_detail(ask, view_of(ask))


OPTIONS = (Option(value="a", label="Allow\nonce"), Option(value="d", label="Deny"))


def test_an_approval_shows_what_its_headline_leaves_out() -> None:
    context = "```sh\nls\npwd\n\n+\npwd\n```\n\nIn words:\n\n1. one\n2. two"
    assert detail(context, options=OPTIONS) == "pwd · 1. one · 2. two"


def test_another_question_shows_what_can_be_answered() -> None:
    context = "It is large."
    assert detail(context, decided_by_hand=False, options=OPTIONS) == "Allow once · Deny"
    form: dict[str, Any] = {"answer_type": AnswerType.SCHEMA, "decided_by_hand": False}
    properties = {"a": {"type": "string", "title": "Name"}, "b": {"type": "boolean"}}
    assert detail(json_schema={"type": "object", "properties": properties}, **form) == "Name · b"
    assert detail(json_schema={"type": "array"}, **form) == ""
    yes_no: dict[str, Any] = {"answer_type": AnswerType.BOOLEAN, "decided_by_hand": False}
    assert detail("It *is* large.", **yes_no) == "It is large."
    assert detail("*a*\u202e", context_format="text", **yes_no) == "*a*⟨U+202E⟩"


def test_a_review_has_no_detail() -> None:
    ask = ask_of(Form(questions=()))
    assert row_detail(ask, view_of(ask)._replace(prompt=None)) == ""
