"""Late answers through a bridge: those given after the agent's server had gone, for the next turn of its thread.

An answer counts as delivered once the agent's server has accepted it; if the bridge is killed before, it does not.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple
from urllib.parse import urlencode

from answerback_agents.pipe.service_calls import (
    LOOKUP_PATIENCE,
    DeliveryReceipt,
    Json,
    RefusedError,
    ServiceCalls,
    ServiceUnavailableError,
)
from answerback_base.backoff import Backoff
from answerback_base.retry_text import describe_retry


class LateAnswerText(NamedTuple):
    """A text for the model, and the receipt that reports it as delivered or lost."""

    text: str
    receipt: DeliveryReceipt


@dataclass(frozen=True, slots=True)
class LateAnswerSource:
    """The late answers for one agent of one service."""

    url: str
    token: str | None = field(repr=False)

    async def fetch(self, conversation: str) -> LateAnswerText | None:
        """The undelivered answers of a conversation; None if there are none.

        Raises:
            ServiceUnavailableError: the service cannot be reached; nothing is lost.
        """
        receipt = DeliveryReceipt()
        service = ServiceCalls(self.url, self.token, receipt=receipt)
        query = urlencode({"conversation": conversation}, errors="replace")
        look_up = partial(service.call, "GET", f"/v1/answers?{query}", timeout=LOOKUP_PATIENCE)
        try:
            found = (await asyncio.to_thread(look_up)).body["answers"]
            text = "\n\n".join(map(_describe, found))
        except (RefusedError, LookupError, TypeError):
            text = ""  # The bridge's own asks fail as well, and it reports that.
        if not text:
            receipt.confirm()
            return None
        return LateAnswerText(text, receipt)

    async def fetch_once_available(self, conversation: str) -> LateAnswerText | None:
        """Fetch, again and again until the service can be reached."""
        backoff = Backoff()
        while True:
            try:
                return await self.fetch(conversation)
            except ServiceUnavailableError:
                await backoff.wait()


def _describe(late: Json) -> str:
    return (
        late["message"]
        if late["kind"] == "outcome"
        else describe_retry(late["headline"], late["text"])
    )
