"""The inquiry backend: whoever answers what need not be a person's to answer."""

from __future__ import annotations

from typing import Protocol, TypeVar

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.form import Question

T = TypeVar("T")


class Inquiry(Protocol):
    """The configured backend that may answer what is not a person's to answer."""

    async def answer(self, ask: Ask, question: Question) -> JsonValue:
        """Its answer, not yet checked.

        Raises:
            InquiryError: no answer could be had.
        """
