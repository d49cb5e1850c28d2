"""The call as it was sent, and the folder of its agent: shown only on request, never in a message. Pure."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import JsonValue

from answerback.core.ask import Ask


class SentCall(NamedTuple):
    """What "Show in full" adds to an ask."""

    folder: str | None
    name: str
    arguments: dict[str, JsonValue] | None
    """None unless permission is asked for: any other call is its questions."""


def sent_call(ask: Ask) -> SentCall | None:
    """Return what "Show in full" adds to an ask; None if there is nothing."""
    request = ask.request
    folder, approval = request.origin.folder, ask.form.decided_by_hand
    if folder is None and not approval:
        return None
    return SentCall(folder, request.name, request.arguments if approval else None)
