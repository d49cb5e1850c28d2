"""One try of one webhook: signed, posted, and what became of it. Knows nothing of queues and retries.

Signatures are Standard Webhooks, https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp
from standardwebhooks import Webhook
from yarl import URL

from bot.callbacks import AddressRefusedError, AddressRules
from bot.ports import Delivery
from bot.version import VERSION

TIMEOUT: Final = 15.0
"""Seconds a receiver has to answer with a status."""
_AGENT: Final = f"Answerback/{VERSION}"
_GONE: Final = 410
_LONGEST_RETRY_AFTER: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Sent:
    """What one try came to. ``status`` is None when nothing answered; ``error`` is None when it was taken."""

    status: int | None
    error: str | None
    gone: bool = False
    """The receiver wants no more of these (410)."""
    retry_after: float | None = None
    """Seconds that the receiver asks to be left alone."""


class Sender:
    """Posts webhooks.

    Args:
        http: a session whose resolver guards addresses (`bot.callbacks.guarded_session`).
        rules: which addresses may be reached, for URLs that hold an address instead of a name.
        secrets_of: the signing secrets of an agent.
        timeout: seconds for one try.
    """

    def __init__(
        self,
        http: aiohttp.ClientSession,
        rules: AddressRules,
        secrets_of: Callable[[str | None], Sequence[str]],
        *,
        timeout: float = TIMEOUT,
    ) -> None:
        self._http = http
        self._rules = rules
        self._secrets_of = secrets_of
        self._timeout = aiohttp.ClientTimeout(total=timeout)

    async def send(self, delivery: Delivery, at: float) -> Sent:
        """Posts a webhook once; ``at`` is now, seconds since the epoch."""
        secrets = self._secrets_of(delivery.agent)
        if not secrets:
            key = (
                f"agents.{delivery.agent}.callback_secret" if delivery.agent else "callbacks.secret"
            )
            return Sent(None, f"There is no secret to sign with any more ({key}).")
        if (refused := self._rules.refusal_of_url(delivery.url)) is not None:
            return Sent(None, refused)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": _AGENT,
            **signed(delivery.id, delivery.body, at, secrets),
        }
        try:
            # The status alone counts: the body is never read, and an unread one costs its connection.
            async with self._http.post(
                URL(delivery.url),
                data=delivery.body.encode(),
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,
            ) as response:
                return _judged(response, at)
        except TimeoutError:
            return Sent(None, f"No answer within {self._timeout.total:g} seconds.")
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, AddressRefusedError):
                return Sent(None, f"Refused: {error.os_error}.")
            return Sent(None, f"Not reached: {error}."[:500])
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Sent(None, f"Failed: {type(error).__name__}: {error}."[:500])


def signed(webhook_id: str, body: str, at: float, secrets: Sequence[str]) -> dict[str, str]:
    """The three headers of Standard Webhooks, with one signature a secret."""
    time = datetime.fromtimestamp(int(at), UTC)
    signatures = [Webhook(secret).sign(webhook_id, time, body) for secret in secrets]
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(at)),
        "webhook-signature": " ".join(signatures),
    }


def _judged(response: aiohttp.ClientResponse, at: float) -> Sent:
    status = response.status
    if 200 <= status < 300:
        return Sent(status, None)
    if status == _GONE:
        return Sent(status, "The receiver wants no more of these (HTTP 410).", gone=True)
    if 300 <= status < 400:
        return Sent(status, f"Redirects are not followed (HTTP {status}); change callback.url.")
    retry_after = _seconds(response.headers.get("Retry-After"), at)
    return Sent(status, f"The receiver answered HTTP {status}.", retry_after=retry_after)


def _seconds(value: str | None, at: float) -> float | None:
    """The seconds that a Retry-After header (seconds or a date) means."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return min(float(value), _LONGEST_RETRY_AFTER)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max(aware.timestamp() - at, 0.0), _LONGEST_RETRY_AFTER)
