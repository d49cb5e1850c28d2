"""Read the messages that people typed in Slack while no events arrived, in every place where one may answer an ask.

https://docs.slack.dev/reference/methods/conversations.replies and …/conversations.history
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from answerback.core.ask import Ask
from answerback.ports.surface import Asks
from answerback_chat.catch_up import MissedMessageReader, call_patiently
from answerback_slack.api_client import SlackApi
from answerback_slack.posting import MessageRef
from answerback_slack.typed_messages import TypedMessage, TypedMessageListener, parse_typed_message

_PAGE_SIZE: Final = 200


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
        newest_first: list[TypedMessage] = []
        async for page in _pages(calls, place, after):
            typed = [
                parse_typed_message(each, place.channel, is_direct=place.is_direct) for each in page
            ]
            found = [each for each in typed if each is not None and (each.at or 0.0) > after]
            last = max((each.at for each in found if each.at is not None), default=last)
            if place.thread is None:  # the newest page comes first
                newest_first += filter(listener.is_addressed, found)
            else:
                await handle(found)
        await handle(newest_first)
        return last

    async def handle(messages: list[TypedMessage]) -> None:
        for message in sorted(messages, key=lambda each: each.where.ts):
            await call_patiently(partial(listener.handle_message, message))

    return MissedMessageReader("slack", asks, _conversations, read)


def _conversations(ask: Ask) -> Sequence[Conversation]:
    ref = MessageRef.from_stored(ask.message)
    if ref is None or ref.ts is None:
        return ()
    thread = Conversation(ref.channel, ref.thread or ref.ts)
    return (thread, Conversation(ref.channel)) if ref.thread is None else (thread,)


async def _pages(
    calls: SlackApi, place: Conversation, after: float
) -> AsyncIterator[Sequence[Mapping[str, object]]]:
    """Yield the pages of a conversation: of a thread the oldest first, of a channel the newest first."""
    cursor: str | None = None
    while True:
        answer = await call_patiently(partial(_read_page, calls, place, f"{after:.6f}", cursor))
        listed = answer.get("messages")
        yield (
            [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
        )
        metadata = answer.get("response_metadata")
        cursor = str(metadata.get("next_cursor") or "") if isinstance(metadata, dict) else ""
        if not cursor:
            return


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
