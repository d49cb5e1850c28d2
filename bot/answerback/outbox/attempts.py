"""Makes one attempt at posting to a receiver, and returns the result. Knows nothing of queues and retries.

An agent sees only one of a few fixed words about an attempt. The details are for the operator's log: an agent must not
learn from its callbacks what is inside a network that it cannot see.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import aiohttp
from yarl import URL

from answerback.ports.extension import Running
from answerback.ports.sender import Sender, SendResult
from answerback.ports.store_values import Delivery
from answerback_base.version import VERSION

TIMEOUT: Final = 15.0
"""Seconds that a receiver has to respond with a status."""
_USER_AGENT: Final = f"Answerback/{VERSION}"
_GONE: Final = 410
_MAX_DETAIL_CHARS: Final = 500
"""Characters of a detail that are logged."""
LONGEST_RETRY_AFTER: Final = 3_600.0
"""Seconds for which a receiver may postpone retries, at most."""
_DATE_FORMATS: Final = (
    "%a, %d %b %Y %H:%M:%S GMT",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %d %H:%M:%S %Y",
)
"""The dates of HTTP, https://www.rfc-editor.org/rfc/rfc9110.html#section-5.6.7: the preferred form and the obsolete."""

REFUSED: Final = "refused"
"""There was no HTTP response: a closed port, a forbidden address, an unknown name, another protocol.

One word covers them all: with several, an agent could map the network around the service.
"""
TIMED_OUT: Final = "timeout"
FAILED: Final = "failed"
"""The attempt itself failed because of a defect in Answerback."""


@dataclass(frozen=True, slots=True)
class DeliverySender(Sender):
    """Has each delivery sent by the extension that sends those of its type."""

    extensions: Iterable[Running]

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        for extension in self.extensions:
            if extension.sends and delivery.type.startswith(extension.sends):
                return await extension.send(delivery, at)
        if delivery.is_push:
            return SendResult(None, None)  # nobody is notified any more
        return SendResult(None, FAILED, f"No running extension sends {delivery.type}.")


async def post(
    http: aiohttp.ClientSession,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    at: float,
    *,
    timeout: float = TIMEOUT,
) -> SendResult:
    try:
        # Only the status counts: the body is never read, and leaving it unread costs the connection.
        async with http.post(
            URL(url),
            data=body,
            headers={"User-Agent": _USER_AGENT, **headers},
            timeout=aiohttp.ClientTimeout(total=timeout),
            allow_redirects=False,
        ) as response:
            return _result_from(response, at)
    except TimeoutError:
        return SendResult(None, TIMED_OUT, f"no answer within {timeout:g} seconds")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        cause = getattr(error, "os_error", error)
        return refusal(f"{type(error).__name__}: {cause}")


def refusal(detail: str) -> SendResult:
    """Return the result of an attempt that reached nobody."""
    return SendResult(None, REFUSED, detail[:_MAX_DETAIL_CHARS])


def _result_from(response: aiohttp.ClientResponse, at: float) -> SendResult:
    status = response.status
    if 200 <= status < 300:
        return SendResult(status, None)
    text = f"status {status}"
    if status == _GONE:
        return SendResult(status, text, "the receiver wants no more webhooks", gone=True)
    if 300 <= status < 400:
        return SendResult(status, text, "redirects are not followed; change callback.url")
    return SendResult(
        status, text, retry_after=parse_retry_after(response.headers.get("Retry-After", ""), at)
    )


def parse_retry_after(value: str, at: float) -> float | None:
    """The seconds in a Retry-After header (seconds or a date), an hour at most; None if it is neither."""
    value = value.strip()
    if value.isascii() and value.isdecimal():
        return min(float(value), LONGEST_RETRY_AFTER)
    for date_format in _DATE_FORMATS:
        with contextlib.suppress(ValueError):
            until = datetime.strptime(value, date_format).replace(tzinfo=UTC)
            return min(max(until.timestamp() - at, 0.0), LONGEST_RETRY_AFTER)
    return None
