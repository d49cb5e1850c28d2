"""The parts that can be read in full in each state of an ask."""

from __future__ import annotations

import pytest

from answerback.core.actions import Answer, Reply
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.labels import ENGLISH
from answerback.core.view import view_of
from answerback.core.walker import Phase
from answerback.presentation.attribution import AttributionFormat
from answerback.presentation.full_text import full_text
from answerback_testing.example_asks import new_ask
from tests.unit.bot.dialect_support import act

MARKS = AttributionFormat(
    text=str, responder=str, person=lambda person: person.user_id, time=str, clock=str
)
FORM = Form(
    questions=tuple(
        Question(id=name, text=f"{name}?", context=f"About {name}.", answer_type=AnswerType.TEXT)
        for name in ("first", "second")
    ),
    review=True,
)


def read(ask: Ask) -> list[str]:
    return [part.text for part in full_text(view_of(ask), ENGLISH, MARKS) if part.text]


@pytest.mark.rule("TEXT-6")
def test_a_review_shows_the_answers_and_no_open_question() -> None:
    ask = new_ask(form=FORM)
    assert "About first." in read(ask)
    ask = act(ask, Answer(value="one"), Answer(value="two"))
    assert ask.walk.phase is Phase.REVIEW
    assert read(ask)[-4:] == ["first?", "one", "second?", "two"]
    assert not any("About" in text for text in read(ask))


@pytest.mark.rule("TEXT-6")
def test_answers_so_far_are_below_the_open_question_and_under_a_heading_of_their_own() -> None:
    ask = act(new_ask(form=FORM), Answer(value="one"))
    assert read(ask)[1:] == ["About second.", "second?", "Answers so far:", "first?", "one"]


@pytest.mark.rule("TEXT-6")
def test_an_ended_ask_says_first_how_it_ended_and_what_was_replied() -> None:
    ask = act(new_ask(form=FORM), Answer(value="one"), Reply(text="Not now."))
    assert read(ask)[1:] == [
        *("Ended with a reply by u", "Not now."),
        *("About first.", "first?", "one", "About second.", "second?", "not answered"),
    ]


@pytest.mark.rule("TEXT-6")
def test_a_preview_is_told_apart_from_its_options_description() -> None:
    option = Option(value="a", label="A", description="The first.", preview="a = 1")
    question = Question(id="q", text="Which?", answer_type=AnswerType.SELECT, options=(option,))
    ask = new_ask(form=Form(questions=(question,)))
    assert read(ask)[-4:] == ["Which?", "1. A", "The first.", "Preview:\na = 1"]
