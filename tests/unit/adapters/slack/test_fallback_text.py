"""The text for notifications and screen readers, which replaces the blocks there, states the whole decision."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerback.core.ask import ANYONE, Ask
from answerback.core.form import AnswerType, Option
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.presentation import wording
from answerback.presentation.text_fitting import utf16_length
from answerback_base.sanitize import visible
from answerback_slack import limits
from answerback_slack.blocks import escape, escape_within
from answerback_slack.fallback_text import fallback_text
from tests.fakes.slack.richtext import visible as read
from tests.unit.adapters.slack.asks import big_asks, single_question_ask
from tests.unit.adapters.slack.test_block_kit import CASES

LABELS = Labels()
ADA = {"U0ADA": "Ada"}
LONG = "An explanation that has no end. " * 600


def decision(view: View) -> list[str]:
    """Everything that somebody has to read to know what is to be decided, and how they can decide it."""
    said = [wording.asks_line(view, LABELS)]
    if view.outcome is not None:
        said.append(
            wording.ending(view, LABELS).replace(LABELS.closed, "closed the form without a message")
        )
    for line in view.lines:
        said += [line.question.text, "➜"]
    if view.prompt is None:
        return [*said, *([] if view.outcome else [LABELS.review_title])]
    question = view.prompt.question
    said = [wording.asks_line(view, LABELS), question.text]
    match question.answer_type:
        case AnswerType.BOOLEAN:
            said.append(f"{LABELS.yes} / {LABELS.no}")
        case AnswerType.SELECT | AnswerType.MULTI_SELECT if len(question.options) < 50:
            said += [option.label for option in question.options]
    if question.other:
        said.append(LABELS.other)
    return said


def squeezed(text: str) -> str:
    return "".join(visible(text).split())


@pytest.mark.rule("SLACK-14")
@pytest.mark.parametrize("case", CASES)
def test_the_text_of_every_kind_in_every_state_states_the_whole_decision(case: str) -> None:
    ask = replace(
        CASES[case],
        placement=replace(CASES[case].placement, responders=("U0ADA",)),
        schedule=replace(CASES[case].schedule, expires_at=1_700_003_600.0),
    )
    view = view_of(ask)
    text = squeezed(read(fallback_text(view, LABELS, ADA), verbatim=True))
    for said in decision(view):
        # Of a list with hundreds of options, the text has as many as fit.
        assert squeezed(said)[:60] in text, (case, said)
    if view.outcome is None:
        assert squeezed(LABELS.for_whom.format(who="Ada")) in text
        assert squeezed("closes 2023-11-14") in text


@pytest.mark.rule("SLACK-14")
@pytest.mark.parametrize("case", [c for c in CASES if view_of(CASES[c]).prompt is not None])
def test_a_long_context_never_displaces_the_question_and_its_choices(case: str) -> None:
    ask = with_context(CASES[case], LONG)
    view = view_of(replace(ask, placement=replace(ask.placement, responders=(ANYONE,))))
    text = squeezed(fallback_text(view, LABELS))
    for said in [*decision(view), LABELS.for_anyone]:
        assert squeezed(escape(said))[:60] in text, (case, said)


def with_context(ask: Ask, context: str) -> Ask:
    questions = tuple(q.model_copy(update={"context": context}) for q in ask.form.questions)
    form = ask.request.form.model_copy(update={"questions": questions})
    return replace(ask, request=ask.request.model_copy(update={"form": form}))


@pytest.mark.rule("SLACK-14")
@pytest.mark.parametrize(
    ("changes", "filled_in"),
    [
        ({"answer_type": AnswerType.BOOLEAN, "default": False}, "No"),
        ({"answer_type": AnswerType.TEXT, "default": "main"}, "main"),
    ],
)
def test_the_prefill_is_stated(changes: dict[str, object], filled_in: str) -> None:
    ask = single_question_ask(AnswerType.TEXT, has_default=True, **changes)
    assert LABELS.prefilled.format(text=filled_in) in fallback_text(view_of(ask), LABELS)


@pytest.mark.rule("SLACK-14")
def test_the_fields_of_a_form_are_stated() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "title": "Your name"}}}
    ask = single_question_ask(AnswerType.SCHEMA, json_schema=schema)
    assert "Your name" in fallback_text(view_of(ask), LABELS)


@pytest.mark.rule("SLACK-14")
@settings(max_examples=settings().max_examples // 2)
@given(big_asks())
def test_the_text_is_within_slacks_limit_whatever_is_asked(ask: Ask) -> None:
    text = fallback_text(view_of(ask), LABELS)
    assert len(text.encode("utf-16-le", "surrogatepass")) // 2 <= limits.MESSAGE_TEXT
    assert wording.who_asks(view_of(ask), LABELS) in text


@pytest.mark.rule("SLACK-14")
@pytest.mark.parametrize("text", ["?", "&", "Go?", "&" * 5_000])
def test_a_short_question_is_stated_even_if_its_choices_exceed_the_limit(text: str) -> None:
    labels = [f"{number} {'&<> ' * 200}" for number in range(30)]
    options = tuple(Option(value=label, label=label) for label in labels)
    ask = single_question_ask(AnswerType.SELECT, options=options, text=text)
    made = fallback_text(view_of(ask), Labels())
    assert len(made) <= limits.MESSAGE_TEXT
    assert escape(text[:10]) in made


@given(st.text("&<>a\U0001f600 \n"), st.integers(-2, 40))
def test_escaped_text_fits_any_limit(text: str, most: int) -> None:
    assert utf16_length(escape_within(text, most)) <= max(most, 0)
    if most >= utf16_length(escape(text)):
        assert escape_within(text, most) == escape(text)
