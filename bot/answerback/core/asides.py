"""When the open question was opened, and what was said about it beside the walk. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from answerback.core.walker import Person, StrictDataclass

EpochSeconds = Annotated[float, Field(ge=0, lt=253_402_300_800)]
"""Seconds since the epoch, up to the year 9999: what can be shown as a date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOpening(StrictDataclass):
    """When the open question was opened, in seconds since the epoch by the clock of the platform that shows it.

    What people type carries the same clock's time. None: the platform did not say.
    """

    at: float | None = None
    """The time of the click, or of the words, that led to the question."""
    typed: bool = False
    """Whether it was words."""
    shown: float | None = None
    """From when on the question could be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside(StrictDataclass):
    """What a person asked about a question instead of answering it, or (``by`` None) what the agent explained."""

    question_id: str
    text: str
    at: EpochSeconds
    by: Person | None = None


UNOPENED: Final = QuestionOpening()
"""A question that no act on its platform has opened, and that is not shown yet."""
