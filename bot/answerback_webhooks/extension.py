"""Outcomes are sent to the addresses that agents name, signed."""

from __future__ import annotations

from answerback.ports.extension import Configured, Extension, Running, ServiceParts
from answerback_webhooks.settings import CallbackSettings


class WebhooksExtension(Extension):
    name = "webhooks"
    order = 10
    table = "callbacks"
    settings = CallbackSettings

    def check(self, configured: Configured) -> None:
        from answerback_webhooks.sender import build_callback_policy

        build_callback_policy(configured)

    async def open(self, parts: ServiceParts) -> Running:
        from answerback.outbox.address_policy import guarded_session
        from answerback_webhooks.sender import WebhookSender, build_callback_policy
        from answerback_webhooks.webhooks import Webhooks

        policy = build_callback_policy(parts.configured)
        http = await parts.stack.enter_async_context(guarded_session(policy.rules))
        sender = WebhookSender(
            http, policy.rules, policy.secrets_of, trace_headers=parts.trace_headers
        )
        return Webhooks(policy, sender)
