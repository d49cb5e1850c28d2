"""Look up whether a person administers a group now: responders can be the administrators of a group."""

from __future__ import annotations

import asyncio
from typing import Final

from answerback.core.errors import (
    DestinationGoneError,
    PayloadRejectedError,
    PlatformUnavailableError,
)
from answerback_chat.chat_surface import GroupMembership
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
