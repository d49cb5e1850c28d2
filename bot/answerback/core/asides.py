"""Since when people can see the open question, and the asides about it, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import ConfigDict

from answerback.core.person import EpochSeconds as EpochSeconds
from answerback.core.person import Person, StrictDataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOpening(StrictDataclass):
    """Since when people can see the open question or the end, in seconds since the epoch by the platform's clock.

    Typed messages carry times of the same clock.
    """

    __pydantic_config__ = ConfigDict(extra="ignore")  # earlier versions stored more

    shown: float | None = None
    """None: it is not visible yet, or the platform did not report a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside(StrictDataclass):
    """A person's question about a question or, if ``by`` is None, the agent's explanation."""

    question_id: str
    text: str
    at: EpochSeconds
    by: Person | None = None


UNOPENED: Final = QuestionOpening()
"""A question that is not visible yet."""
