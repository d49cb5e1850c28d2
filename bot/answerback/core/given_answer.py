"""One collected answer, and where it came from. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

from answerback.core.edited_call import EditedCall
from answerback.core.files import AttachedFile
from answerback.core.person import Person, StrictDataclass


class Source(StrEnum):
    """Where an answer came from."""

    HUMAN = "human"
    GRANT = "grant"
    DEFAULT = "default"
    CONFIG = "config"
    REMEMBERED = "remembered"
    INQUIRY = "inquiry"


_STRENGTH: Final = (
    *(Source.HUMAN, Source.GRANT, Source.REMEMBERED),
    *(Source.CONFIG, Source.DEFAULT, Source.INQUIRY),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer(StrictDataclass):
    """One collected answer.

    ``other`` marks a "Something else…" answer. Its text is the value, or the last item of a list whose other
    items are the selected options.
    """

    question_id: str
    value: JsonValue
    other: bool = False
    source: Source = Source.HUMAN
    by: Person | None = None
    remembered: bool = False
    """True if the person asked to reuse the answer for the rest of the turn."""
    note: str | None = None
    """The person's note on their choice."""
    edited: EditedCall | None = None
    """The call as the person changed it before they allowed it."""
    at: float | None = None
    """When it was given, in seconds since the epoch; None for answers stored before this was recorded."""
    files: tuple[AttachedFile, ...] = ()
    """The files that the person sent with it."""

    @property
    def other_text(self) -> str | None:
        """The text of "Something else…"; None if only options were chosen."""
        last = self.value[-1] if self.other and isinstance(self.value, list) else self.value
        return last if self.other and isinstance(last, str) else None

    @property
    def chosen(self) -> JsonValue:
        """The answer without the "Something else…" text: the selected options in option order, or None."""
        if not self.other:
            return self.value
        return self.value[:-1] if isinstance(self.value, list) else None


def weakest_source(answers: tuple[GivenAnswer, ...]) -> Source | None:
    """Return the weakest source among the answers: a single machine answer makes the whole a machine's."""
    return max((given.source for given in answers), key=_STRENGTH.index, default=None)
