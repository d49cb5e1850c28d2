"""Look up whether Discord's messages still exist, and whether the app can still ask in their channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerback.core.ask import Ask
from answerback_chat.control_codec import texts_of
from answerback_chat.missed_changes import Messages
from answerback_discord import limits
from answerback_discord.api_client import DiscordApi
from answerback_discord.catch_up import Conversation


class DiscordMessages(Messages[Conversation]):
    def __init__(self, calls: DiscordApi) -> None:
        self._calls = calls

    def locate(self, ask: Ask) -> tuple[Conversation, str] | None:
        match ask.placement.message:
            case {"id": str(message), "channel": str(channel)}:
                return Conversation(channel), message
            case _:
                return None

    async def require_open(self, place: Conversation) -> None:
        await self._calls.get(f"/channels/{place.channel}")

    async def look_up(self, place: Conversation, messages: Sequence[str]) -> Mapping[str, bool]:
        first = min(map(int, messages))
        page = await self._calls.messages_after(place.channel, str(first - 1))
        there = {int(each) for each in texts_of([each.get("id") for each in page])}
        is_last = len(there) < limits.MESSAGES_PER_PAGE
        covered = [each for each in messages if is_last or int(each) <= max(there)]
        return {each: int(each) in there for each in covered}
