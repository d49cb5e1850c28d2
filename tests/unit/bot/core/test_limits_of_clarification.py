"""Asking back and explaining: the limits in number and length at their boundaries, and what counts as told."""

from __future__ import annotations

from dataclasses import replace

from answerback.core import clarification
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, apply_action
from answerback.core.clarification import AskBack, apply_ask_back, apply_explanation, can_ask_back
from answerback.core.form import AnswerType, Form, Question
from answerback.core.walker import Person, Refused
from answerback_testing.example_asks import new_ask
from tests.limit_edges import edge

ANN = Person(surface="web", user_id="ann", name="Ann")
GO = Form(questions=(Question(id="go", text="Go?", answer_type=AnswerType.BOOLEAN),))


def asking(text: str, ask: Ask | None = None) -> Ask | None:
    """Return the ask after Ann asked back with this text, or None if that was rejected."""
    ask = ask or new_ask(form=GO, request={"accepts": ("clarify",)})
    change = apply_ask_back(ask, AskBack(text=text), at=1.0, by=ANN)
    return change.ask if isinstance(change, Change) else None


@edge("MAX_QUESTION")
def test_the_length_limit_of_a_question_asked_back() -> None:
    assert asking("x" * 2_000) is not None
    assert asking("x" * 2_001) is None


@edge("MAX_ASIDES")
def test_the_limit_of_questions_asked_back() -> None:
    ask = new_ask(form=GO, request={"accepts": ("clarify",)})
    for number in range(10):
        assert can_ask_back(ask)
        more = asking(f"{number}?", ask)
        assert more is not None
        ask = more
    assert not can_ask_back(ask)
    assert asking("10?", ask) is None


@edge("MAX_ASIDES")
def test_the_limit_of_explanations() -> None:
    ask = new_ask(form=GO, request={"accepts": ("clarify",)})
    for number in range(10):
        change = apply_explanation(ask, f"{number}.", at=1.0)
        assert isinstance(change, Change)
        ask = change.ask
    assert isinstance(apply_explanation(ask, "10.", at=1.0), Refused)
    assert apply_explanation(ask, "9.", at=1.0) is None


def test_only_asides_that_were_reported_count_as_told() -> None:
    ask = asking("a?")
    assert ask is not None
    result = clarification.mark_asides_told(ask, 1)
    more = asking("b?", result)
    assert more is not None
    assert clarification.has_untold_question(ask)
    assert not clarification.has_untold_question(result)
    assert clarification.has_untold_question(more), "a second question is news"
    assert (
        clarification.mark_asides_told(
            replace(more, collection=replace(more.collection, asides_told=2)), 1
        ).collection.asides_told
        == 2
    )


def test_an_explanation_is_about_what_was_asked_back_or_else_the_open_question() -> None:
    two = Form(questions=(*GO.questions, GO.questions[0].model_copy(update={"id": "how"})))
    ask = asking("Why?", new_ask(form=two, request={"accepts": ("clarify",)}))
    assert ask is not None
    answered = apply_action(ask, Answer(value=True), at=2.0, by=ANN)
    assert isinstance(answered, Change)
    ask = answered.ask
    for text in ("Because.", "And mind this."):
        change = apply_explanation(ask, text, at=3.0)
        assert isinstance(change, Change)
        ask = change.ask
    assert [aside.question_id for aside in ask.asides] == ["go", "go", "how"]


def test_the_open_question_has_been_shown_at_each_revision_since_it_was_asked() -> None:
    ask = new_ask(form=GO, request={"accepts": ("clarify",)})
    assert [*clarification.open_question_revisions(ask)] == [ask.revision]
    for text in ("Why?", "Really?"):
        more = asking(text, ask)
        assert more is not None
        ask = more
    newest = ask.revision
    assert [*clarification.open_question_revisions(ask)] == [newest, newest - 1, newest - 2]
