"""A preview of a Discord message: what is sent, and how it reads. Pure."""

from __future__ import annotations

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.plugin import Preview
from answerback.presentation.message_preview import preview_html
from answerback_discord import render
from answerback_discord.option_controls import OPTIONS


def preview(view: View, labels: Labels) -> Preview:
    html = preview_html(view, labels, render.STYLE, OPTIONS)
    return Preview(payload=render.message(view, labels), html=html)
