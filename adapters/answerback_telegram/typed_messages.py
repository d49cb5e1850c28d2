"""Handle typed messages: decide which of them are meant for an ask, and what happens to them.

Direct messages are, as well as replies to one of our messages, and messages that mention the bot. Everything else is
people talking to each other, and with privacy mode on Telegram does not even send it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from answerback.core.ask import Ask
from answerback.ports.surface import Rejected
from answerback_chat.bot_listener import BotMessageListener
from answerback_chat.sent_files import SentFile
from answerback_telegram import private_notes
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.helper_messages import REFUSED, TAKEN, HelperMessages
from answerback_telegram.html_text import escape
from answerback_telegram.parse import SURFACE, Place, TypedMessage
from answerback_telegram.posting import about_key
from answerback_telegram.render import compose
from answerback_telegram.responder_names import ResponderNames
from answerback_telegram.sent_files import readable


@dataclass(eq=False)
class TypedMessageListener(BotMessageListener[TypedMessage]):
    resends = True
    taken_mark = TAKEN
    refused_mark = REFUSED
    _escape = staticmethod(escape)

    helpers: HelperMessages
    names: ResponderNames
    calls: TelegramApi

    async def handle_message(self, typed: TypedMessage) -> None:
        """Handle one message, if it is meant for us; see `take`."""
        if typed.is_addressed and (
            typed.text or not typed.is_edit
        ):  # not a live location that moves
            await self.take(typed)

    def sent_files(self, typed: TypedMessage) -> Sequence[SentFile]:
        return readable(self.calls, typed.attachments)

    def remember(self, typed: TypedMessage) -> None:
        """Remember a message that was read as what one of ours asked for."""
        self._typed.remember(typed, typed.text, is_taken=True)

    def refusal(self, rejected: Rejected, typed: TypedMessage) -> str:
        names = self.names.known(rejected.ask.waits_for if rejected.ask else ())
        reader = typed.actor.person.user_id
        return private_notes.rejection_text(rejected, self.labels, reader, names)

    def moved_note(self, ask: Ask) -> str:
        names = self.names.known([private_notes.chat_of(ask.placement.destination)])
        return private_notes.moved_text(ask, self.labels, names)

    async def find_candidates(self, typed: TypedMessage) -> Sequence[Ask]:
        """Return the ask that the message replies to, or without a reply, those that looked open in the same place."""
        if typed.replied is not None:
            ask = await self._ask_of_reply(typed, typed.replied)
            return [ask] if ask else []
        place = typed.place

        def is_here(ask: Ask) -> bool:
            return (ask.placement.message or {}).get("thread") == place.thread

        return await self.asks.list_open_at(SURFACE, *place, typed.at, wanted=is_here)

    async def _ask_of_reply(self, typed: TypedMessage, replied: str) -> Ask | None:
        """The open ask whose message or reminder a person replied to, however many are open there, as they saw it."""
        if typed.shown is not None:
            return await self._wait_for_message_id(typed.shown.ask_id, replied)
        about = await self.asks.draft(about_key(replied))
        ask = await self.asks.get(about) if isinstance(about, str) else None
        return ask if ask and ask.open else None

    async def _react(self, typed: TypedMessage, mark: str) -> None:
        await self.helpers.react(typed.id, mark)

    async def _send_direct(self, typed: TypedMessage, text: str) -> None:
        await self._send(Place(typed.actor.person.user_id), text)

    async def _send_in_place(self, typed: TypedMessage, text: str) -> None:
        await self._send(typed.place, text, typed.id)

    async def _send(self, place: Place, text: str, reply_to: str | None = None) -> None:
        note = await self.helpers.send(place, compose([text], []), reply_to)
        await self.asks.save_draft(about_key(note), value=False)
