"""Look up whether Discord's messages still exist, and whether the app can still ask in their channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from answerback.core.ask import Ask
from answerback_chat.control_codec import objects_of, texts_of
from answerback_chat.missed_changes import Messages
from answerback_discord import limits
from answerback_discord.api_client import DiscordApi, query_after
from answerback_discord.catch_up import Conversation


class DiscordMessages(Messages[Conversation]):
    def __init__(self, calls: DiscordApi) -> None:
        self._calls = calls

    def locate(self, ask: Ask) -> tuple[Conversation, str] | None:
        match ask.message:
            case {"id": str(message), "channel": str(channel)}:
                return Conversation(channel), message
            case _:
                return None

    async def require_open(self, place: Conversation) -> None:
        await self._calls.get(f"/channels/{place.channel}")

    async def look_up(self, place: Conversation, messages: Sequence[str]) -> Mapping[str, bool]:
        first = min(map(int, messages))
        body = await self._calls.get(
            f"/channels/{place.channel}/messages", query_after(str(first - 1))
        )
        there = {int(each) for each in texts_of([each.get("id") for each in objects_of(body)])}
        is_last = len(there) < limits.MESSAGES_PER_PAGE
        covered = [each for each in messages if is_last or int(each) <= max(there)]
        return {each: int(each) in there for each in covered}
