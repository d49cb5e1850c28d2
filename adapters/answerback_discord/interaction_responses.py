"""Build the response to an interaction: a private note, or the updated message. Makes no request to Discord.

Owns how the live message looks in the ask's current state, including the selection, and how an outdated message is
handled: the response updates it, and a follow-up that only the person sees explains why.
https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from answerback.core.ask import Ask
from answerback.core.confirmer_copies import copy_at
from answerback.core.escalation import as_still_open
from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Acted, Asks, Rejected
from answerback.presentation.wording import ActedOnVersion
from answerback_chat.live_message import known_messages
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_discord import components as c
from answerback_discord import limits, pictures, private_notes, render
from answerback_discord.components import Json
from answerback_discord.option_controls import ListState, initial_page
from answerback_discord.parse import SURFACE, Interaction, InteractionType
from answerback_discord.pending_edits import live_message_id


class InteractionResponseType(IntEnum):
    PONG = 1
    MESSAGE = 4
    DEFERRED_MESSAGE = 5
    UPDATE = 7
    AUTOCOMPLETE_RESULT = 8
    MODAL = 9


class InteractionResponse(NamedTuple):
    """The response to an interaction, and what follows it."""

    callback: Json
    shown: Ask | None = None
    """The ask whose live message the response updates."""
    note: Json | None = None
    """A private message to send once Discord has accepted the response."""
    outdated: Ask | None = None
    """The ask of which the person saw an older state; its live message needs to be checked."""
    reselected: Ask | None = None
    """The ask whose selection changed on a private message; its live message still shows the old selection."""
    instead: Json | None = None
    """A private message to respond with, ``note`` included, if the message to update has been deleted."""

    @property
    def has_followup(self) -> bool:
        """True if anything remains to be done after the response is sent."""
        return any(each is not None for each in (self.note, self.outdated, self.reselected))


def private_response(message: Json) -> InteractionResponse:
    """Respond with a new message that only the person sees."""
    return InteractionResponse({"type": int(InteractionResponseType.MESSAGE), "data": message})


def note_response(message: Json, used: Interaction) -> InteractionResponse:
    """Respond with a private message, which replaces the clicked one if that was private already."""
    if used.private:
        return update_response(message | {"flags": limits.COMPONENTS_V2}, instead=message)
    return private_response(message)


def update_response(
    message: Json, shown: Ask | None = None, instead: Json | None = None
) -> InteractionResponse:
    """Respond by updating the clicked message."""
    return InteractionResponse(
        {"type": int(InteractionResponseType.UPDATE), "data": message}, shown, instead=instead
    )


class ResponseBuilder:
    def __init__(self, asks: Asks, labels: Labels, now: Callable[[], float]) -> None:
        self._now = now
        self._asks = asks
        self._labels = labels
        self.selections = SelectionDrafts(asks)

    async def list_state(self, ask: Ask) -> ListState | None:
        """Return the current list state of an open multi-select, or None if the open question is not one."""
        prompt = view_of(ask, self._labels).prompt
        if prompt is None or prompt.question.answer_type is not AnswerType.MULTI_SELECT:
            return None
        return ListState(initial_page(prompt), await self.selections.load(ask))

    async def acted(self, result: Acted, used: Interaction) -> InteractionResponse:
        """Respond to an action with the message in its current state."""
        if used.private:
            return note_response(private_notes.action_taken_note(result.ask, self._labels), used)
        if not (result.repeated or result.ask.asides):  # nobody can have selected anything yet
            return self._update_clicked(result.ask, None, used)
        return await self._current_message(result.ask, used)

    async def rejected(
        self, result: Rejected, used: Interaction, entered: private_notes.TypedInput | None = None
    ) -> InteractionResponse:
        """Respond with why nothing was changed; an outdated message is updated as well."""
        reader, seen = used.actor.person.user_id, used.control
        version = ActedOnVersion(seen.revision, self._now())
        note = private_notes.rejection_note(result, self._labels, reader, entered, version)
        ask = result.ask
        if ask is None and await self._is_second_message(used):
            return update_response(note | {"flags": limits.COMPONENTS_V2}, instead=note)
        if ask is None or (seen.revision == ask.revision and ask.open):
            return note_response(note, used)
        return await self.redraw(ask, used, note)

    async def _is_second_message(self, used: Interaction) -> bool:
        """Return True if the message that was used shows an ask, but is none of the messages that the ask is known to
        have.

        One is left if a post in a forum took effect after it was repeated: it is in another thread than its ask. Until
        the live message is known, any may be it.
        """
        ask = None if used.private else await self._asks.get(used.control.ask_id)
        if ask is None or ask.placement.destination.surface != SURFACE or not live_message_id(ask):
            return False
        return used.message_id not in {each.get("id") for each in known_messages(ask)}

    async def redraw(self, ask: Ask, used: Interaction, note: Json) -> InteractionResponse:
        """Respond with the message in its current state and a follow-up note.

        The response is the note alone if the clicked message is private, or if a modal was submitted: the note gives
        back what was typed there, and a follow-up may be lost.
        """
        if used.private or used.kind == InteractionType.MODAL_SUBMIT:
            return note_response(note, used)._replace(outdated=ask)
        current = await self._current_message(ask, used)
        return current._replace(note=note, outdated=ask, instead=note)

    async def _current_message(self, ask: Ask, used: Interaction) -> InteractionResponse:
        list_state = await self.list_state(ask)
        # Nothing is awaited after the last read: later commits are shown after this response.
        latest = await self._latest(ask)
        while latest.revision != ask.revision:
            ask, list_state = latest, await self.list_state(latest)
            latest = await self._latest(ask)
        return self._update_clicked(latest, list_state, used)

    async def _latest(self, ask: Ask) -> Ask:
        """Return the current ask, as it was before as long as nobody can see it where it moves to."""
        latest = await self._asks.get(ask.id) or ask
        return as_still_open(latest) or latest

    def _update_clicked(
        self, ask: Ask, list_state: ListState | None, used: Interaction
    ) -> InteractionResponse:
        on_discord = ask.placement.destination.surface == SURFACE
        copy = copy_at(ask, "id", used.message_id)
        if copy is not None and copy.placement.destination.surface == SURFACE:
            ask, on_discord = copy, True
        live = live_message_id(ask) if on_discord else ""
        if on_discord and (live == used.message_id or not (live or ask.schedule.escalated)):
            return update_response(
                render.message(
                    view_of(ask, self._labels), self._labels, list_state, pictures.shown(ask)
                ),
                ask,
                private_notes.message_deleted_note(ask, self._labels),
            )
        moved = private_notes.moved_text(ask, self._labels)
        return update_response(c.message([c.text(moved)]), instead=private_notes.note(moved))
