"""A preview of a Slack message: what is sent, and how it reads. Pure."""

from __future__ import annotations

from typing import cast

from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.plugin import Preview
from answerback.presentation.message_preview import preview_html
from answerback_slack import render
from answerback_slack.option_controls import OPTION_LIMITS
from answerback_slack.people_text import mention


def preview(view: View, labels: Labels) -> Preview:
    message = render.render(view, labels, {who: mention(who) for who in view.responders})
    blocks = cast("JsonValue", message.blocks)
    return Preview(
        payload={"text": message.text, "blocks": blocks},
        html=preview_html(view, labels, render.STYLE, OPTION_LIMITS),
        source={"blocks": blocks},
        hint="It can be pasted into Slack's Block Kit Builder.",
    )
