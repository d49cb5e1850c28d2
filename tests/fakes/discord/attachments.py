"""Files that people send on the fake Discord: in messages and modals, and read from an address of their own.

https://docs.discord.com/developers/resources/message#attachment-object and
https://docs.discord.com/developers/reference#signed-attachment-cdn-urls: addresses are signed, and end after a day.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence

from aiohttp import web

from tests.fakes.discord.clock import Bell
from tests.fakes.discord.problems import Payload
from tests.fakes.discord.spec import check_schema


class Attachments:
    """The files, by the ids in their addresses."""

    def __init__(self, new_id: Callable[[], int], bell: Bell) -> None:
        self._new_id, self._bell = new_id, bell
        self.origin = ""
        """Where they are served."""
        self.contents: dict[str, bytes] = {}
        self.statuses: list[int] = []
        """The statuses with which the next reads are answered instead."""
        self.redirect_to: str | None = None
        self.address: str | None = None
        """Another address that is handed out instead."""
        self.announced: int | None = None
        """Another size that is announced instead."""
        self.stalled: asyncio.Event | None = None
        """Reads stop after their first byte until this is set."""
        self.reads: list[web.Request] = []

    def add(self, name: str, data: bytes, *, ephemeral: bool = False) -> Payload:
        """Take in a file; return the attachment that Discord makes of it."""
        number = str(self._new_id())
        self.contents[number] = data
        url = f"{self.origin}/attachments/1/{number}/file?ex=7&is=6&hm={secrets.token_hex(8)}"
        attachment: Payload = {
            "id": number,
            "filename": name,
            "size": len(data) if self.announced is None else self.announced,
            "url": self.address or url,
            "proxy_url": self.address or url,
            "content_type": "text/html",
            **({"ephemeral": True} if ephemeral else {}),
        }
        assert not check_schema("MessageAttachmentResponse", attachment)
        return attachment

    def add_all(self, files: Sequence[tuple[str, bytes]]) -> list[Payload]:
        """`add` several."""
        return [self.add(name, data) for name, data in files]

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of what stands for cdn.discordapp.com."""
        return [web.get("/attachments/{channel}/{number}/{name}", self._read)]

    async def _read(self, request: web.Request) -> web.StreamResponse:
        self.reads.append(request)
        self._bell.ring()
        if self.statuses:
            status, soon = self.statuses.pop(0), {"Retry-After": "0.1"}
            return web.Response(status=status, headers=soon, text="not now")
        if self.redirect_to is not None:
            return web.Response(status=302, headers={"Location": self.redirect_to})
        data = self.contents.get(request.match_info["number"])
        if data is None or "hm" not in request.query:
            return web.Response(status=404, text="This content is no longer available.")
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(data[:1])
        if self.stalled is not None:
            await self.stalled.wait()
        await response.write(data[1:])
        return response
