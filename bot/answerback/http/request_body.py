"""Receive request bodies from untrusted senders: bounded in size and time, and decompressed if that is allowed.

The listeners do not decompress bodies, so a body that cannot be decompressed gets an ordinary error
response instead of a failure of the HTTP parser.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import web

CONTENT_CODINGS: Final = ("gzip", "deflate")
"""The content codings that are supported where compressed bodies are allowed."""
BODY_TIMEOUT: Final = 10.0
"""Seconds within which a body must arrive."""
_UNCOUNTED: Final = 64 * 1024
"""Bytes of each body that do not count against the budget, so that small bodies always get through."""

_POOL: Final = 16 * 1024 * 1024
"""Total bytes of large bodies that may be arriving at one endpoint of a `BodyReader` at a time."""


class BodyError(Exception):
    """A body was refused; ``status`` and the message say why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class BodyMemoryBudget:
    """The memory, in bytes, that all bodies of unverified senders may use together."""

    def __init__(self, size: int) -> None:
        self._left = size

    @contextmanager
    def share(self) -> Iterator[Callable[[int], bool]]:
        """Reserve memory for one body until the end of the context.

        Yields a function that grows the reservation to a body of the given size; False if the budget is exhausted.
        """
        taken = 0

        def covers(size: int) -> bool:
            nonlocal taken
            more = max(0, size - _UNCOUNTED - taken)
            if more > self._left:
                return False
            self._left -= more
            taken += more
            return True

        try:
            yield covers
        finally:
            self._left += taken


async def receive_body(
    request: web.BaseRequest,
    max_size: int,
    *,
    compressed: bool = False,
    pool: BodyMemoryBudget | None = None,
    seconds: float = BODY_TIMEOUT,
) -> bytes:
    """Receive the body of a request.

    Args:
        max_size: its maximum size in bytes, before and after decompression.
        compressed: whether it may be compressed.
        pool: the memory budget to count it against while it arrives.

    Raises:
        BodyError: 400, 408, 413, 415, or 503 if the budget is exhausted.
    """
    coding = request.headers.get("Content-Encoding", "").strip().lower()
    if coding not in {"", "identity"} and not (compressed and coding in CONTENT_CODINGS):
        raise BodyError(415, f"Content-Encoding {coding[:40]!r} is not supported here.")
    try:
        if (request.content_length or 0) > max_size:
            raise too_large(max_size)
        if request.content.is_eof():
            raw = request.content.read_nowait()
        else:
            with (pool or BodyMemoryBudget(max_size)).share() as covers:
                raw = await _read_chunks(request, max_size, covers, seconds)
        if len(raw) > max_size:
            raise too_large(max_size)
        return _decompress(raw, coding, max_size) if coding in CONTENT_CODINGS else raw
    except web.RequestPayloadError as error:
        request.content.feed_eof()  # otherwise aiohttp keeps reading after the response, fails again and logs it
        request.protocol.close()  # the start of the next request on this connection is unknown
        raise BodyError(400, "The body's framing does not match its headers.") from error


class BodyReader:
    """Reads the bodies that platforms and browsers send to one endpoint: bounded until the sender is known."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pool = BodyMemoryBudget(_POOL)

    async def read(self, request: web.Request) -> bytes | web.Response:
        """Return the body, or the response in plain text that rejects the request."""
        try:
            return await receive_body(request, self._max_bytes, pool=self._pool)
        except BodyError as error:
            return web.Response(status=error.status, text=str(error))


def too_large(max_size: int) -> BodyError:
    return BodyError(413, f"A body may have at most {max_size // 1024} KiB here; send less.")


async def _read_chunks(
    request: web.BaseRequest, max_size: int, covers: Callable[[int], bool], seconds: float
) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while len(body) <= max_size and (chunk := await request.content.readany()):
                body += chunk
                if len(body) <= max_size and not covers(len(body)):
                    raise BodyError(503, "Too many large bodies are arriving at once; try again.")
    except TimeoutError:
        raise BodyError(408, f"The body did not arrive within {seconds:g} seconds.") from None
    return bytes(body)


def _decompress(raw: bytes, coding: str, max_size: int) -> bytes:
    # "deflate" means zlib, but some senders omit its header: https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.2
    headerless = coding == "deflate" and raw[:1] and raw[0] & 15 != 8
    engine = zlib.decompressobj(-zlib.MAX_WBITS if headerless else zlib.MAX_WBITS | 32)
    try:
        body = engine.decompress(raw, max_size + 1)
    except zlib.error as error:
        raise BodyError(
            400, f"The body is not {coding} data, which its Content-Encoding declares."
        ) from error
    if len(body) > max_size:
        raise too_large(max_size)
    if not engine.eof or engine.unused_data:
        raise BodyError(400, f"The body is not exactly one complete {coding} stream.")
    return body
