"""When the open question was opened, and the asides about it, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from answerback.core.walker import Person, StrictDataclass

EpochSeconds = Annotated[float, Field(ge=0, lt=253_402_300_800)]
"""Seconds since the epoch, up to the year 9999, the last that can be shown as a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOpening(StrictDataclass):
    """When the open question was opened, in seconds since the epoch by the clock of the platform that shows it.

    Typed messages carry times of the same clock. None: the platform did not report a time.
    """

    at: float | None = None
    """The time of the click or typed message that led to the question."""
    typed: bool = False
    """Whether it was a typed message."""
    shown: float | None = None
    """When the question became visible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside(StrictDataclass):
    """A person's question about a question or, if ``by`` is None, the agent's explanation."""

    question_id: str
    text: str
    at: EpochSeconds
    by: Person | None = None


UNOPENED: Final = QuestionOpening()
"""A question that was not opened by an action on its platform and is not shown yet."""
