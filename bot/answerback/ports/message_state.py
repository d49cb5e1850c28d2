"""What is noted with an ask of its live message: what that shows, and since when. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue

from answerback.core.ask import AbandonedMessage, Ask, Thread


def record_shown(
    latest: Ask,
    of: Ask,
    *,
    revision: int,
    message: Mapping[str, JsonValue],
    thread: Thread,
    at: float | None = None,
) -> Ask:
    """The latest ask with a note of the message that shows ``revision``.

    ``of`` is the ask as it was when it was shown. If it has left that place meanwhile, the message is
    one that it left behind; if it looks otherwise at the same revision, was missed meanwhile, or has left
    another message behind that is not dealt with, it is to be shown again. So it is where a newer revision is noted:
    of two that showed it at the same time, nobody knows who was the last. An empty message is none.
    ``at`` is since when the message shows it, by the platform's clock.
    """
    if latest.destination != of.destination:
        return replace(
            latest, left=AbandonedMessage(destination=of.destination, message=dict(message))
        )
    if revision < latest.shown_revision:
        return mark_outdated(latest)  # this older state may have come over the newer one
    changed = (latest.unattended, latest.missed) != (of.unattended, of.missed)
    due = latest.left is not None or changed
    opened = latest.opened
    if revision == latest.revision and opened.shown is None and at is not None:
        opened = replace(opened, shown=at)
    kept = dict(message) or None
    place = thread if thread != Thread() else None
    return replace(
        latest,
        shown_revision=min(revision, latest.revision - due),
        seen=latest.seen or (revision == of.revision and bool(message)),
        # The same objects where an edit changed nothing of them: a store writes what is new.
        message=latest.message if kept == latest.message else kept,
        thread=latest.thread if place == latest.thread else place,
        opened=opened,
    )


def mark_outdated(ask: Ask) -> Ask:
    """The ask whose live message does not show what was noted, and is to be shown again."""
    shown = min(ask.shown_revision, ask.revision - 1)
    return replace(ask, missed=ask.missed + 1, shown_revision=shown)


def replace_channel_id(ask: Ask, old: str, new: str) -> Ask:
    """The ask with another id of its channel. What is being shown meanwhile still belongs to it."""
    if ask.message is None:
        channel = new if ask.destination.channel == old else ask.destination.channel
        return replace(ask, destination=replace(ask.destination, channel=channel))
    message = {key: new if value == old else value for key, value in ask.message.items()}
    thread = ask.thread and replace(ask.thread, channel=new)
    return replace(ask, message=message, thread=thread)
