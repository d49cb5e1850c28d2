"""Slack's buttons as the test suite of surfaces sees them."""

from __future__ import annotations

from answerback.testing.simulated_people import ShownButton
from tests.fakes.slack.visible_message import Control


def shown_button(control: Control) -> ShownButton:
    """Return a button with what it does."""
    answers, style = control.action_id.startswith("answer."), control.element.get("style")
    return ShownButton(control.label, control.action_id, answers, style == "danger")
