"""Makes one attempt at one webhook: signs it, posts it and returns the result. Knows nothing of queues and retries.

An agent sees only one of a few fixed words about an attempt. The details are for the operator's log: an agent must not
learn from its callbacks what is inside a network that it cannot see.

Signatures are Standard Webhooks,
https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

import aiohttp
from standardwebhooks import Webhook
from yarl import URL

from answerback.ports.store_values import Delivery
from answerback.webhooks.address_policy import AddressRules
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
NO_SECRET: Final = "no signing secret"
FAILED: Final = "failed"
"""The attempt itself failed because of a defect in Answerback."""


@dataclass(frozen=True, slots=True)
class SendResult:
    """The result of one attempt. ``status`` is None if nothing responded; ``error`` is None if it was accepted.

    ``error`` is one of the fixed words above, or ``status`` and the number. ``detail`` is only for the log.
    """

    status: int | None
    error: str | None
    detail: str = ""
    gone: bool = False
    """The receiver wants no more webhooks for this URL (410)."""
    retry_after: float | None = None
    """Seconds that the receiver asks to wait before the next attempt."""


class Sender(Protocol):
    """Makes one attempt at a delivery."""

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        """Send a delivery once; ``at`` is the current time, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class DeliverySender(Sender):
    """Sends webhooks to agents, and pushes to people."""

    webhooks: Sender
    pushes: Sender | None = None
    """None: nobody is notified any more."""

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        if not delivery.is_push:
            return await self.webhooks.send(delivery, at)
        if self.pushes is None:
            return SendResult(None, None)
        return await self.pushes.send(delivery, at)


@dataclass(frozen=True, slots=True)
class WebhookSender(Sender):
    http: aiohttp.ClientSession
    """A session whose resolver guards addresses (`answerback.webhooks.address_policy.guarded_session`)."""
    rules: AddressRules
    """Which addresses may be reached, for URLs with an address instead of a name."""
    secrets_of: Callable[[str | None], Sequence[str]]
    """Returns the signing secrets of an agent."""
    timeout: float = TIMEOUT
    """Seconds for one attempt."""
    trace_headers: Callable[[], Mapping[str, str]] = dict
    """Returns the headers that pass the current trace on."""

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        secrets = self.secrets_of(delivery.agent)
        if not secrets:
            key = (
                f"agents.{delivery.agent}.callback_secret" if delivery.agent else "callbacks.secret"
            )
            return SendResult(
                None, NO_SECRET, f"The signing secret is no longer configured ({key})."
            )
        if (reason := self.rules.url_refusal_reason(delivery.url)) is not None:
            return refusal(reason)
        headers = {
            "Content-Type": "application/json",
            **self.trace_headers(),
            **signature_headers(delivery.id, delivery.body, at, secrets),
        }
        return await post(
            self.http, delivery.url, delivery.body.encode(), headers, at, timeout=self.timeout
        )


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


def signature_headers(
    webhook_id: str, body: str, at: float, secrets: Sequence[str]
) -> dict[str, str]:
    """The three headers of Standard Webhooks, with one signature per secret."""
    time = datetime.fromtimestamp(int(at), UTC)
    signatures = [Webhook(secret).sign(webhook_id, time, body) for secret in secrets]
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(at)),
        "webhook-signature": " ".join(signatures),
    }


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
