"""A preview of a Slack message: what is sent, and how it reads. Pure."""

from __future__ import annotations

from typing import Final, cast

from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.plugin import Preview
from answerback.presentation.message_preview import PictureLayout, preview_html
from answerback_slack import limits, render
from answerback_slack.option_controls import OPTION_LIMITS
from answerback_slack.people_text import mention

_PICTURES: Final = PictureLayout(
    lambda file: file.media_type in limits.PICTURE_TYPES, is_side_by_side=False
)
_PASTE: Final = "It can be pasted into Slack's Block Kit Builder."
_UPLOADED: Final = "Pictures have no ids before they are uploaded, so it names them."


def preview(view: View, labels: Labels) -> Preview:
    message = render.render(view, labels, {who: mention(who) for who in view.responders})
    blocks = cast("JsonValue", message.blocks)
    return Preview(
        payload={"text": message.text, "blocks": blocks},
        html=preview_html(view, labels, render.STYLE, OPTION_LIMITS, _PICTURES),
        source={"blocks": blocks},
        hint=f"{_PASTE} {_UPLOADED}" if any(map(_PICTURES.shows, view.files)) else _PASTE,
    )
