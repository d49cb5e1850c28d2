"""The webhooks of a running service: what each says of an ask, and when it is stored."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pydantic import JsonValue

from answerback.core.ask import Ask, Change, RecordEntry
from answerback.core.clarification import CLARIFY
from answerback.ports.extension import Configured, Running
from answerback.ports.extension_rows import Rows
from answerback.ports.sender import Sender, SendResult
from answerback.ports.store_values import Delivery
from answerback.service.ask_wire import ask_json
from answerback.service.people_wire import iso
from answerback_webhooks.sender import CallbackPolicy, build_callback_policy


@dataclass(frozen=True)
class Webhooks(Running):
    """Stores a webhook for each outcome that its agent wants to be sent, and sends it."""

    policy: CallbackPolicy
    sender: Sender
    sends = "ask."
    kinds = frozenset({"clarify", "ended"})
    only_callbacks = True

    def on_change(self, before: Ask | None, change: Change, at: float) -> Rows:
        return Rows(build_webhooks(change.ask, change.entries, at))

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        return await self.sender.send(delivery, at)

    def callback_problem(self, url: str, agent: str | None) -> str | None:
        return self.policy.check(url, agent)

    def reload(self, configured: Configured) -> Callable[[], None]:
        return partial(self.policy.update_from, build_callback_policy(configured))


def build_webhooks(ask: Ask, entries: Sequence[RecordEntry], at: float) -> tuple[Delivery, ...]:
    """The webhook that reports a change of an ask, if its agent wants to know."""
    url, ended = ask.request.callback, ask.outcome is not None
    if url is None or not (ended or any(entry.kind == "clarify" for entry in entries)):
        return ()
    return (build_webhook(ask, url, at, ask.status.value if ended else CLARIFY),)


def build_webhook(ask: Ask, url: str, at: float, event: str) -> Delivery:
    """The webhook that reports an event of an ask to a URL."""
    body: JsonValue = {
        "type": f"ask.{event}",
        "timestamp": iso(at),
        "data": ask_json(ask),
    }
    return Delivery(
        id=f"msg_{secrets.token_hex(12)}",
        ask_id=ask.id,
        type=f"ask.{event}",
        url=url,
        agent=ask.request.agent,
        body=json.dumps(body, ensure_ascii=False),
        created_at=at,
    )
