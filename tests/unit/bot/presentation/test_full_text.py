"""What can be read in full in each state of an ask."""

from __future__ import annotations

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import ENGLISH
from answerback.core.view import view_of
from answerback.core.walker import Phase
from answerback.presentation.attribution import AttributionFormat
from answerback.presentation.full_text import full_text
from answerback.testing.example_asks import new_ask
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
