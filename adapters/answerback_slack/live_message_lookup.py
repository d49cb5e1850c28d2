"""Look up whether Slack's messages still exist, and whether the app can still ask in their channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.errors import DestinationGoneError, PlatformError
from answerback_chat.control_codec import object_of
from answerback_chat.missed_changes import Messages
from answerback_slack import errors
from answerback_slack.api_client import SlackApi
from answerback_slack.channel_history import Conversation, read_page
from answerback_slack.posting import MessageRef

ARCHIVED: Final = "was archived: unarchive it, or ask somewhere else"
LEFT: Final = "no longer has the app as a member: invite it with /invite, or ask somewhere else"
_MAY_NOT_READ: Final = frozenset({"missing_scope", "not_in_channel"})


class SlackMessages(Messages[Conversation]):
    def __init__(self, calls: SlackApi) -> None:
        self._calls = calls

    def locate(self, ask: Ask) -> tuple[Conversation, str] | None:
        ref = MessageRef.from_stored(ask.placement.message)
        if ref is None or ref.ts is None:
            return None
        return Conversation(ref.channel, ref.thread), ref.ts

    async def require_open(self, place: Conversation) -> None:
        if place.is_direct:
            return
        try:
            answer = await self._calls.call(
                self._calls.client.conversations_info, channel=place.channel
            )
        except PlatformError as error:
            if error.code in _MAY_NOT_READ:
                return
            raise
        channel = object_of(answer.get("channel"))
        if channel.get("is_archived") is True:
            raise DestinationGoneError(f"the channel {ARCHIVED}", code="is_archived")
        if channel.get("is_member") is False:
            raise DestinationGoneError(f"the channel {LEFT}", code="not_in_channel")

    async def look_up(self, place: Conversation, messages: Sequence[str]) -> Mapping[str, bool]:
        # A page begins with the oldest message of a thread, and with the newest of a channel.
        span = {"oldest": min(messages), "inclusive": True}
        span |= {"latest": max(messages)} if place.thread is None else {}
        try:
            listed, following = await read_page(self._calls, place, **span)
        except PlatformError as error:
            if error.code == errors.THREAD_NOT_FOUND:
                return dict.fromkeys(messages, False)
            if error.code in _MAY_NOT_READ:
                return dict.fromkeys(messages, True)
            raise
        there = {str(each.get("ts")) for each in listed if each.get("subtype") != "tombstone"}
        covered = set(messages)
        if following and listed:
            last = str(listed[-1].get("ts"))
            is_covered = last.__le__ if place.thread is None else last.__ge__
            covered = {each for each in messages if is_covered(each)}
        return {each: each in there for each in covered}
