"""The Markdown of questions and labels: drawn above the question, whose own text and labels lose their marks."""

from __future__ import annotations

import pytest

from answerback.core.ask import headline_of
from answerback.core.form import Form, Option, OptionKind, Question
from answerback.core.labels import ENGLISH
from answerback.core.question_markdown import divide, without_marks
from answerback.core.typed_answers import parse_typed_answer
from answerback.core.view import view_of
from answerback.dialects import registry
from tests.unit.adapters.slack.asks import ask_of
from tests.unit.cases import read_case

pytestmark = pytest.mark.rule("TEXT-10")

CASE = read_case("markdown-in-the-question")["input"]
TABLE = "## Compare\n\n| | cost |\n|---|---|\n| **A** | 3 |"


def form() -> Form:
    return registry.parse_call(CASE["name"], CASE["arguments"]).form


def test_the_markdown_of_a_question_is_drawn_as_its_context() -> None:
    view = view_of(ask_of(form()))
    assert view.prompt is not None
    question = view.prompt.question
    assert question.text == view.headline == headline_of(form()) == "Which of A and B?"
    assert question.context == TABLE
    assert question.options[0].label == "A (cheap)"
    assert question.options[0].value == "**A** (`cheap`)"
    assert form().questions[0].text == CASE["arguments"]["questions"][0]["question"]


@pytest.mark.parametrize("text", ["A (cheap)", "**A** (`cheap`)", "1"])
def test_an_option_is_typed_as_it_is_shown_or_as_it_was_sent(text: str) -> None:
    ask = ask_of(form())
    action = parse_typed_answer(ask, text, ENGLISH)
    assert getattr(action, "value", None) == "**A** (`cheap`)"


def test_a_context_follows_what_stood_in_the_question() -> None:
    [question] = form().questions
    asked = form().model_copy(
        update={"questions": (question.model_copy(update={"context": "More."}),)}
    )
    view = view_of(ask_of(asked))
    assert view.prompt is not None
    assert view.prompt.question.context == f"{TABLE}\n\nMore."


@pytest.mark.parametrize(
    ("text", "lead", "asked"),
    [
        ("Which port?", "", "Which port?"),
        ("One.\n\nTwo?", "", "One.\n\nTwo?"),
        ("**Deploy** `main`?", "", "Deploy main?"),
        ("Pick one:\n\n- a\n- b", "Pick one:\n\n- a\n- b", "Pick one:"),
        ("# Plan\n\nGo?", "# Plan", "Go?"),
        ("```\n# only code\n```", "", "```\n# only code\n```"),
    ],
)
def test_a_question_is_divided_where_it_has_structure(text: str, lead: str, asked: str) -> None:
    assert divide(text) == (lead, asked)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**A** (`cheap`)", "A (cheap)"),
        ("***both***", "***both***"),
        ("**a `b` c**", "a b c"),
        ("*slow* but __sure__", "slow but __sure__"),
        ("2*3*4", "2*3*4"),
        ("*.py and *.md", "*.py and *.md"),
        ("snake_case and __init__.py", "snake_case and __init__.py"),
        ("a ** b ** c", "a ** b ** c"),
        ("C:\\new\\*.*", "C:\\new\\*.*"),
        ("`` and **", "`` and **"),
        ("`a", "`a"),
    ],
)
def test_only_marks_around_a_phrase_are_taken_for_emphasis(text: str, shown: str) -> None:
    assert without_marks(text) == shown


def test_what_people_permit_and_plain_text_keep_their_marks() -> None:
    option = Option(value="a", label="Run **it**", kind=OptionKind.ALLOW_ONCE)
    [question] = form().questions
    permission = question.model_copy(update={"options": (option,)})
    plain = form().model_copy(update={"context_format": "text"})
    for each in (Form(questions=(permission,)), plain):
        view = view_of(ask_of(each))
        assert view.prompt is not None
        shown: Question = view.prompt.question
        assert shown.text == question.text
    labels = view_of(ask_of(Form(questions=(permission,)))).prompt
    assert labels is not None
    assert labels.question.options[0].label == "Run **it**"
