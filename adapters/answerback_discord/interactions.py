"""Handle what people do on Discord, over the gateway or by HTTP, and decide how to respond.

The response is a single callback, built without any request to Discord: the commit comes first, and the response
shows what is stored. Whatever follows it (a note, a check of the live message) is sent afterwards.
https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.intents import RequestedAction
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.claims import Fence
from answerback.ports.commands import CommandAnswer
from answerback.ports.surface import Acted, Asks, Rejected, RejectReason
from answerback_chat.control_codec import NO_ASK, Verb, object_of
from answerback_discord import form_inputs, parse, private_notes
from answerback_discord.control_inputs import ControlHandler, FormDraft, problems_note
from answerback_discord.inbox import Inbox
from answerback_discord.interaction_responses import (
    InteractionResponse,
    InteractionResponseType,
    ResponseBuilder,
    note_response,
    private_response,
)
from answerback_discord.parse import Interaction, InteractionType

logger = logging.getLogger(__name__)

_NO_CHOICES: Final = InteractionResponse(
    {"type": int(InteractionResponseType.AUTOCOMPLETE_RESULT), "data": {"choices": []}}
)


@dataclass(eq=False)
class InteractionHandler:
    asks: Asks
    labels: Labels
    replies: ResponseBuilder
    fence: Callable[[], Fence | None]

    def __post_init__(self) -> None:
        self._inbox = Inbox(self.asks, self.labels, self.fence)
        self.parse: Callable[[Mapping[str, Any]], Interaction | None] = parse.parse_interaction

    def lock_for(self, used: Interaction) -> AbstractAsyncContextManager[None]:
        """Serialise the changes to an ask's selection and its submission."""
        return self.replies.selections.lock_for(used.control)

    async def respond_to_unknown(self, payload: Mapping[str, Any]) -> InteractionResponse:
        """Respond with a note, so that Discord never shows "This interaction failed"; give back what was typed."""
        if payload.get("type") == InteractionType.AUTOCOMPLETE:
            return _NO_CHOICES
        inputs = parse.inputs_of(object_of(payload.get("data")).get("components"))
        typed, sentence = form_inputs.typed_text(inputs), self.labels.not_found
        return private_response(private_notes.retry_note(sentence, "", self.labels, typed))

    async def respond_to_read_only(self, ask: Ask | None, used: Interaction) -> InteractionResponse:
        """Respond with a page of the person's inbox, of the full text of a message, or of what they had entered."""
        if used.control.ask_id == NO_ASK:
            return await self._inbox.respond(used)
        if ask is None:
            return await self.replies.rejected(Rejected(RejectReason.NOT_FOUND), used)
        return await self._control_handler(ask, used).read_page()

    async def respond_to_command(
        self, answer: CommandAnswer, used: Interaction
    ) -> InteractionResponse:
        """Respond with a private note, which replaces the one with the button that was pressed."""
        return note_response(private_notes.command_note(answer), used)

    async def respond_with_view(
        self, ask: Ask, used: Interaction
    ) -> RequestedAction | InteractionResponse:
        """Respond with a modal, a page of options or the new selection, or return the action that was entered."""
        return await self._control_handler(ask, used).handle()

    async def respond_to_acted(self, acted: Acted, used: Interaction) -> InteractionResponse:
        if used.control.number and used.is_modal_submit:  # not the first page of the form
            try:
                await FormDraft(self.asks, used).delete()
            except StoreError as error:  # the answer is saved; a leftover draft does no harm
                extra = {"action": "draft_stays", "ask_id": acted.ask.id}
                logger.warning("A draft could not be deleted: %s", error, extra=extra)
        return await self.replies.acted(acted, used)

    async def respond_to_rejected(
        self, rejected: Rejected, used: Interaction
    ) -> InteractionResponse:
        """Respond with why nothing was changed, and with everything that was entered, including earlier pages."""
        if not (used.private or used.is_modal_submit):
            return await self.replies.rejected(rejected, used)
        drafts = FormDraft(self.asks, used)
        values = await drafts.merged_values()
        is_wrong = rejected.why is RejectReason.INVALID and used.is_modal_submit
        view = view_of(rejected.ask) if is_wrong and rejected.ask else None
        spec = form_inputs.modal_spec(view, used.control.verb, self.labels) if view else None
        if view is not None and spec is not None:
            await drafts.keep()
            note = problems_note(view, used.control, rejected.problems, spec, self.labels)
            return note_response(note, used)
        entered = private_notes.TypedInput(form_inputs.typed_text(values), used.control)
        if used.inputs and len(entered.pages()) > 1:
            await drafts.keep()
        return await self.replies.rejected(rejected, used, entered)

    async def respond_to_failure(
        self, error: Exception, used: Interaction | None
    ) -> InteractionResponse:
        """Ask the person to try again, and give back what they entered or picked."""
        again = typed = ""
        if used is not None:
            if used.control.verb is Verb.CHOOSE and used.single and len(used.places) == 1:
                place = str(used.places[0])
                again = used.control._replace(verb=Verb.ANSWER, argument=place).encode()
            typed = form_inputs.typed_text(used.inputs)
        return private_response(
            private_notes.retry_note(
                self.labels.save_error_message(error), again, self.labels, typed
            )
        )

    def _control_handler(self, ask: Ask, used: Interaction) -> ControlHandler:
        return ControlHandler(self.asks, self.replies, self.labels, used, ask)
