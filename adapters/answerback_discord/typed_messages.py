"""Handle typed messages: decide which of them are meant for an ask, and what happens to them.

Direct messages are, as well as replies to a live message or a reminder, and messages that mention the bot. Everything
else is people talking to each other, and is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from answerback.core.ask import Ask, Destination
from answerback.core.errors import PlatformError
from answerback.core.intents import ShownRevision
from answerback.ports.surface import Rejected
from answerback.presentation.attribution import fill
from answerback_chat.bot_identity import BotIdentity
from answerback_chat.bot_listener import BotMessageListener
from answerback_chat.control_codec import object_of
from answerback_chat.sent_files import SentFile
from answerback_discord import parse, posting, private_notes
from answerback_discord.api_client import DiscordApi
from answerback_discord.channels import ChannelDirectory, ChannelKind
from answerback_discord.components import Json
from answerback_discord.errors import ErrorCode, has_code
from answerback_discord.markdown_text import escape
from answerback_discord.parse import SURFACE, ReferencedMessage, TypedMessage
from answerback_discord.sent_files import readable


@dataclass(eq=False)
class TypedMessageListener(BotMessageListener[TypedMessage]):
    shows_once = True  # by the nonce
    taken_mark = "✅"
    refused_mark = "❌"
    _escape = staticmethod(escape)

    calls: DiscordApi
    channels: ChannelDirectory
    identity: BotIdentity

    def sent_files(self, typed: TypedMessage) -> Sequence[SentFile]:
        return readable(self.calls, typed.attachments)

    async def handle_message(self, body: Json) -> None:
        """Handle one message, if it is meant for us. Discord never resends a message, so failures are retried here."""
        bot_id = self.identity.bot_user or ""
        await self._take_if_addressed(parse.parse_typed_message(body, bot_id), bot_id)

    async def handle_edit(self, body: Json) -> None:
        bot_id = self.identity.bot_user or ""
        await self._take_if_addressed(parse.parse_edited_message(body, bot_id), bot_id)

    async def _take_if_addressed(self, typed: TypedMessage | None, bot_id: str) -> None:
        if typed is not None and _is_addressed(typed, bot_id):
            await self.take(typed)

    async def mark_taken(self, typed: TypedMessage) -> None:
        await super().mark_taken(typed)
        if typed.is_edit:
            await self._react(typed, self.refused_mark, method="DELETE")

    def refusal(self, rejected: Rejected, typed: TypedMessage) -> str:
        return private_notes.rejection_text(rejected, self.labels, typed.actor.person.user_id)

    def moved_note(self, ask: Ask) -> str:
        return private_notes.moved_text(ask, self.labels)

    async def find_candidates(self, typed: TypedMessage) -> Sequence[Ask]:
        """Return the ask that the message replies to, or without a reply, those that looked open in the same place."""
        if typed.replied is not None:
            ask = await self._ask_of_reply(typed.replied)
            return [ask] if ask else []
        if typed.guild_id is None:
            return await self.asks.list_open_at(SURFACE, typed.chat, None, typed.at)
        place = await self.channels.get_place(typed.chat)
        if place.kind is ChannelKind.THREAD:
            parent = place.parent or ""
            return await self.asks.list_open_at(SURFACE, parent, typed.chat, typed.at)

        def is_here(ask: Ask) -> bool:
            return (ask.placement.message or {}).get("channel") == typed.chat

        return await self.asks.list_open_at(SURFACE, typed.chat, None, typed.at, wanted=is_here)

    async def read_shown(self, ask: Ask) -> ShownRevision | None:
        """Fetch the message: the response to a click may have updated it."""
        live = ask.placement.message or {}
        path = f"/channels/{live.get('channel')}/messages/{live.get('id')}"
        message = object_of(await self.calls.get(path))
        control, since = parse.live_message_control(message), parse.changed_at(message)
        if control is None or control.ask_id != ask.id or since is None:
            return None
        return ShownRevision(control.revision, since)

    async def _ask_of_reply(self, replied: ReferencedMessage) -> Ask | None:
        """The open ask whose message a person replied to, however many asks are open there, as they saw it."""
        ask_id = replied.ask_id
        if not replied.shown:
            path = f"/channels/{replied.channel_id}/messages/{replied.id}"
            try:
                message = object_of(await self.calls.get(path))
            except PlatformError as error:
                if has_code(error, ErrorCode.UNKNOWN_MESSAGE):
                    return await self._ask_of_deleted(replied)
                if has_code(error, ErrorCode.UNKNOWN_CHANNEL):
                    return None
                raise
            control = parse.live_message_control(message)
            ask_id = control.ask_id if control else None
        return await self._wait_for_message_id(ask_id, replied.id) if ask_id else None

    async def _ask_of_deleted(self, replied: ReferencedMessage) -> Ask | None:
        """The open ask that a deleted message showed: reminders below it still link to it."""
        place = await self.channels.get_place(replied.channel_id)
        is_thread = place.kind is ChannelKind.THREAD
        channel = (place.parent or "") if is_thread else place.id
        async for ask in self.asks.each_open(SURFACE, channel, place.id if is_thread else None):
            if replied.id in posting.earlier_ids(ask.placement.message):
                return ask
        return None

    async def _send_direct(self, typed: TypedMessage, text: str) -> None:
        to = Destination(surface=SURFACE, user=typed.actor.person.user_id)
        direct = await self.channels.resolve_destination(to)
        await self._send(direct.id, typed, self._about(typed, text))

    async def _send_in_place(self, typed: TypedMessage, text: str) -> None:
        await self._send(typed.chat, typed, text)

    def _about(self, typed: TypedMessage, text: str) -> str:
        """Return a note for a direct message, which must say what it is about: with one link."""
        if parse.linked_message(text) is not None:
            return text  # it is about a question, and says which one
        about = fill(self.labels.about_message, escape, link=_url_of(typed))
        return f"{about}\n{text}"

    async def _send(self, channel_id: str, typed: TypedMessage, content: str) -> None:
        body: Json = {
            "content": content,
            "allowed_mentions": {"parse": []},
            "nonce": _nonce(typed),
            "enforce_nonce": True,
        }
        if channel_id == typed.chat:
            body["message_reference"] = {"message_id": typed.id, "fail_if_not_exists": False}
        await self.calls.request("POST", f"/channels/{channel_id}/messages", body)

    async def _react(self, typed: TypedMessage, mark: str, method: str = "PUT") -> None:
        path = f"/channels/{typed.chat}/messages/{typed.id}/reactions/{quote(mark)}/@me"
        await self.calls.request(method, path)


def _nonce(typed: TypedMessage) -> str:
    """Return what tells the note about a message from others for a few minutes, in at most 25 characters.

    https://docs.discord.com/developers/resources/message#create-message
    """
    return typed.id if typed.edited_at is None else f"{typed.id}e{int(typed.edited_at) % 1_000}"


def _url_of(typed: TypedMessage) -> str:
    place = {"guild": typed.guild_id, "channel": typed.chat, "id": typed.id}
    return private_notes.message_url(place)


def _is_addressed(typed: TypedMessage, bot_id: str) -> bool:
    return typed.guild_id is None or typed.replied is not None or bot_id in typed.mentioned
