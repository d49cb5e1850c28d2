"""Messages with files: acknowledged as soon as they are stored, so that no click waits for a download.

Each photo or file of an album arrives as a message of its own, and only one of them has the caption. Telegram does not
say which is the last, and with a webhook sends the next only after the one before is acknowledged: an album is whole
once no further part has come for a moment. What was not handled when a process died is handled by the next one.
https://core.telegram.org/bots/api#message (media_group_id)
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import JsonValue

from answerback.core.errors import LeaseLostError
from answerback.ports.surface import Asks
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.control_codec import object_of
from answerback_chat.retry import retry
from answerback_chat.typed_messages import MAX_REMEMBERED
from answerback_telegram.parse import TypedMessage, message_id

STORED: Final = "telegram:file messages"
"""The key of the draft with what is not handled yet: the updates, by what they count as and by their messages."""
_TRIES: Final = 8
"""Times that a message is tried to be handled: Telegram does not send it again."""


@dataclass(eq=False)
class FileMessages:
    """The messages with files that are not handled yet.

    Args:
        parse: reads an update.
        handle: handles a message, or an album as the one message that it is.
        too_late: tells the author of a part of an album that it arrived after the rest was handled.
        quiet: the seconds without a further part after which an album is whole.
    """

    asks: Asks
    background: BackgroundTasks
    parse: Callable[[Mapping[str, Any]], TypedMessage | None]
    handle: Callable[[TypedMessage], Awaitable[None]]
    too_late: Callable[[TypedMessage], None]
    quiet: float

    def __post_init__(self) -> None:
        self._albums: dict[str, dict[str, TypedMessage]] = {}
        """The parts of the albums that were handled last, for when a caption is edited."""
        self._handling: set[str] = set()

    async def add(self, update: Mapping[str, Any], typed: TypedMessage) -> None:
        """Store a message, which is handled once it is whole.

        Raises:
            StoreError: it is not stored, and has to come again.
        """
        album = self._albums.get(typed.delivery)
        if album is not None and not typed.is_edit:
            if typed.id not in album:
                self.too_late(typed)
            return
        key, count = typed.delivery, 0

        def with_part(draft: JsonValue) -> JsonValue:
            nonlocal key, count
            waiting = object_of(draft)
            parts = object_of(waiting.get(key))
            part = dict(update)
            if typed.is_edit and typed.id in parts and key not in self._handling:
                part = {"message": update["edited_message"]}  # before it was read
            elif typed.is_edit:
                key = f"{typed.delivery}:{typed.at}"
                parts = {}
            parts |= {typed.id: part}
            count = len(parts)
            return waiting | {key: parts}

        await self.asks.change_draft(STORED, with_part)
        if not typed.is_edit and typed.id not in self._albums.get(key, {typed.id: typed}):
            # The album was taken for whole while this part was stored.
            await self.asks.change_draft(STORED, lambda draft: _without_part(draft, key, typed.id))
            self.too_late(typed)
            return
        wait = self.quiet if typed.album and not typed.is_edit else 0.0
        self.background.spawn("message with files", self._handle_if_whole(key, count, wait))

    async def resume(self) -> None:
        """Handle what was not handled when a process stopped."""
        for key, parts in object_of(await self.asks.draft(STORED)).items():
            handling = self._handle_if_whole(key, len(object_of(parts)), self.quiet)
            self.background.spawn("message with files", handling)

    async def _handle_if_whole(self, key: str, count: int, wait: float) -> None:
        """Handle a message, unless a further part of it comes meanwhile, after which it is looked at again."""
        await asyncio.sleep(wait)
        updates = object_of(object_of(await self.asks.draft(STORED)).get(key))
        if len(updates) != count or key in self._handling:
            return
        self._handling.add(key)
        try:
            parsed = (self.parse(object_of(each)) for each in updates.values())
            parts = sorted(filter(None, parsed), key=lambda each: message_id(each.id) or 0)
            if parts:
                await retry(lambda: self.handle(self._whole(parts)), tries=_TRIES)
            await retry(lambda: self.asks.change_draft(STORED, lambda draft: _without(draft, key)))
        except LeaseLostError:
            pass  # the process that receives updates now handles it
        finally:
            self._handling.discard(key)

    def _whole(self, parts: Sequence[TypedMessage]) -> TypedMessage:
        """Return a message, or an album as one; an edit with the parts of its album that are known."""
        first = parts[0]
        if not first.album:
            return first
        while len(self._albums) >= MAX_REMEMBERED:
            del self._albums[next(iter(self._albums))]
        album = self._albums.setdefault(first.delivery, {})
        album |= {each.id: each for each in parts}
        whole = _together([*album.values()])
        return whole._replace(at=first.at) if whole.is_edit else whole


def _without(draft: JsonValue, key: str) -> JsonValue:
    return {name: parts for name, parts in object_of(draft).items() if name != key} or None


def _without_part(draft: JsonValue, key: str, part: str) -> JsonValue:
    waiting = object_of(draft)
    parts = {id: each for id, each in object_of(waiting.get(key)).items() if id != part}
    return waiting | {key: parts} if parts else _without(draft, key)


def _together(parts: Sequence[TypedMessage]) -> TypedMessage:
    said = next((each for each in parts if each.text), parts[0])
    return said._replace(
        id=parts[0].id,
        text="\n".join(each.text for each in parts if each.text),
        called=any(each.called for each in parts),
        is_edit=any(each.is_edit for each in parts),
        has_files=True,
        attachments=tuple(file for each in parts for file in each.attachments),
    )
