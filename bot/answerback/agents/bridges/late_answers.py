"""Late answers through a bridge: those given after the agent's server had gone, for the next turn of its thread.

An answer counts as delivered once the agent's server has accepted it; if the bridge is killed before, it does not.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple
from urllib.parse import urlencode

from pydantic import BaseModel, ValidationError

from answerback.agents.pipe.delivery_receipts import DeliveryReceipt
from answerback.agents.pipe.service_calls import (
    LOOKUP_PATIENCE,
    RefusedError,
    ServiceCalls,
    ServiceUnavailableError,
)
from answerback.core.too_late import describe_retry


class _LateAnswer(BaseModel):
    message: str

    @property
    def description(self) -> str:
        return self.message


class _Retry(BaseModel):
    kind: Literal["retry"]
    headline: str
    text: str | None

    @property
    def description(self) -> str:
        return describe_retry(self.headline, self.text)


class _LateAnswers(BaseModel):
    answers: list[_Retry | _LateAnswer]


class LateAnswerText(NamedTuple):
    """A text for the model, and the receipt that reports it as delivered or lost."""

    text: str
    receipt: DeliveryReceipt


@dataclass(frozen=True, slots=True)
class LateAnswerSource:
    """The late answers for one agent of one service."""

    url: str
    token: str | None

    async def fetch(self, conversation: str) -> LateAnswerText | None:
        """The undelivered answers of a conversation; None if there are none, or if the service cannot be reached."""
        receipt = DeliveryReceipt()
        service = ServiceCalls(self.url, self.token, receipt=receipt)
        query = urlencode({"conversation": conversation}, errors="replace")
        look_up = partial(service.call, "GET", f"/v1/answers?{query}", timeout=LOOKUP_PATIENCE)
        try:
            found = _LateAnswers.model_validate((await asyncio.to_thread(look_up)).body)
        except (RefusedError, ServiceUnavailableError, ValidationError):
            # The bridge's own asks fail as well, and it reports that. Nothing is lost: the next turn fetches them.
            found = _LateAnswers(answers=[])
        if not found.answers:
            receipt.confirm()
            return None
        return LateAnswerText("\n\n".join(late.description for late in found.answers), receipt)
