"""The call as it was sent, and the folder that its agent works in, for "Show in full". Pure."""

from __future__ import annotations

from typing import NamedTuple

from answerback.core.labels import Labels
from answerback.core.view import SentCall
from answerback_base.sanitize import as_json, visible


class SentCallText(NamedTuple):
    """The parts of a sent call as text; an empty part is not shown."""

    folder: str = ""
    title: str = ""
    arguments: str = ""


def sent_call_text(sent: SentCall | None, labels: Labels) -> SentCallText:
    """Return the folder, and where permission is asked for, the whole call."""
    if sent is None:
        return SentCallText()
    folder = labels.folder.format(folder=sent.folder) if sent.folder else ""
    if sent.arguments is None:
        return SentCallText(visible(folder))
    title = labels.sent_call.format(tool=sent.name)
    return SentCallText(visible(folder), visible(title), as_json(sent.arguments))
