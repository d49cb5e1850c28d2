"""An ask's pictures on Telegram: silent messages above its own, as a photo, an album or a document.

https://core.telegram.org/bots/api#sending-files. They are sent once, before the ask's first message, after that was
noted in its reference. They never hold it up: what was not sent in time, or perhaps was not sent, is named in words.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.errors import (
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
)
from answerback.core.files import AttachedFile, numbered_pictures
from answerback.ports.files import FileReader, read_whole
from answerback_telegram import limits
from answerback_telegram.api_client import TelegramApi, Upload
from answerback_telegram.errors import GroupMigratedError
from answerback_telegram.helper_messages import address, place_params
from answerback_telegram.html_text import code, is_live, plain, shorten_line
from answerback_telegram.keyboards import Json
from answerback_telegram.parse import Place, chat_id, id_of_sent
from answerback_telegram.picture_kinds import DOCUMENT, PHOTO, kind_of

logger = logging.getLogger(__name__)

STORED: Final = "files"
"""The key, in the reference of an ask's message, of the full ids of the messages with its files, by the files' ids.

It is set before the first of them is sent."""
_REMEMBERED: Final = 1_000
ALBUM: Final = "sendMediaGroup"
_METHODS: Final = {PHOTO: "sendPhoto", DOCUMENT: "sendDocument"}
_ENDINGS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
}

Sent = dict[str, JsonValue]
"""The full ids of messages, by the ids of the files that they show."""


class Batch(NamedTuple):
    """Pictures that one call sends."""

    kind: str
    files: tuple[AttachedFile, ...]


class Pictures:
    """Sends pictures, and deletes them.

    Args:
        files: where their bytes are read.
        within: the seconds for which an ask's message waits for them.
    """

    def __init__(self, calls: TelegramApi, files: FileReader, within: float) -> None:
        self._calls = calls
        self._within = within
        self._files = files
        self._limited: dict[tuple[str, str], None] = {}
        """Asks, each in a chat, whose pictures were refused because of a limit."""

    def can_send(self, ask: Ask, chat: str) -> bool:
        """Return True if there is anything to send, and room for it and the ask's message in the chat's limit."""
        count = sum(kind_of(each) is not None for each in ask.request.files)
        return count > 0 and self._calls.has_room(chat, count + 1)

    async def send(self, ask: Ask, place: Place) -> Sent:
        """Send an ask's pictures; return what was certainly sent.

        Raises:
            RateLimitedError: nothing was sent, and the chat takes nothing for a while, so neither the ask's message.
                That happens once for each ask.
            GroupMigratedError: the group has become a supergroup, so they are to be sent there.
        """
        sent: Sent = {}
        try:
            async with asyncio.timeout(self._within):
                for batch in batches_of(ask.request.files):
                    sent |= await self._send(ask, place, batch)
        except TimeoutError:
            _log_failure(ask, PlatformUnavailableError("it took too long", code="timeout"))
        except GroupMigratedError:
            raise
        except PlatformError as error:
            if (
                isinstance(error, RateLimitedError)
                and not sent
                and self._is_first_limit(ask, place)
            ):
                raise
            _log_failure(ask, error)
        return sent

    def _is_first_limit(self, ask: Ask, place: Place) -> bool:
        key = ask.id, place.chat
        if key in self._limited:
            return False
        while len(self._limited) >= _REMEMBERED:
            del self._limited[next(iter(self._limited))]
        self._limited[key] = None
        return True

    async def _send(self, ask: Ask, place: Place, batch: Batch) -> Sent:
        uploads = [
            Upload(f"file{n}", f"{_stem(each)}.{_ENDINGS[each.media_type]}", each.media_type, data)
            for n, each in enumerate(batch.files)
            for data in [await read_whole(self._files, each.id)]
        ]
        caption = caption_of(batch.files, numbered_pictures(ask.request.files))
        params = place_params(place) | {"disable_notification": True}
        more: Json = {"disable_content_type_detection": True} if batch.kind == DOCUMENT else {}
        if len(batch.files) == 1:
            [upload] = uploads
            params |= {**caption, **more}
            upload = upload._replace(field=batch.kind)
            messages = [await self._calls.call(_METHODS[batch.kind], params, uploads=[upload])]
        else:
            # Apps show the caption of an album below it if only one of its files has one.
            media: list[JsonValue] = [
                {"type": batch.kind, "media": f"attach://{each.field}", **more}
                | (caption if number == 0 else {})
                for number, each in enumerate(uploads)
            ]
            answer = await self._calls.call(ALBUM, params | {"media": media}, uploads=uploads)
            messages = answer if isinstance(answer, list) else []
        pairs = zip(batch.files, messages, strict=False)
        return {
            file.id: id_of_sent(message, place.chat)
            for file, message in pairs
            if isinstance(message, dict)
        }

    async def delete(self, ref: Mapping[str, JsonValue]) -> None:
        """Delete the messages with pictures that a reference names; what cannot be deleted stays, and is logged."""
        for full in _sent(ref).values():
            try:
                await self._calls.call("deleteMessage", address(full))
            except PlatformError as error:
                is_gone = isinstance(error, PayloadRejectedError) and "not found" in str(error)
                if not is_gone:
                    extra = {"action": "picture_stays", "message_id": full, "code": error.code}
                    logger.warning("A picture could not be deleted: %s", error, extra=extra)


def shown(ref: Mapping[str, JsonValue] | None) -> frozenset[str]:
    """Return the ids of the files that messages above an ask's own show."""
    return frozenset(_sent(ref or {}))


def _sent(ref: Mapping[str, JsonValue]) -> dict[str, str]:
    stored = ref.get(STORED)
    found = stored.items() if isinstance(stored, dict) else ()
    return {name: str(full) for name, full in found if chat_id(full)}


def batches_of(files: Iterable[AttachedFile]) -> Iterator[Batch]:
    """Yield what is sent, in the order of the files: photos and documents do not share an album."""
    kinds = ((kind_of(each), each) for each in files)
    for kind, group in groupby(((k, each) for k, each in kinds if k), key=itemgetter(0)):
        alike = [each for _, each in group]
        for start in range(0, len(alike), limits.ALBUM):
            yield Batch(kind, tuple(alike[start : start + limits.ALBUM]))


def caption_of(files: Sequence[AttachedFile], numbers: Mapping[str, int]) -> Json:
    """Return the caption of a message or an album: what stands for its pictures in words."""
    most = limits.CAPTION // len(files) - len("10. \n")
    lines = []
    for each in files:
        number = f"{numbers[each.id]}. " if len(numbers) > 1 else ""
        lines.append(f"{number}{shorten_line(each.label, most)[0]}")
    text = "\n".join(lines)
    if is_live(text):
        text = code(plain(text))
    return {"caption": text, "parse_mode": "HTML"}


def _stem(file: AttachedFile) -> str:
    """Return a file's name without its ending, which Telegram takes for what the file is."""
    return file.name.rpartition(".")[0] or file.name


def _log_failure(ask: Ask, error: PlatformError) -> None:
    extra = {"action": "picture_failed", "ask_id": ask.id, "code": error.code}
    logger.warning("Pictures are not shown, only named: %s", error, extra=extra)
