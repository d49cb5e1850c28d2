"""Download a file from a platform: only from the platform's own addresses, which no redirect leaves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final

import aiohttp

from answerback.core.errors import PlatformError, PlatformUnavailableError, RateLimitedError
from answerback_base.connection_errors import reason_of
from answerback_chat.platform_errors import retry_after_of

_CHUNK: Final = 64 * 1024
_CONNECT_SECONDS: Final = 10.0
_SILENT_SECONDS: Final = 15.0
"""Seconds without a byte after which a download is given up. `FileTaker` limits the whole time."""
_DEFAULT_PAUSE: Final = 1.0
"""Seconds to wait if a platform limits us without saying for how long."""


async def download(
    http: aiohttp.ClientSession,
    url: str,
    *,
    is_own: Callable[[str], bool],
    headers: Mapping[str, str] | None = None,
    check: Callable[[aiohttp.ClientResponse], None] | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a file. Errors name no address, which may contain a token.

    Args:
        is_own: returns True if an address is the platform's, so that it may be asked, with these headers.
        check: raises an error for a response that is not the file, whatever its status; None: any can be one.

    Raises:
        PlatformError: the file was not read, or not all of it; the messages continue "it could not be read: ".
    """
    if not is_own(url):
        raise PlatformError("its address belongs to somebody else", code="file_address")
    timeout = aiohttp.ClientTimeout(
        total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENT_SECONDS
    )
    sent = {"Accept-Encoding": "identity", **(headers or {})}
    try:
        async with http.get(url, headers=sent, timeout=timeout, allow_redirects=False) as response:
            if check is not None:
                check(response)
            _raise_for_status(response)
            async for part in response.content.iter_chunked(_CHUNK):
                yield part
    except (aiohttp.ClientError, OSError, ValueError) as error:
        why = "its address is not valid" if isinstance(error, ValueError) else reason_of(error)
        raise PlatformUnavailableError(why, code="file_connection") from None


def _raise_for_status(response: aiohttp.ClientResponse) -> None:
    status = response.status
    if status == 429:
        pause = retry_after_of(response.headers.get("Retry-After"), default=_DEFAULT_PAUSE)
        raise RateLimitedError("too many files at once", retry_after=pause, code="429")
    if status >= 500:
        raise PlatformUnavailableError(f"the answer was HTTP {status}", code=str(status))
    if status != 200:
        raise PlatformError(f"the answer was HTTP {status}", code=str(status))
