"""The body of a request, whoever sent it: bounded in size and time, and unpacked where that is agreed on.

The listeners leave bodies as they came: what cannot be unpacked is a mistake like another, with an
answer of its own, and no failure of the HTTP parser.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import web

CONTENT_CODINGS: Final = ("gzip", "deflate")
"""Content codings that are taken where a body may be compressed at all."""
BODY_TIMEOUT: Final = 10.0
"""Seconds in which a body has to arrive."""
_FREE: Final = 64 * 1024
"""Bytes of each body that no pool counts: what is small gets through whatever else is going on."""


class BodyError(Exception):
    """A body that is not taken; ``status`` and the message say why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class BodyMemoryBudget:
    """Bytes that the bodies of strangers may take in memory all together, until it is known who sent them."""

    def __init__(self, size: int) -> None:
        self._left = size

    @contextmanager
    def share(self) -> Iterator[_Share]:
        """The share of one body, given back at the end."""
        share = _Share(self)
        try:
            yield share
        finally:
            self._left += share.taken

    def take(self, size: int) -> bool:
        """Takes so many bytes; False where there are not as many left."""
        if size > self._left:
            return False
        self._left -= size
        return True


class _Share:
    def __init__(self, pool: BodyMemoryBudget) -> None:
        self._pool = pool
        self.taken = 0

    def covers(self, size: int) -> bool:
        """Whether there is room for a body that has so many bytes by now."""
        more = max(0, size - _FREE - self.taken)
        if not self._pool.take(more):
            return False
        self.taken += more
        return True


async def receive_body(
    request: web.BaseRequest,
    most: int,
    *,
    compressed: bool = False,
    pool: BodyMemoryBudget | None = None,
    seconds: float = BODY_TIMEOUT,
) -> bytes:
    """The bytes of a request's body.

    Args:
        most: bytes that it may have, unpacked too.
        compressed: whether it may be compressed.
        pool: what it is counted in while it arrives.

    Raises:
        BodyError: 400, 408, 413, 415, or 503 where the pool is empty.
    """
    coding = request.headers.get("Content-Encoding", "").strip().lower()
    if coding not in {"", "identity"} and not (compressed and coding in CONTENT_CODINGS):
        raise BodyError(415, f"Content-Encoding {coding[:40]!r} is not taken here.")
    try:
        if (request.content_length or 0) > most:
            raise too_large(most)
        if request.content.is_eof():
            raw = request.content.read_nowait()
        else:
            with (pool or BodyMemoryBudget(most)).share() as share:
                raw = await _collected(request, most, share, seconds)
        if len(raw) > most:
            raise too_large(most)
        return _unpacked(raw, coding, most) if coding in CONTENT_CODINGS else raw
    except web.RequestPayloadError as error:
        request.content.feed_eof()  # else aiohttp reads on after the answer, and fails and logs once more
        request.protocol.close()  # nobody knows where on this connection the next request begins
        raise BodyError(400, "The body is not framed as its headers say.") from error


def too_large(most: int) -> BodyError:
    """The refusal of a body that is over the limit."""
    return BodyError(413, f"A body may have {most // 1024} KiB here; send less at once.")


async def _collected(request: web.BaseRequest, most: int, share: _Share, seconds: float) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while len(body) <= most and (chunk := await request.content.readany()):
                body += chunk
                if len(body) <= most and not share.covers(len(body)):
                    raise BodyError(503, "Too many large bodies are arriving at once; try again.")
    except TimeoutError:
        raise BodyError(408, f"The body did not arrive within {seconds:g} seconds.") from None
    return bytes(body)


def _unpacked(raw: bytes, coding: str, most: int) -> bytes:
    # What is called deflate has a zlib header, or by an old mistake none: https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.2
    bare = coding == "deflate" and raw[:1] and raw[0] & 15 != 8
    engine = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
    try:
        body = engine.decompress(raw, most + 1)
    except zlib.error as error:
        raise BodyError(400, f"The body is not {coding}, as its Content-Encoding says.") from error
    if len(body) > most:
        raise too_large(most)
    if not engine.eof or engine.unused_data:
        raise BodyError(400, f"The body is not one whole piece of {coding}.")
    return body
