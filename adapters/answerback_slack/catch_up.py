"""Read the messages that people typed in Slack while no events arrived, in every place where one may answer an ask.

https://docs.slack.dev/reference/methods/conversations.replies and …/conversations.history
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from answerback.core.ask import Ask
from answerback.ports.surface import Asks
from answerback_chat.catch_up import MissedMessageReader
from answerback_slack.api_client import SlackApi
from answerback_slack.parse import parse_typed_message
from answerback_slack.posting import MessageRef
from answerback_slack.typed_messages import TypedMessageListener

_PAGE_SIZE: Final = 200
_MAX_PAGES: Final = 10
"""The most pages to read in one conversation."""


class Conversation(NamedTuple):
    """A thread, or (without ``thread``) the messages of a channel outside its threads."""

    channel: str
    thread: str | None = None

    @property
    def is_direct(self) -> bool:
        """Whether this is a direct conversation: https://docs.slack.dev/apis/web-api/using-the-conversations-api"""
        return self.channel.startswith("D")


def create_missed_message_reader(
    asks: Asks, calls: SlackApi, listener: TypedMessageListener
) -> MissedMessageReader[Conversation]:
    """Create the reader of the messages that were typed while no events arrived."""

    async def read(place: Conversation, after: float) -> float | None:
        last: float | None = None
        messages = await _messages_after(calls, place, after)
        for message in sorted(messages, key=lambda each: str(each["ts"])):
            typed = parse_typed_message(message, place.channel, is_direct=place.is_direct)
            if typed is not None and typed.at is not None and typed.at > after:
                await listener.handle_message(typed)
                last = typed.at
        return last

    return MissedMessageReader("slack", asks, _conversations, read)


def _conversations(ask: Ask) -> Sequence[Conversation]:
    ref = MessageRef.from_stored(ask.message)
    if ref is None or ref.ts is None:
        return ()
    thread = Conversation(ref.channel, ref.thread or ref.ts)
    return (thread, Conversation(ref.channel)) if ref.thread is None else (thread,)


async def _messages_after(
    calls: SlackApi, place: Conversation, after: float
) -> list[Mapping[str, object]]:
    """Read a conversation's messages. If there are too many, read a thread's oldest or a channel's newest."""
    messages: list[Mapping[str, object]] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        answer = await _read_page(calls, place, f"{after:.6f}", cursor)
        listed = answer.get("messages")
        messages += [each for each in listed if "ts" in each] if isinstance(listed, list) else []
        metadata = answer.get("response_metadata")
        cursor = str(metadata.get("next_cursor") or "") if isinstance(metadata, dict) else ""
        if not cursor:
            break
    return messages


async def _read_page(
    calls: SlackApi, place: Conversation, oldest: str, cursor: str | None
) -> Mapping[str, object]:
    client, (channel, thread) = calls.client, place
    if thread is None:
        return await calls.call(
            "conversations.history",
            lambda: client.conversations_history(
                channel=channel, oldest=oldest, limit=_PAGE_SIZE, cursor=cursor
            ),
        )
    return await calls.call(
        "conversations.replies",
        lambda: client.conversations_replies(
            channel=channel, ts=thread, oldest=oldest, limit=_PAGE_SIZE, cursor=cursor
        ),
    )
