"""A preview of a Discord message: what is sent, and how it reads. Pure."""

from __future__ import annotations

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.plugin import Preview
from answerback.presentation.message_preview import PictureLayout, preview_html
from answerback_discord import pictures, render
from answerback_discord.option_controls import OPTIONS


def preview(view: View, labels: Labels) -> Preview:
    layout = PictureLayout(lambda file: file.is_picture)
    html = preview_html(view, labels, render.STYLE, OPTIONS, layout)
    named = pictures.name_attachments(view.files)
    return Preview(payload=render.message(view, labels, pictures=named), html=html)
