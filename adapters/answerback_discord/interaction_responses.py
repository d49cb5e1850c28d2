"""What Discord is answered to an interaction: a private note, or the message brought up to date. No request to Discord.

Owns what the live message looks like at an ask's present state, selection included, and what becomes of
a copy that is out of date: it is brought up to date by the answer, and the person is told by a
follow-up that only they see.
https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from answerback.core.ask import Ask
from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Acted, Asks, Rejected
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_chat.wording import ActedOnVersion
from answerback_discord import limits, private_notes, render
from answerback_discord.components import Json
from answerback_discord.option_controls import ListState, initial_page
from answerback_discord.parse import SURFACE, Interaction, InteractionType
from answerback_discord.pending_edits import live_message_id


class InteractionResponseType(IntEnum):
    """Types of answers."""

    PONG = 1
    MESSAGE = 4
    UPDATE = 7
    AUTOCOMPLETE_RESULT = 8
    MODAL = 9


class InteractionResponse(NamedTuple):
    """The answer to an interaction."""

    callback: Json
    shown: Ask | None = None
    """The ask whose live message it brings up to date."""
    note: Json | None = None
    """What the person is told privately once Discord has taken the answer."""
    again: Ask | None = None
    """The ask of which the person saw an older state: its live message is to be looked at."""
    selected: Ask | None = None
    """The ask whose selection was changed on a message of one person's own: its live message shows another one."""

    @property
    def has_followup(self) -> bool:
        """Whether something is done once it is sent."""
        return any(each is not None for each in (self.note, self.again, self.selected))


def private_response(message: Json) -> InteractionResponse:
    """A new message that only the person sees."""
    return InteractionResponse({"type": int(InteractionResponseType.MESSAGE), "data": message})


def note_response(message: Json, used: Interaction) -> InteractionResponse:
    """A private message: in place of the one that was clicked, where that was private already."""
    if used.private:
        return update_response(message | {"flags": limits.COMPONENTS_V2})
    return private_response(message)


def update_response(
    message: Json, shown: Ask | None = None, note: Json | None = None
) -> InteractionResponse:
    """The message that was clicked, changed."""
    return InteractionResponse(
        {"type": int(InteractionResponseType.UPDATE), "data": message}, shown, note
    )


class ResponseBuilder:
    """Makes answers."""

    def __init__(self, asks: Asks, labels: Labels, now: Callable[[], float]) -> None:
        self._now = now
        self._asks = asks
        self._labels = labels
        self.selections = SelectionDrafts(asks)

    async def list_state(self, ask: Ask) -> ListState | None:
        """How the menu of an open multi-select looks now; None: as the question is without a selection."""
        prompt = view_of(ask).prompt
        if prompt is None or prompt.question.answer_type is not AnswerType.MULTI_SELECT:
            return None
        return ListState(initial_page(prompt), await self.selections.load(ask))

    async def acted(self, result: Acted | Rejected, used: Interaction) -> InteractionResponse:
        """The answer to what has been acted on: the message as it stands now, or why nothing changed."""
        if isinstance(result, Rejected):
            return await self.rejected(result, used)
        if used.private:
            return note_response(private_notes.action_taken_note(result.ask, self._labels), used)
        if not (result.repeated or result.ask.asides):  # nobody has selected anything there yet
            return self._brought(result.ask, None, used)
        return await self._up_to_date(result.ask, used)

    async def rejected(
        self, result: Rejected, used: Interaction, entered: private_notes.TypedInput | None = None
    ) -> InteractionResponse:
        """Why nothing was changed; a copy that is out of date is brought up to date besides."""
        reader, seen = used.actor.person.user_id, used.control
        copy = ActedOnVersion(seen.revision, self._now())
        note = private_notes.rejection_note(result, self._labels, reader, entered, copy)
        ask = result.ask
        if ask is None or (seen.revision == ask.revision and ask.open):
            return note_response(note, used)
        return await self.redraw(ask, used, note)

    async def redraw(self, ask: Ask, used: Interaction, note: Json) -> InteractionResponse:
        """The message as it stands now, and a note; the note alone where it has to arrive, or was clicked itself.

        What somebody typed into a modal is given back with the answer, since a follow-up may be lost.
        """
        if used.private or used.kind == InteractionType.MODAL_SUBMIT:
            return note_response(note, used)._replace(again=ask)
        return (await self._up_to_date(ask, used))._replace(note=note, again=ask)

    async def _up_to_date(self, ask: Ask, used: Interaction) -> InteractionResponse:
        look = await self.list_state(ask)
        # The last that is awaited: what is committed later is shown after this answer.
        latest = await self._asks.get(ask.id) or ask
        while latest.revision != ask.revision:
            ask, look = latest, await self.list_state(latest)
            latest = await self._asks.get(ask.id) or ask
        return self._brought(latest, look, used)

    def _brought(self, ask: Ask, look: ListState | None, used: Interaction) -> InteractionResponse:
        here = ask.destination.surface == SURFACE
        live = live_message_id(ask) if here else ""
        if here and (live == used.message_id or not (live or ask.escalated)):
            return update_response(render.message(view_of(ask), self._labels, look), ask)
        where = (
            private_notes.message_url(ask.message or {})
            if live
            else private_notes.destination_text(ask.destination)
        )
        return update_response(private_notes.moved_note(where, self._labels))
