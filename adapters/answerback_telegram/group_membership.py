"""Look up whether a person administers a group now: responders can be the administrators of a group."""

from __future__ import annotations

import asyncio
from typing import Final

from answerback.core.ask import Ask
from answerback.core.errors import (
    DestinationGoneError,
    PayloadRejectedError,
    PlatformUnavailableError,
)
from answerback_chat.chat_surface import GroupMembership
from answerback_chat.control_codec import object_of, texts_of
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.errors import GroupMigratedError
from answerback_telegram.parse import is_id

ADMINISTRATORS: Final = "@admins"
"""The group that stands for the administrators of the chat where an ask is shown."""
OUT: Final = frozenset({"left", "kicked"})
"""The statuses of those who are not in a group."""
_ADMINISTERS: Final = frozenset({"creator", "administrator"})


class AdministratorMembership(GroupMembership):
    """Looks groups up, each named by its chat's id. An action waits up to ``timeout`` seconds for that."""

    def __init__(self, calls: TelegramApi, timeout: float) -> None:
        self._calls, self._timeout = calls, timeout

    async def find_person(self, user_id: str, ask: Ask) -> str | None:
        if not is_id(user_id):
            return None
        chat = (ask.placement.message or {}).get("channel") or ask.placement.destination.channel
        is_direct = ask.placement.destination.user is not None or chat is None
        try:
            async with asyncio.timeout(self._timeout):
                if is_direct:
                    found = await self._calls.call_object("getChat", {"chat_id": user_id})
                    is_there = found.get("type") == "private"
                else:
                    member = await self._calls.call_object(
                        "getChatMember", {"chat_id": chat, "user_id": int(user_id)}
                    )
                    found = object_of(member.get("user"))
                    is_there = member.get("status") not in OUT and not found.get("is_bot")
        except TimeoutError as late:
            message = f"Telegram did not say in time who {user_id} is."
            raise PlatformUnavailableError(message) from late
        except (DestinationGoneError, PayloadRejectedError):
            return None
        names = texts_of([found.get("first_name"), found.get("last_name")])
        return (" ".join(names) or user_id) if is_there else None

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        # The directory of people may name an account that is not an id.
        chats = [group for group in groups if is_id(group)] if is_id(user_id) else []
        try:
            async with asyncio.timeout(self._timeout):
                found = await asyncio.gather(*(self._administers(each, user_id) for each in chats))
        except TimeoutError as late:
            message = f"Telegram did not say in time what {user_id} administers."
            raise PlatformUnavailableError(message) from late
        return frozenset(chat for chat, is_member in zip(chats, found, strict=True) if is_member)

    async def stop(self) -> None:
        pass  # every lookup ends with the action that it is for

    async def _administers(self, chat: str, user_id: str) -> bool:
        try:
            member = await self._calls.call_object(
                "getChatMember", {"chat_id": chat, "user_id": int(user_id)}
            )
        except GroupMigratedError as error:
            return await self._administers(error.new, user_id)
        except (DestinationGoneError, PayloadRejectedError):
            return False
        return member.get("status") in _ADMINISTERS
