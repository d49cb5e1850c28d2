"""Files that people send on the fake Telegram, and the two requests by which a bot reads them.

https://core.telegram.org/bots/api#getfile: a bot reads files of up to 20 MB, from an address that has its token.
"""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import unquote

from aiohttp import web
from telegram import File

from tests.fakes.telegram.rules import bad

MOST_BYTES: Final = 20 * 1024 * 1024
"""Bytes of the largest file that a bot may read."""


class SentFiles:
    """The files that people sent, by their ids."""

    def __init__(self, changed: Callable[[], Awaitable[None]]) -> None:
        self._changed = changed
        self.contents: dict[str, bytes] = {}
        self.paths: dict[str, str] = {}
        """Where `getFile` says that a file is, if not where it should be."""
        self.unavailable: Counter[str] = Counter()
        """The times that `getFile` is refused for the moment, by the ids of files."""
        self.statuses: list[int] = []
        """The statuses with which the next downloads are answered instead."""
        self.redirect_to: str | None = None
        self.stalled: asyncio.Event | None = None
        """The downloads stop after their first byte until this is set."""
        self.downloads: list[str] = []
        """The paths that were asked for."""

    def add(self, name: str, data: bytes, *, as_photo: bool = False) -> dict[str, Any]:
        """Take in a file; return what a message has of it."""
        number = len(self.contents) + 1
        id = f"file-id-{number}"
        self.contents[id] = data
        about = {"file_id": id, "file_unique_id": f"unique{number}", "file_size": len(data)}
        if not as_photo:
            return {"document": about | {"file_name": name, "mime_type": "text/html"}}
        small = {"file_id": f"{id}-small", "file_unique_id": f"small{number}", "file_size": 1}
        self.contents[small["file_id"]] = b"."  # type: ignore[index] # it is a text
        sizes = {"width": 90, "height": 67}, {"width": 1280, "height": 960}
        return {"photo": [small | sizes[0], about | sizes[1]]}

    def describe(self, id: str) -> dict[str, Any]:
        """getFile."""
        if self.unavailable[id] > 0:
            self.unavailable[id] -= 1
            raise bad("wrong file_id or the file is temporarily unavailable")
        if id not in self.contents:
            raise bad("wrong file_id or the file is temporarily unavailable")
        size = len(self.contents[id])
        if size > MOST_BYTES:
            raise bad("file is too big")
        file: dict[str, Any] = {"file_id": id, "file_unique_id": f"u{id}", "file_size": size}
        file["file_path"] = self.paths.get(id, f"documents/{id}")
        assert File.de_json(copy.deepcopy(file), None).file_id == id
        return file

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Serve a file by its path."""
        path = unquote(request.match_info["path"])
        self.downloads.append(path)
        await self._changed()
        if self.statuses:
            status, soon = self.statuses.pop(0), {"Retry-After": "0.1"}
            return web.Response(status=status, headers=soon, text="not now")
        if self.redirect_to is not None:
            return web.Response(status=302, headers={"Location": self.redirect_to})
        data = self.contents.get(path.rpartition("/")[2])
        if data is None:
            return web.Response(status=404, text="Not Found")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(data[:1])
        if self.stalled is not None:
            await self.stalled.wait()
        await response.write(data[1:])
        return response
