"""Read the messages that people typed in Slack while no events arrived, in every place where one may answer an ask."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from answerback.core.ask import Ask
from answerback.ports.surface import Asks
from answerback_chat.catch_up import MissedMessageReader, call_patiently
from answerback_slack.api_client import SlackApi
from answerback_slack.channel_history import Conversation, read_page
from answerback_slack.posting import MessageRef
from answerback_slack.typed_messages import TypedMessage, TypedMessageListener, parse_typed_message


def create_missed_message_reader(
    asks: Asks, calls: SlackApi, listener: TypedMessageListener
) -> MissedMessageReader[Conversation]:
    async def read(place: Conversation, after: float) -> float | None:
        last: float | None = None
        newest_first: list[TypedMessage] = []
        cursor: str | None = None
        while cursor != "":
            read_next = partial(read_page, calls, place, oldest=f"{after:.6f}", cursor=cursor)
            page, cursor = await call_patiently(read_next)
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
    ref = MessageRef.from_stored(ask.placement.message)
    if ref is None or ref.ts is None:
        return ()
    thread = Conversation(ref.channel, ref.thread or ref.ts)
    return (thread, Conversation(ref.channel)) if ref.thread is None else (thread,)
