"""Look up whether Slack's messages still exist, and whether the app can still ask in their channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from answerback.core.ask import Ask
from answerback.core.errors import DestinationGoneError, PlatformError
from answerback_slack.api_client import SlackApi
from answerback_slack.catch_up import Conversation
from answerback_slack.channel_history import as_objects
from answerback_slack.posting import MessageRef

ARCHIVED: Final = "was archived: unarchive it, or ask somewhere else"
LEFT: Final = "no longer has the app as a member: invite it with /invite, or ask somewhere else"
_PAGE_SIZE: Final = 200
_MAY_NOT_READ: Final = frozenset({"missing_scope", "not_in_channel"})


class SlackMessages:
    """See `answerback_chat.missed_changes.Messages`."""

    def __init__(self, calls: SlackApi) -> None:
        self._calls = calls

    def locate(self, ask: Ask) -> tuple[Conversation, str] | None:
        """See `answerback_chat.missed_changes.Messages.locate`."""
        ref = MessageRef.from_stored(ask.message)
        if ref is None or ref.ts is None:
            return None
        return Conversation(ref.channel, ref.thread), ref.ts

    async def require_open(self, place: Conversation) -> None:
        """See `answerback_chat.missed_changes.Messages.require_open`."""
        if place.is_direct:
            return
        client = self._calls.client
        try:
            answer = await self._calls.call(
                "conversations.info", lambda: client.conversations_info(channel=place.channel)
            )
        except PlatformError as error:
            if error.code in _MAY_NOT_READ:
                return
            raise
        [channel] = as_objects([answer.get("channel")])
        if channel.get("is_archived") is True:
            raise DestinationGoneError(f"the channel {ARCHIVED}", code="is_archived")
        if channel.get("is_member") is False:
            raise DestinationGoneError(f"the channel {LEFT}", code="not_in_channel")

    async def look_up(self, place: Conversation, messages: Sequence[str]) -> Mapping[str, bool]:
        """See `answerback_chat.missed_changes.Messages.look_up`."""
        try:
            page = await self._read_page(place, messages)
        except PlatformError as error:
            if error.code == "thread_not_found":
                return dict.fromkeys(messages, False)
            if error.code in _MAY_NOT_READ:
                return dict.fromkeys(messages, True)
            raise
        listed = as_objects(page.get("messages"))
        there = {str(each.get("ts")) for each in listed if each.get("subtype") != "tombstone"}
        covered = set(messages)
        if page.get("has_more") and listed:
            last = str(listed[-1].get("ts"))
            is_covered = last.__le__ if place.thread is None else last.__ge__
            covered = {each for each in messages if is_covered(each)}
        return {each: each in there for each in covered}

    async def _read_page(
        self, place: Conversation, messages: Sequence[str]
    ) -> Mapping[str, object]:
        """Read the page that begins with the first of the messages: of a channel, the newest comes first."""
        client, (channel, thread) = self._calls.client, place
        page: dict[str, Any] = {"channel": channel, "inclusive": True, "limit": _PAGE_SIZE}
        if thread is None:
            page |= {"latest": max(messages), "oldest": min(messages)}
            return await self._calls.call(
                "conversations.history", lambda: client.conversations_history(**page)
            )
        page |= {"ts": thread, "oldest": min(messages)}
        return await self._calls.call(
            "conversations.replies", lambda: client.conversations_replies(**page)
        )
