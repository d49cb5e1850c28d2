"""Makes one attempt at one webhook, if its address may be reached: signs it and posts it.

Signatures are Standard Webhooks,
https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import aiohttp
from standardwebhooks import Webhook

from answerback.outbox.address_policy import AddressRules
from answerback.outbox.attempts import TIMEOUT, post, refusal
from answerback.ports.extension import Configured
from answerback.ports.sender import Sender, SendResult
from answerback.ports.store_values import Delivery
from answerback_webhooks.settings import CallbackSettings

NO_SECRET: Final = "no signing secret"


@dataclass
class CallbackPolicy:
    """Decides whether a callback is possible: it needs an address that may be reached and a signing secret."""

    rules: AddressRules
    """Which addresses may be reached."""
    secrets: Mapping[str | None, Sequence[str]] = field(repr=False)
    """The signing secrets by agent; None stands for callers without a token."""

    def update_from(self, other: CallbackPolicy) -> None:
        """Replace the rules and secrets by those of another policy."""
        self.rules.update_from(other.rules)
        self.secrets = other.secrets

    def secrets_of(self, agent: str | None) -> Sequence[str]:
        """The secrets that sign an agent's webhooks; there are several while one replaces another."""
        return self.secrets.get(agent, ())

    def check(self, url: str, agent: str | None) -> str | None:
        """None if an agent's webhooks may be sent to this URL, else a sentence that says what to do."""
        if not self.secrets_of(agent):
            key = f"agents.{agent}.callback_secret" if agent else "callbacks.secret"
            return (
                f"Webhooks are signed, but no secret is configured: set {key} to whsec_ followed by 24 to "
                "64 random bytes in base64, or leave the callback out."
            )
        return self.rules.url_refusal_reason(url)


def build_callback_policy(configured: Configured) -> CallbackPolicy:
    """Build the policy of where webhooks may go and which secrets sign them.

    Raises:
        ConfigError: an entry of callbacks.allow is not a host, address or network.
    """
    table: CallbackSettings = configured.table
    secrets: dict[str | None, Sequence[str]] = {}
    secrets.update((configured.agent_secrets or {}).items())
    if configured.agent_secrets is None:
        secrets[None] = [secret.get_secret_value() for secret in table.secret]
    return CallbackPolicy(AddressRules(table.allow), secrets)


@dataclass(frozen=True, slots=True)
class WebhookSender(Sender):
    http: aiohttp.ClientSession
    """A session whose resolver guards addresses (`answerback.outbox.address_policy.guarded_session`)."""
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
