"""Send a file that somebody else made: a picture is shown, anything else only saved, and nothing in it runs here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import quote

from aiohttp import web

from answerback.core.files import AttachedFile

HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-store, no-transform",
}


async def send_file(
    request: web.Request,
    file: AttachedFile,
    read_chunk: Callable[[int], Awaitable[bytes]],
    headers: Mapping[str, str] | None = None,
) -> web.StreamResponse:
    """Send a file chunk by chunk.

    Args:
        read_chunk: returns the chunk with a number; empty behind the last one.
    """
    # https://www.rfc-editor.org/rfc/rfc8187: any other character than these is encoded.
    kind, name = "inline" if file.is_picture else "attachment", quote(file.name, safe="")
    response = web.StreamResponse(
        headers={
            **HEADERS,
            "Content-Type": file.media_type,
            "Content-Length": str(file.bytes),
            "Content-Disposition": f"{kind}; filename*=UTF-8''{name}",
            **(headers or {}),
        }
    )
    await response.prepare(request)
    left, number = file.bytes, 0
    while left > 0:
        chunk = await read_chunk(number)
        if not chunk:  # it was erased meanwhile: its reader sees that less came than was announced
            if request.transport is not None:
                request.transport.abort()
            break
        await response.write(chunk)
        left, number = left - len(chunk), number + 1
    else:
        await response.write_eof()
    return response
