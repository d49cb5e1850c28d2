"""Late answers through a bridge: those given after the agent's server had gone, for the next turn of its thread.

An answer counts as delivered once the agent's server has accepted it; if the bridge is killed before, it does not.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import NamedTuple

from answerback.agents.command_hooks.ask_people import AskClient, RefusedError
from answerback.agents.command_hooks.delivery_receipts import DeliveryReceipt


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
        people = AskClient(self.url, self.token, receipt=receipt)
        try:
            text = await asyncio.to_thread(people.fetch_late_answers, conversation)
        except RefusedError:  # the bridge's own asks are refused as well, and it reports that
            text = None
        if text is None:
            receipt.confirm()
            return None
        return LateAnswerText(text, receipt)
