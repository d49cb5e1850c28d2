"""Handle Telegram's events about chats, so that no ask waits where nobody can answer: removed, blocked, migrated.

A group that becomes a supergroup goes on existing: its messages can be read, edited and pressed, but nothing can be
posted there. https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp (check_chat_access)
https://core.telegram.org/bots/api#chatmemberupdated
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import ANYONE
from answerback.ports.live_messages import LiveMessages
from answerback_chat.retry import handle_event
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.group_membership import OUT
from answerback_telegram.parse import SURFACE
from answerback_telegram.posting import PUBLIC

logger = logging.getLogger(__name__)

_REMOVED: Final = "the bot was removed from the group, or the person has blocked it."


@dataclass(frozen=True, eq=False)
class EventHandler:
    """Handles updates that are neither clicks nor messages."""

    asks: LiveMessages
    calls: TelegramApi

    async def handle_event(self, update: Mapping[str, JsonValue]) -> None:
        await handle_event("Telegram", lambda: self._handle(update))

    async def _handle(self, update: Mapping[str, JsonValue]) -> None:
        match update:
            case {
                "my_chat_member": {
                    "chat": {"id": int(chat)},
                    "new_chat_member": {"status": str(status)},
                }
            }:
                await self._membership_changed(str(chat), status)
            case {"message": {"chat": {"id": int(old)}, "migrate_to_chat_id": int(new)}}:
                await self._migrate(str(old), str(new))
            case {"message": {"chat": {"id": int(new)}, "migrate_from_chat_id": int(old)}}:
                await self._migrate(str(old), str(new))
            case _:
                pass

    async def migrate(self, old: str, new: str) -> None:
        """Move the open asks of a group that has become a supergroup, of which Telegram has told by an error."""
        await handle_event("Telegram", lambda: self._migrate(old, new))

    async def _migrate(self, old: str, new: str) -> None:
        self.calls.migrated[old] = new
        async for ask in self.asks.each_open(SURFACE, old):
            extra = {"action": "group_migrated", "ask_id": ask.id}
            logger.info("A group has become a supergroup with another id", extra=extra)
            await self.asks.follow_group(ask.id, old, new)

    async def fail_open_to_anyone(self, group: str) -> None:
        """Fail what anyone may answer in a group that has become public since it was asked."""
        async for ask in self.asks.each_open(SURFACE, group):
            if ANYONE in ask.participants:
                await self.asks.fail_unreachable(ask, PUBLIC)

    async def _membership_changed(self, chat: str, status: str) -> None:
        if status in OUT:
            async for ask in self.asks.each_open(SURFACE, chat):
                await self.asks.fail_unreachable(ask, _REMOVED)
            return
        await self.asks.show_reopened(SURFACE, [chat])  # now the bot may write there
