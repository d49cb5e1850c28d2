"""Read the messages of a channel or a thread, page by page, to find our own by their metadata."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from answerback_chat.live_message import HistoryTooLongError
from answerback_slack.api_client import SlackApi

_PAGE_SIZE: Final = 200
_MAX_PAGES: Final = 250


class ChannelHistory:
    """The messages in Slack's channels and threads, ours and others'."""

    def __init__(self, calls: SlackApi) -> None:
        self._calls = calls

    async def messages_between(
        self, channel: str, thread: str | None, between: tuple[str, str | None]
    ) -> AsyncIterator[Mapping[str, object]]:
        """Yield all messages between two times, exclusive of both.

        Raises:
            PlatformError: not all messages could be read.
        """
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            answer = await self._read(channel, thread, between, cursor)
            for message in as_objects(answer.get("messages")):
                # Slack returns a thread's parent along with its replies, however old it is.
                if str(message.get("ts")) > between[0]:
                    yield message
            [metadata] = as_objects([answer.get("response_metadata")])
            cursor = str(metadata.get("next_cursor") or "")
            if not cursor:
                return
        raise HistoryTooLongError(
            "There are too many messages to check whether this was posted before"
        )

    async def _read(
        self, channel: str, thread: str | None, between: tuple[str, str | None], cursor: str | None
    ) -> Mapping[str, object]:
        client, (oldest, latest) = self._calls.client, between
        page: dict[str, Any] = {
            "oldest": oldest,
            "latest": latest,
            "limit": _PAGE_SIZE,
            "cursor": cursor,
            "include_all_metadata": True,
        }
        if thread is None:
            return await self._calls.call(
                "conversations.history",
                lambda: client.conversations_history(channel=channel, **page),
            )
        return await self._calls.call(
            "conversations.replies",
            lambda: client.conversations_replies(channel=channel, ts=thread, **page),
        )


def event_payload(message: Mapping[str, object], event: str) -> Mapping[str, object]:
    """The payload of a message's metadata if its event type is this one; else an empty object."""
    [metadata] = as_objects([message.get("metadata")])
    [payload] = as_objects([metadata.get("event_payload")])
    return payload if metadata.get("event_type") == event else {}


def as_objects(value: object) -> list[Mapping[str, object]]:
    """A JSON value as a list of objects: any item that is not an object becomes an empty one."""
    listed = value if isinstance(value, list) else []
    return [item if isinstance(item, dict) else {} for item in listed]
