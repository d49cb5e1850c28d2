"""Render a Telegram message as HTML, close enough to how it will look to judge it by. Pure.

Its text is HTML of few elements already, of which every text is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup, escape

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.plugin import Preview
from answerback.presentation.preview_html import Json, button, tag
from answerback_telegram import render


def preview(view: View, labels: Labels) -> Preview:
    message = render.message(view, labels)
    return Preview(payload=message, html=html(message))


def html(message: Json) -> Markup:
    text = Markup(str(message.get("text", "")).replace("\n", "<br>"))
    keyboard = message.get("reply_markup")
    rows = keyboard.get("inline_keyboard") if isinstance(keyboard, Mapping) else None
    laid = [_row(row) for row in rows if isinstance(row, list)] if isinstance(rows, list) else []
    return tag("div", tag("div", text, "text") + Markup("").join(laid), "container")


def _row(row: list[object]) -> Markup:
    buttons = [each for each in row if isinstance(each, Mapping)]
    shown = (
        button(escape(str(each.get("text", ""))), str(each.get("style", ""))) for each in buttons
    )
    return tag("div", Markup(" ").join(shown), "row")
