"""What is stored about an ask's live message: which revision it shows, and since when. Pure."""

from __future__ import annotations

from dataclasses import replace

from answerback.core.ask import AbandonedMessage, Ask, Thread
from answerback.core.confirmer_copies import outdated_copies
from answerback.ports.store import Decision, Write
from answerback.ports.surface import Shown


def record_shown(shown: Shown, of: Ask | None, latest: Ask | None) -> Decision[Ask | None]:
    """Decide to note what the live message shows, and return the ask after that.

    ``of`` is the ask as it was when it was shown; None: as it is now.
    """
    if latest is None:
        return Decision(None, None)
    now = _with_shown(shown, of or latest, latest)
    return Decision(Write(now), now)


def _with_shown(shown: Shown, of: Ask, latest: Ask) -> Ask:
    """Return the latest ask with a note of the message that is shown.

    If the ask has moved elsewhere since it was shown, this message is one that it left behind. The ask is to be shown
    again if it looks different at the same revision, was missed in the meantime, or has left behind another message
    that has not been dealt with. It is also shown again if a newer revision is already noted: of two processes that
    showed it at the same time, nobody knows which was last. An empty message means that there is none.
    """
    thread = shown.thread if shown.thread != Thread() else None
    if latest.destination != of.destination:
        left, before = latest.left, latest.before
        if before is not None and before.destination == of.destination:
            seen = before.seen or shown.revision == of.revision
            before = replace(before, message=dict(shown.message) or None, thread=thread, seen=seen)
        return replace(
            latest,
            before=before,
            left=AbandonedMessage(
                destination=of.destination,
                message=dict(shown.message),
                thread=thread,
                since=shown.at if left is None else left.since,
            ),
        )
    if shown.revision < latest.shown_revision:
        return mark_outdated(latest)  # this older state may have overwritten the newer one
    changed = latest.rendered_state[1:] != of.rendered_state[1:]
    is_outdated = latest.may_have_copies and bool(outdated_copies(latest))
    needs_update = latest.to_retire is not None or changed or is_outdated
    opened = latest.opened
    if shown.revision == latest.revision and opened.shown is None and shown.at is not None:
        opened = replace(opened, shown=shown.at)
    seen = latest.seen or (shown.revision == of.revision and bool(shown.message))
    reference = dict(shown.message) or None
    return replace(
        latest,
        shown_revision=min(shown.revision, latest.revision - needs_update),
        seen=seen,
        seen_since=shown.at if seen and not latest.seen else latest.seen_since,
        before=None if shown.revision == of.revision else latest.before,
        # Reuse the same objects if an edit changed nothing in them: a store writes only what is new.
        message=latest.message if reference == latest.message else reference,
        thread=latest.thread if thread == latest.thread else thread,
        opened=opened,
    )


def record_retired(latest: Ask | None, retired: Ask, until: float) -> Decision[None]:
    """Decide to note that the message which the ``retired`` ask left behind has been a note since ``until``.

    Nothing is noted if that message has been shown once more in the meantime.
    """
    left = latest.left if latest else None
    if latest is None or left is None or left != retired.left:
        return Decision(None, None)
    return Decision(Write(replace(latest, left=replace(left, until=until))), None)


def mark_outdated(ask: Ask) -> Ask:
    """Return the ask marked for showing again, because its live message does not show what was noted."""
    shown = min(ask.shown_revision, ask.revision - 1)
    return replace(ask, missed=ask.missed + 1, shown_revision=shown)


def keep_intervals(ask: Ask, set_back: float) -> Ask:
    """Return an open ask whose deadlines are as far away as before the clock was set back by so many seconds.

    Its message says when it closes, so it is shown again.
    """
    kept = replace(ask, set_back=ask.set_back + set_back)
    if ask.expires_at is None:
        return kept
    kept = replace(kept, expires_at=ask.expires_at - set_back)
    return mark_outdated(kept) if ask.message is not None else kept


def replace_channel_id(ask: Ask, old: str, new: str) -> Ask:
    """Return the ask with its channel's id replaced. A message that is being shown meanwhile still belongs to it."""
    if ask.message is None:
        channel = new if ask.destination.channel == old else ask.destination.channel
        return replace(ask, destination=replace(ask.destination, channel=channel))
    message = {key: new if value == old else value for key, value in ask.message.items()}
    thread = ask.thread
    if thread is not None and thread.channel == old:
        thread = replace(thread, channel=new)
    return replace(ask, message=message, thread=thread)
