"""What people do on Discord, by the gateway and by HTTP alike, and how Discord is answered.

The answer is one callback of Discord's, made without any request to Discord: the commit comes first, and the answer
shows what is stored. What follows it (a note, a look at the live message) is sent behind it.
https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.intents import Wanted
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Acted, Asks, Rejected, Why
from answerback_chat.control_codec import Verb
from answerback_discord import inbox_command, limits, modal_inputs, parse, private_notes
from answerback_discord.components import Json
from answerback_discord.control_inputs import Drafts, Entering, mistakes
from answerback_discord.interaction_responses import Callback, Replies, Reply, private, told
from answerback_discord.markdown_text import escape
from answerback_discord.option_controls import Look
from answerback_discord.parse import Interaction, Kind

logger = logging.getLogger(__name__)

_SELECTING: Final = frozenset(
    {Verb.CHOOSE, Verb.SUBMIT_SELECTION, Verb.PAGE, Verb.SEARCH, Verb.OTHER, Verb.NOTE}
)
"""What reads or changes what is selected, where several options may be."""
_INBOX_WITHIN: Final = limits.ANSWER_SECONDS - 0.8
"""Seconds in which an inbox is to be found, so that its answer still is in time."""
_NO_CHOICES: Final = Reply({"type": int(Callback.AUTOCOMPLETE_RESULT), "data": {"choices": []}})


class Inbound:
    """See `answerback_chat.interactions.Platform`."""

    def __init__(self, asks: Asks, labels: Labels, now: Callable[[], float]) -> None:
        self._asks = asks
        self._labels = labels
        self._replies = Replies(asks, labels, now)
        self.parse = parse.interaction

    async def look(self, ask: Ask) -> Look | None:
        """See `answerback_discord.interaction_responses.Replies.look`."""
        return await self._replies.look(ask)

    def lock_for(self, used: Interaction) -> AbstractAsyncContextManager[None]:
        """Selections of one ask are changed and handed in one after the other."""
        if used.control.verb in _SELECTING:
            return self._replies.selections.lock(used.control.ask_id)
        return contextlib.nullcontext()

    async def respond_to_unknown(self, payload: Mapping[str, Any]) -> Reply:
        """Never "This interaction failed"."""
        if payload.get("type") == Kind.AUTOCOMPLETE:
            return _NO_CHOICES
        return private(private_notes.rejected(Rejected(Why.NOT_FOUND), self._labels))

    async def respond_to_read_only(self, ask: Ask | None, used: Interaction) -> Reply:
        """A page of what waits for this person, of what does not fit the message, or of what they had entered."""
        if used.control.verb is Verb.INBOX:
            return told(await self._inbox(used), used)
        if ask is None:
            return await self._replies.rejected(Rejected(Why.NOT_FOUND), used)
        return await self._entering(ask, used).read()

    async def _inbox(self, used: Interaction) -> Json:
        """What waits for this person, in every server: their roles in another one are looked up."""
        person, roles = used.actor.person, used.actor.groups
        try:
            async with asyncio.timeout(_INBOX_WITHIN):
                try:
                    after = used.control.argument or None
                    found = await self._asks.waiting_for(
                        person, after, inbox_command.ON_A_PAGE, roles
                    )
                except ValueError:  # no inbox of this database gave that cursor
                    found = await self._asks.waiting_for(
                        person, None, inbox_command.ON_A_PAGE, roles
                    )
        except TimeoutError:  # looking goes on, so that it is known when they try again
            return private_notes.note(escape(self._labels.inbox_late))
        except StoreError as error:
            extra = {"action": "inbox_unread", "platform": "discord"}
            logger.warning("An inbox could not be read: %s", error, extra=extra)
            return private_notes.note(escape(self._labels.unavailable))
        return inbox_command.page(found, self._labels)

    async def respond_with_view(self, ask: Ask, used: Interaction) -> Wanted | Reply:
        """A modal, another page of options, what is selected now; or what is wanted by what was entered."""
        return await self._entering(ask, used).shown()

    async def respond_to_acted(self, acted: Acted, used: Interaction) -> Reply:
        """The message as it stands now."""
        if used.control.number and used.entered:  # behind the first page of several
            try:
                await Drafts(self._asks, used).keep(None)
            except StoreError as error:  # the answer is saved; a draft that stays harms nobody
                extra = {"action": "draft_stays", "ask_id": acted.ask.id}
                logger.warning("A draft could not be dropped: %s", error, extra=extra)
        return await self._replies.acted(acted, used)

    async def respond_to_rejected(self, rejected: Rejected, used: Interaction) -> Reply:
        """Why nothing was changed, and whatever was entered in vain, on the pages before this one too."""
        if not (used.private or used.entered):
            return await self._replies.rejected(rejected, used)
        drafts = Drafts(self._asks, used)
        values = await drafts.entered()
        if rejected.why is Why.INVALID and used.entered and rejected.ask is not None:
            view = view_of(rejected.ask)
            if (sheet := modal_inputs.sheet_of(view, used.control.verb, self._labels)) is not None:
                await drafts.keep(values)
                wrong = mistakes(view, used.control, rejected.problems, sheet, self._labels)
                return told(wrong, used)
        entered = private_notes.Entered(modal_inputs.words_of(values), used.control)
        if used.inputs and len(entered.pages()) > 1:
            await drafts.keep(values)
        return await self._replies.rejected(rejected, used, entered)

    async def respond_to_failure(self, error: Exception, used: Interaction | None) -> Reply:
        """The person is asked to try again, with what they entered or picked."""
        again = typed = ""
        if used is not None:
            if used.control.verb is Verb.CHOOSE and used.single and len(used.places) == 1:
                place = str(used.places[0])
                again = used.control._replace(verb=Verb.ANSWER, argument=place).encode()
            typed = modal_inputs.words_of(used.inputs)
        return private(private_notes.retry(self._labels.unsaved(error), again, self._labels, typed))

    def _entering(self, ask: Ask, used: Interaction) -> Entering:
        return Entering(self._asks, self._replies, self._labels, used, ask)
