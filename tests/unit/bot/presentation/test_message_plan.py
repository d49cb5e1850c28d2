"""The plan of a message: its parts have one order and share one budget, and whatever is cut can be shown in full."""

from __future__ import annotations

from typing import Any, Final

import pytest

import answerback_discord.render
import answerback_slack.render
import answerback_telegram.render
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.presentation.control_buttons import Verb
from answerback.presentation.message_plan import (
    Answering,
    Answers,
    Asides,
    Context,
    Ending,
    Heading,
    Notes,
    Options,
    QuestionText,
    ReplyText,
    SoFar,
    Submitting,
    Summary,
    plan_message,
)
from answerback.presentation.message_style import MessageStyle
from answerback_testing.message_cases import CUT, KINDS, MESSAGE_CASES, PHASES

LABELS: Final = Labels()
STYLES: Final[dict[str, MessageStyle]] = {
    "discord": answerback_discord.render.STYLE,
    "slack": answerback_slack.render.STYLE,
    "telegram": answerback_telegram.render.STYLE,
}
ASKS: Final = {name: ask for group in MESSAGE_CASES.values() for name, ask in group.items()}
ORDER: Final = (
    *(Heading, SoFar, Context, Summary, QuestionText, Asides, Options, Notes, Answering),
    *(Ending, Answers, ReplyText, Submitting),
)


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest) -> MessageStyle:
    """Each chat's style of a message."""
    return STYLES[request.param]


def texts_of(part: Any) -> list[str]:
    """Return all texts of a part."""
    match part:
        case Context(rendered) | Asides(rendered):
            return [rendered.text]
        case Answers(pairs):
            return [text for pair in pairs for text in pair]
        case Answering() | Submitting():
            return []
        case Ending() | ReplyText():
            return [*part]
        case _:
            return [*part.lines]


@pytest.mark.rule("SURFACE-2", "SURFACE-3", "SURFACE-4")
@pytest.mark.parametrize("name", ASKS)
def test_the_parts_are_in_one_order_and_fit_the_budget(name: str, style: MessageStyle) -> None:
    plan = plan_message(view_of(ASKS[name]), LABELS, style)
    kinds = [ORDER.index(type(part)) for part in plan.parts]
    assert kinds == sorted(kinds)
    lengths = [style.fitter.length(text) for part in plan.parts for text in texts_of(part)]
    assert sum(lengths) <= style.budget - plan.spare
    assert plan.spare >= 0


@pytest.mark.rule("TEXT-6")
@pytest.mark.parametrize("name", sorted(CUT.keys() - {"long-labels", "long-descriptions"}))
def test_whatever_is_cut_can_be_shown_in_full(name: str, style: MessageStyle) -> None:
    plan = plan_message(view_of(CUT[name]), LABELS, style)
    assert Verb.SHOW_IN_FULL in [each.verb for each in plan.more]


def test_code_alone_that_is_cut_is_offered_by_its_number_of_lines(style: MessageStyle) -> None:
    plan = plan_message(view_of(CUT["long-code"]), LABELS, style)
    assert [each.label for each in plan.more] == [LABELS.show_all_lines.format(n=90)]


def test_what_is_short_is_whole(style: MessageStyle) -> None:
    for name in ("boolean-default", "select-buttons", "text-default"):
        assert plan_message(view_of(KINDS[name]), LABELS, style).more == []
    assert plan_message(view_of(PHASES["review"]), LABELS, style).more == []
