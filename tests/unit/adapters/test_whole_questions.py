"""A question that its receipt calls certainly whole is shown whole in every chat: without a button for more."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import answerback_discord.render
import answerback_slack.render
import answerback_telegram.render
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.labels import ENGLISH
from answerback.core.view import View, view_of
from answerback_receipts.payload import (
    WHOLE_LABEL,
    WHOLE_LINES,
    WHOLE_OPTIONS,
    WHOLE_UNITS,
    is_certainly_whole,
)
from answerback_testing.example_asks import new_ask

CHATS: dict[str, Callable[[View], Any]] = {
    "slack": lambda view: answerback_slack.render.render(view, ENGLISH).blocks,
    "discord": lambda view: answerback_discord.render.message(view, ENGLISH),
    "telegram": lambda view: answerback_telegram.render.message(view, ENGLISH),
}
MORE = (ENGLISH.details, ENGLISH.show_all_lines.partition("{")[0])


def question_of(context: str, options: int = 0) -> Question:
    labels = [f"{n}" * WHOLE_LABEL for n in range(options)]
    room = WHOLE_UNITS - len("Go?") - sum(map(len, labels))
    return Question(
        id="a",
        text="Go?",
        context=context[:room],
        answer_type=AnswerType.SELECT if options else AnswerType.BOOLEAN,
        options=tuple(Option(value=label, label=label) for label in labels),
    )


@pytest.mark.rule("RCPT-5")
@pytest.mark.parametrize("chat", CHATS)
@pytest.mark.parametrize(
    ("filling", "form"),
    [
        *((filling, "text") for filling in ("x", "*", "<", "&", "`", "é")),
        *((filling, "markdown") for filling in ("x", "<", "&", "`", "[a](b) ", "é")),
    ],
)
@pytest.mark.parametrize("options", [0, 2, WHOLE_OPTIONS])
def test_a_question_that_is_certainly_whole_has_no_button_for_more(
    chat: str, filling: str, form: Any, options: int
) -> None:
    line = filling * (WHOLE_UNITS // WHOLE_LINES // len(filling) - 1)
    for context in ("\n".join([line] * WHOLE_LINES), filling * WHOLE_UNITS):
        question = question_of(context, options)
        assert is_certainly_whole(question)
        ask = new_ask(form=Form(questions=(question,), context_format=form))
        rendered = json.dumps(CHATS[chat](view_of(ask)), ensure_ascii=False)
        assert not any(label in rendered for label in MORE)


@pytest.mark.rule("RCPT-5")
@pytest.mark.parametrize("chat", CHATS)
def test_a_long_question_has_a_button_for_more(chat: str) -> None:
    question = question_of("").model_copy(update={"context": "x " * 5_000})
    assert not is_certainly_whole(question)
    rendered = json.dumps(CHATS[chat](view_of(new_ask(form=Form(questions=(question,))))))
    assert ENGLISH.details in rendered
