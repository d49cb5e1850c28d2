"""Where words for an ask may stand on Slack, and what was typed there after a moment.

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

_PAGE: Final = 200
_PAGES: Final = 10
"""Pages that are read at one place, at the most."""


class Conversation(NamedTuple):
    """A thread, or (without ``thread``) what stands in a channel itself."""

    channel: str
    thread: str | None = None

    @property
    def is_direct(self) -> bool:
        """Whether it is a direct conversation: https://docs.slack.dev/apis/web-api/using-the-conversations-api"""
        return self.channel.startswith("D")


def create_missed_message_reader(
    asks: Asks, calls: SlackApi, listener: TypedMessageListener
) -> MissedMessageReader[Conversation]:
    """Reads what was typed while no event came."""

    async def read(place: Conversation, after: float) -> float | None:
        last: float | None = None
        for message in sorted(await _typed(calls, place, after), key=lambda each: str(each["ts"])):
            said = parse_typed_message(message, place.channel, is_direct=place.is_direct)
            if said is not None and said.at is not None and said.at > after:
                await listener.handle_message(said)
                last = said.at
        return last

    return MissedMessageReader("slack", asks, _places, read)


def _places(ask: Ask) -> Sequence[Conversation]:
    ref = MessageRef.from_stored(ask.message)
    if ref is None or ref.ts is None:
        return ()
    thread = Conversation(ref.channel, ref.thread or ref.ts)
    return (thread, Conversation(ref.channel)) if ref.thread is None else (thread,)


async def _typed(calls: SlackApi, place: Conversation, after: float) -> list[Mapping[str, object]]:
    """The messages at a place; of very many, a thread's oldest and a channel's newest."""
    found: list[Mapping[str, object]] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        answer = await _page(calls, place, f"{after:.6f}", cursor)
        listed = answer.get("messages")
        found += [each for each in listed if "ts" in each] if isinstance(listed, list) else []
        following = answer.get("response_metadata")
        cursor = str(following.get("next_cursor") or "") if isinstance(following, dict) else ""
        if not cursor:
            break
    return found


async def _page(
    calls: SlackApi, place: Conversation, oldest: str, cursor: str | None
) -> Mapping[str, object]:
    client, (channel, thread) = calls.client, place
    if thread is None:
        return await calls.call(
            "conversations.history",
            lambda: client.conversations_history(
                channel=channel, oldest=oldest, limit=_PAGE, cursor=cursor
            ),
        )
    return await calls.call(
        "conversations.replies",
        lambda: client.conversations_replies(
            channel=channel, ts=thread, oldest=oldest, limit=_PAGE, cursor=cursor
        ),
    )
