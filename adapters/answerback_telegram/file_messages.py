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
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.control_codec import object_of
from answerback_chat.pending_deliveries import PendingDeliveries
from answerback_chat.retry import retry
from answerback_chat.typed_messages import MAX_REMEMBERED
from answerback_telegram.parse import TypedMessage, message_id

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

    pending: PendingDeliveries
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
        key = typed.delivery
        if typed.is_edit:
            if await self._amend(key, update, typed):
                return
            key = f"{key}:{typed.at}"
        part: dict[str, JsonValue] = {typed.id: {**update}}
        kept = await self.pending.change(key, lambda draft: object_of(draft) | part)
        if not typed.is_edit and typed.id not in self._albums.get(key, {typed.id: typed}):
            # The album was taken for whole while this part was stored.
            await self.pending.change(key, lambda draft: _without(draft, typed.id))
            self.too_late(typed)
            return
        wait = self.quiet if typed.album and not typed.is_edit else 0.0
        self._handle_later(key, kept, wait)

    def resume(self, key: str, parts: JsonValue) -> None:
        """Handle what was not handled when a process stopped."""
        self._handle_later(key, parts, self.quiet)

    async def _amend(self, key: str, update: Mapping[str, Any], typed: TypedMessage) -> bool:
        """Store the edit of a message that is not read yet; return whether it is one."""
        amended = False

        def amend(draft: JsonValue) -> JsonValue:
            nonlocal amended
            parts = object_of(draft)
            amended = typed.id in parts and key not in self._handling
            return parts | {typed.id: {"message": update["edited_message"]}} if amended else draft

        await self.pending.change(key, amend)
        return amended

    def _handle_later(self, key: str, parts: JsonValue, wait: float) -> None:
        handling = self._handle_if_whole(key, len(object_of(parts)), wait)
        self.background.spawn("message with files", handling)

    async def _handle_if_whole(self, key: str, count: int, wait: float) -> None:
        """Handle a message, unless a further part of it comes meanwhile, after which it is looked at again."""
        await asyncio.sleep(wait)
        updates = object_of(await retry(lambda: self.pending.read(key), tries=_TRIES))
        if len(updates) != count or key in self._handling:
            return
        self._handling.add(key)
        try:
            await self.pending.decide(key, lambda: self._handle(updates))
        except LeaseLostError:
            pass  # the process that receives updates now handles it
        finally:
            self._handling.discard(key)

    async def _handle(self, updates: Mapping[str, JsonValue]) -> None:
        parsed = (self.parse(object_of(each)) for each in updates.values())
        parts = sorted(filter(None, parsed), key=lambda each: message_id(each.id) or 0)
        if parts:
            await retry(lambda: self.handle(self._whole(parts)), tries=_TRIES)

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


def _without(draft: JsonValue, part: str) -> JsonValue:
    return {id: each for id, each in object_of(draft).items() if id != part} or None


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
