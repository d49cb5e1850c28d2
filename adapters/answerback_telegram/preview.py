"""Render a Telegram message as HTML, close enough to how it will look to judge it by. Pure.

Its text is HTML of few elements already, of which every text is escaped.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.plugin import Preview
from answerback.presentation.preview_html import Json, button, tag
from answerback_chat.control_codec import list_of, object_of, objects_of
from answerback_telegram import render


def preview(view: View, labels: Labels) -> Preview:
    message = render.message(view, labels)
    return Preview(payload=message, html=html(message))


def html(message: Json) -> Markup:
    text = Markup(str(message.get("text", "")).replace("\n", "<br>"))
    rows = list_of(object_of(message.get("reply_markup")).get("inline_keyboard"))
    laid = Markup("").join(map(_row, rows))
    return tag("div", tag("div", text, "text") + laid, "container")


def _row(row: object) -> Markup:
    buttons = objects_of(row)
    shown = (
        button(escape(str(each.get("text", ""))), str(each.get("style", ""))) for each in buttons
    )
    return tag("div", Markup(" ").join(shown), "row")
