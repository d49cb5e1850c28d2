"""Find out whether messages and their chats are still there. Telegram tells nobody what was deleted.

The only question that it answers about a message is an edit: if nothing would change, it says so, and if the message is
gone, it says that. So every message is shown again, and showing it finds out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerback.core.ask import Ask
from answerback.core.errors import DestinationGoneError
from answerback_chat.bot_identity import BotIdentity
from answerback_chat.missed_changes import Messages
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.errors import GroupMigratedError
from answerback_telegram.group_membership import OUT
from answerback_telegram.keyboards import Json


class TelegramMessages(Messages[str]):
    def __init__(self, calls: TelegramApi, identity: BotIdentity) -> None:
        self._calls = calls
        self._identity = identity

    def locate(self, ask: Ask) -> tuple[str, str] | None:
        match ask.placement.message:
            case {"id": str(message), "channel": str(channel)}:
                return channel, message
            case _:
                return None

    async def require_open(self, place: str) -> None:
        try:
            about = await self._calls.call_object("getChat", {"chat_id": place})
            if place.startswith("-"):
                params: Json = {"chat_id": place, "user_id": int(self._identity.bot_user or 0)}
                member = await self._calls.call_object("getChatMember", params)
                if member.get("status") in OUT:
                    raise DestinationGoneError(
                        "the bot was removed from the group", code="was kicked"
                    )
            if (
                about.get("type") == "group"
            ):  # whose members only tell that it has become a supergroup
                await self._calls.call("getChatMemberCount", {"chat_id": place})
        except GroupMigratedError:
            return  # its asks are moved now

    async def look_up(self, place: str, messages: Sequence[str]) -> Mapping[str, bool]:
        return dict.fromkeys(messages, False)
