"""A preview of a Telegram message: what is sent, and how it reads. Pure."""

from __future__ import annotations

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.plugin import Preview
from answerback.presentation.message_preview import PictureLayout, preview_html
from answerback_telegram import render
from answerback_telegram.option_controls import OPTIONS
from answerback_telegram.picture_kinds import kind_of


def preview(view: View, labels: Labels) -> Preview:
    layout = PictureLayout(lambda file: kind_of(file) is not None, is_above=True)
    html = preview_html(view, labels, render.STYLE, OPTIONS, layout)
    named = tuple(each for each in view.files if not layout.shows(each))
    return Preview(payload=render.message(view._replace(files=named), labels), html=html)
