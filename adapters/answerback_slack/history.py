"""Reading what was said in a channel or a thread, page by page, to find messages of ours by their metadata."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from pydantic import JsonValue

from answerback.core.errors import UnavailableError
from answerback_slack.calls import Calls

_PAGE: Final = 200
_PAGES: Final = 250


class TooMuchSaidError(UnavailableError):
    """More was said there than is read to find a message."""


class History:
    """Reads messages, ours and others'."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def said(
        self, channel: str, thread: str | None, between: tuple[str, str | None]
    ) -> AsyncIterator[Mapping[str, object]]:
        """All messages between two moments, the moments themselves left out.

        Raises:
            PlatformError: not all of them could be read.
        """
        cursor: str | None = None
        for _ in range(_PAGES):
            answer = await self._read(channel, thread, between, cursor)
            for message in objects(answer.get("messages")):
                # Slack gives a thread's parent along with its replies, however old it is.
                if str(message.get("ts")) > between[0]:
                    yield message
            [following] = objects([answer.get("response_metadata")])
            cursor = str(following.get("next_cursor") or "")
            if not cursor:
                return
        raise TooMuchSaidError("Too much was said there to find out whether this was posted before")

    async def _read(
        self, channel: str, thread: str | None, between: tuple[str, str | None], cursor: str | None
    ) -> Mapping[str, object]:
        client, (oldest, latest) = self._calls.client, between
        page: dict[str, Any] = {
            "oldest": oldest,
            "latest": latest,
            "limit": _PAGE,
            "cursor": cursor,
            "include_all_metadata": True,
        }
        if thread is None:
            return await self._calls.do(
                "conversations.history",
                lambda: client.conversations_history(channel=channel, **page),
            )
        return await self._calls.do(
            "conversations.replies",
            lambda: client.conversations_replies(channel=channel, ts=thread, **page),
        )


def has(message: Mapping[str, object], event: str, payload: Mapping[str, JsonValue]) -> bool:
    """Whether a message has metadata of this event with, at least, this payload."""
    [metadata] = objects([message.get("metadata")])
    [kept] = objects([metadata.get("event_payload")])
    return metadata.get("event_type") == event and all(kept.get(k) == v for k, v in payload.items())


def objects(value: object) -> list[Mapping[str, object]]:
    """A list as objects: what is not one is an empty one."""
    listed = value if isinstance(value, list) else []
    return [item if isinstance(item, dict) else {} for item in listed]
