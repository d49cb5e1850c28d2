"""Slack's buttons and menus as the test suite of surfaces sees them."""

from __future__ import annotations

from pydantic import JsonValue

from answerback.core.form import Question
from answerback_chat.control_codec import Verb
from answerback_testing.simulated_people import ShownButton
from tests.fakes.slack.visible_message import Control, Sight


def shown_button(control: Control) -> ShownButton:
    """Return a button with what it does."""
    answers, style = control.action_id.startswith("answer."), control.element.get("style")
    return ShownButton(control.label, control.action_id, answers, style == "danger")


def menus_of(sight: Sight) -> list[Control]:
    """Return the menus whose options are an answer."""
    return [c for c in sight.controls if c.action_id == Verb.CHOOSE and c.kind != "button"]


def places_of(question: Question, value: JsonValue) -> list[str]:
    """Return the positions of the options that a value chooses."""
    wanted = value if isinstance(value, list) else [value]
    return [str(i) for i, o in enumerate(question.options) if o.value in wanted]
