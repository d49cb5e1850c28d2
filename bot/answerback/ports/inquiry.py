"""The inquiry backend: answers questions that need not be answered by a person.

Proved by `tests/unit/bot/workers/test_inquiry.py`.
"""

from __future__ import annotations

from typing import Protocol

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.form import Question


class Inquiry(Protocol):
    """The configured backend that may answer questions which do not require a person."""

    async def answer(self, ask: Ask, question: Question) -> JsonValue:
        """Return its answer, not yet validated.

        Raises:
            InquiryError: no answer could be obtained.
        """
