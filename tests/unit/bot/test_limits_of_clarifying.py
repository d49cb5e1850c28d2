"""How often an agent can be asked back and can explain, and with how many words; at the edge of each."""

from __future__ import annotations

from dataclasses import replace

from answerback.core import clarification
from answerback.core.asides import UNOPENED
from answerback.core.ask import Ask, Change
from answerback.core.clarification import AskBack, apply_ask_back, apply_explanation, can_ask_back
from answerback.core.form import AnswerType, Form, Question
from answerback.core.walker import Person, Refused
from answerback.testing.store_examples import new_ask
from tests.edges import edge

ANN = Person(surface="web", user_id="ann", name="Ann")
GO = Form(questions=(Question(id="go", text="Go?", answer_type=AnswerType.BOOLEAN),))


def asking(text: str, ask: Ask | None = None) -> Ask | None:
    """The ask after Ann asked this; None: it was refused."""
    ask = ask or new_ask(form=GO, request={"accepts": ("clarify",)})
    change = apply_ask_back(ask, AskBack(text=text), at=1.0, by=ANN, opened=UNOPENED)
    return change.ask if isinstance(change, Change) else None


@edge("MAX_QUESTION")
def test_the_words_of_a_question() -> None:
    assert asking("x" * 2_000) is not None
    assert asking("x" * 2_001) is None


@edge("MAX_ASIDES")
def test_how_often_people_ask_back() -> None:
    ask = new_ask(form=GO, request={"accepts": ("clarify",)})
    for number in range(10):
        assert can_ask_back(ask)
        more = asking(f"{number}?", ask)
        assert more is not None
        ask = more
    assert not can_ask_back(ask)
    assert asking("10?", ask) is None


@edge("MAX_ASIDES")
def test_how_often_an_agent_explains() -> None:
    ask = new_ask(form=GO, request={"accepts": ("clarify",)})
    for number in range(10):
        change = apply_explanation(ask, f"{number}.", at=1.0)
        assert isinstance(change, Change)
        ask = change.ask
    assert isinstance(apply_explanation(ask, "10.", at=1.0), Refused)
    assert apply_explanation(ask, "9.", at=1.0) is None


def test_an_agent_was_told_of_as_many_as_were_there() -> None:
    ask = asking("a?")
    assert ask is not None
    told = clarification.mark_asides_told(ask, 1)
    more = asking("b?", told)
    assert more is not None
    assert clarification.has_untold_question(ask)
    assert not clarification.has_untold_question(told)
    assert clarification.has_untold_question(more), "a second question is news"
    assert clarification.mark_asides_told(replace(more, asides_told=2), 1).asides_told == 2
