"""The stored state of an ask's live message: which revision it shows, and since when. Pure."""

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
    place = latest.placement
    if place.destination != of.placement.destination:
        left, before = place.old_message, place.place_before
        if before is not None and before.placement.destination == of.placement.destination:
            there = replace(
                before.placement,
                message=dict(shown.message) or None,
                thread=thread,
                was_visible=before.placement.was_visible
                or shown.is_visible
                or shown.revision == of.revision,
            )
            before = replace(before, placement=there)
        left = AbandonedMessage(
            destination=of.placement.destination,
            message=dict(shown.message),
            thread=thread,
            since=shown.at if left is None else left.since,
        )
        return replace(latest, placement=replace(place, place_before=before, old_message=left))
    if shown.revision < place.shown_revision:
        if place.message == of.placement.message and of is not latest:
            # Another message may have been posted in its place: it must be found, whatever it shows.
            latest = replace(latest, placement=replace(place, message=dict(shown.message) or None))
        return mark_outdated(latest)  # this older state may have overwritten the newer one
    changed = latest.rendered_state[1:] != of.rendered_state[1:]
    is_outdated = latest.may_have_copies and bool(outdated_copies(latest))
    needs_update = latest.to_retire is not None or changed or is_outdated
    opened = latest.opening
    if shown.revision == latest.revision and opened.shown is None and shown.at is not None:
        opened = replace(opened, shown=shown.at)
    is_here = shown.is_visible or shown.revision == of.revision
    seen = place.was_visible or (is_here and bool(shown.message))
    reference = dict(shown.message) or None
    place = replace(
        place,
        shown_revision=min(shown.revision, latest.revision - needs_update),
        was_visible=seen,
        seen_since=shown.at if seen and not place.was_visible else place.seen_since,
        place_before=None if is_here else place.place_before,
        # Reuse the same objects if an edit changed nothing in them: a store writes only new objects.
        message=place.message if reference == place.message else reference,
        thread=place.thread if thread == place.thread else thread,
    )
    return replace(latest, placement=place, opening=opened)


def record_retired(latest: Ask | None, retired: Ask, until: float) -> Decision[None]:
    """Decide to note that the message which the ``retired`` ask left behind has been a note since ``until``.

    Nothing is noted if that message has been shown once more in the meantime.
    """
    left = latest.placement.old_message if latest else None
    if latest is None or left is None or left != retired.placement.old_message:
        return Decision(None, None)
    place = replace(latest.placement, old_message=replace(left, until=until))
    return Decision(Write(replace(latest, placement=place)), None)


def mark_outdated(ask: Ask) -> Ask:
    """Return the ask marked for showing again, because its live message does not show what was noted."""
    shown = min(ask.placement.shown_revision, ask.revision - 1)
    place = replace(ask.placement, shown_revision=shown)
    return replace(ask, placement=place, mismatches=ask.mismatches + 1)


def keep_intervals(ask: Ask, set_back: float) -> Ask:
    """Return an open ask whose deadlines are as far away as before the clock was set back by so many seconds.

    Its message says when it closes, so it is shown again.
    """
    kept = replace(
        ask, schedule=replace(ask.schedule, clock_set_back=ask.schedule.clock_set_back + set_back)
    )
    if ask.schedule.expires_at is None:
        return kept
    kept = replace(
        kept, schedule=replace(kept.schedule, expires_at=ask.schedule.expires_at - set_back)
    )
    return mark_outdated(kept) if ask.placement.message is not None else kept


def replace_channel_id(ask: Ask, old: str, new: str) -> Ask:
    """Return the ask with its channel's id replaced. A message that is being shown meanwhile still belongs to it."""
    place = ask.placement
    if place.message is None:
        channel = new if place.destination.channel == old else place.destination.channel
        there = replace(place.destination, channel=channel)
        return replace(ask, placement=replace(place, destination=there))
    message = {key: new if value == old else value for key, value in place.message.items()}
    thread = place.thread
    if thread is not None and thread.channel == old:
        thread = replace(thread, channel=new)
    return replace(ask, placement=replace(place, message=message, thread=thread))
