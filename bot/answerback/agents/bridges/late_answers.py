"""Late answers by a bridge: what people answered after the agent's server had gone, for the next turn of its thread.

It is told once its server has taken it. A bridge that is killed before has told nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import NamedTuple

from answerback.agents.command_hooks.ask_people import AskClient, RefusedError
from answerback.agents.command_hooks.delivery_receipts import DeliveryReceipt


class LateAnswerText(NamedTuple):
    """What a model is to be told, and what is to be said of it: that it was taken, or lost."""

    text: str
    receipt: DeliveryReceipt


@dataclass(frozen=True, slots=True)
class LateAnswerSource:
    """The late answers of one agent of one service."""

    url: str
    token: str | None

    async def fetch(self, conversation: str) -> LateAnswerText | None:
        """What has not been told in a conversation; None where there is nothing, or nobody to ask now."""
        receipt = DeliveryReceipt()
        people = AskClient(self.url, self.token, receipt=receipt)
        try:
            text = await asyncio.to_thread(people.fetch_late_answers, conversation)
        except RefusedError:  # as it does what the bridge itself asks, which tells
            text = None
        if text is None:
            receipt.confirm()
            return None
        return LateAnswerText(text, receipt)
