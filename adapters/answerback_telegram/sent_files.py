"""Read the files that people send on Telegram with what they write.

The address of a file has the bot's token: errors and the log do not name it. https://core.telegram.org/bots/api#getfile
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from answerback.core.errors import (
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
)
from answerback.core.intents import Intent
from answerback.ports.claims import Fence
from answerback.ports.surface import Acted, Asks, Rejected
from answerback_chat.interactions import Interactions
from answerback_chat.sent_files import FileTaker, SentFile
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.attachments import Attachment
from answerback_telegram.interactions import ClickHandler, ClickResponse
from answerback_telegram.parse import Click

_NOT_NOW: Final = "temporarily unavailable"
_TOO_BIG: Final = "file is too big"


@dataclass(frozen=True, eq=False)
class EntriesWithFiles:
    """Handles entries that were typed with files: these are read before anything waits for the decision."""

    asks: Asks
    calls: TelegramApi
    taker: FileTaker
    handler: ClickHandler
    interactions: Interactions[Click, ClickResponse]
    fence: Callable[[], Fence | None]

    async def receive(self, entry: Click) -> ClickResponse:
        """Handle an entry. Nothing is read for people who may not act, nor for an entry that has counted."""
        if not (entry.attachments and entry.takes_files):
            return await self.interactions.receive({"typed": entry})
        control, actor = entry.control, entry.actor
        intent = Intent(
            control.ask_id, None, control.revision, entry.delivery, entry.at, place=entry.place_id
        )
        sent = readable(self.calls, entry.attachments)
        files = await self.taker.check_and_take(self.asks, intent, actor, sent, self.fence)
        if isinstance(files, Rejected):
            return await self.handler.respond_to_rejected(files, entry)
        if isinstance(files, Acted):
            return await self.handler.respond_to_acted(files, entry)
        keeps_files = False
        try:
            response = await self.interactions.receive({"typed": entry._replace(files=files)})
            keeps_files = response.keeps_files
            return response
        finally:
            if not keeps_files:
                await self.taker.drop(files)


def readable(calls: TelegramApi, attachments: Sequence[Attachment]) -> tuple[SentFile, ...]:
    """Return these files as they are taken in."""
    return tuple(
        SentFile(each.name, each.bytes, partial(_read, calls, each)) for each in attachments
    )


async def _read(calls: TelegramApi, attachment: Attachment) -> AsyncGenerator[bytes]:
    try:
        path = await calls.file_path(attachment.id)
    except PlatformUnavailableError as error:
        raise PlatformUnavailableError("it did not answer", code=error.code) from error
    except PayloadRejectedError as error:
        if _NOT_NOW in str(error):
            raise PlatformUnavailableError("it is not available now", code="file_later") from error
        too_big = _TOO_BIG in str(error)
        why = "it lets bots read at most 20 MB" if too_big else "it refused to name the file"
        raise PlatformError(why, code=error.code) from error
    async for part in calls.read_file(path):
        yield part
