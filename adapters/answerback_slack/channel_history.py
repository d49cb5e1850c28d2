"""Read the messages of a channel or a thread, page by page, to find our own by their metadata.

https://docs.slack.dev/reference/methods/conversations.replies and …/conversations.history
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from answerback_chat.control_codec import object_of, objects_of, text_of
from answerback_chat.live_message import HistoryTooLongError
from answerback_slack.api_client import SlackApi

PAGE_SIZE: Final = 200
_MAX_PAGES: Final = 250


class Conversation(NamedTuple):
    """A thread, or (without ``thread``) the messages of a channel outside its threads."""

    channel: str
    thread: str | None = None

    @property
    def is_direct(self) -> bool:
        """True if this is a direct conversation: https://docs.slack.dev/apis/web-api/using-the-conversations-api"""
        return self.channel.startswith("D")


class HistoryPage(NamedTuple):
    """A page of a conversation: of a thread the oldest messages come first, of a channel the newest."""

    messages: list[dict[str, JsonValue]]
    following: str
    """The cursor of the next page; empty if this is the last one."""


async def read_page(calls: SlackApi, place: Conversation, **span: Any) -> HistoryPage:
    """Read the page of a conversation that Slack's parameters, such as ``oldest`` and ``cursor``, describe."""
    client, (channel, thread) = calls.client, place
    page: dict[str, Any] = {"limit": PAGE_SIZE, "channel": channel, **span}
    if thread is None:
        answer = await calls.call(client.conversations_history, **page)
    else:
        answer = await calls.call(client.conversations_replies, ts=thread, **page)
    following = text_of(object_of(answer.get("response_metadata")).get("next_cursor"))
    return HistoryPage(objects_of(answer.get("messages")), following)


async def messages_between(
    calls: SlackApi, place: Conversation, oldest: str, latest: str | None = None
) -> AsyncIterator[Mapping[str, object]]:
    """Yield all messages between two times, exclusive of both.

    Raises:
        PlatformError: not all messages could be read.
    """
    span = {"oldest": oldest, "latest": latest, "include_all_metadata": True}
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await read_page(calls, place, cursor=cursor, **span)
        for message in page.messages:
            # Slack returns a thread's parent along with its replies, however old it is.
            if str(message.get("ts")) > oldest:
                yield message
        if not (cursor := page.following):
            return
    raise HistoryTooLongError("There are too many messages to check whether this was posted before")


def event_payload(message: Mapping[str, object], event: str) -> Mapping[str, object]:
    """The payload of a message's metadata if its event type is this one; else an empty object."""
    metadata = object_of(message.get("metadata"))
    return object_of(metadata.get("event_payload")) if metadata.get("event_type") == event else {}
