"""Which permissions can be decided in a list, and which can be allowed there: those that are read whole. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from answerback.core.ask import Ask
from answerback.core.form import ContextFormat
from answerback.core.headline import is_said_below
from answerback.core.intents import decide_in_batch
from answerback.core.refusals import Refusal
from answerback.core.view import Prompt, view_of
from answerback.presentation.context_blocks import hides_marks
from answerback.presentation.text_fitting import utf16_length
from answerback_base.sanitize import visible

R = TypeVar("R")

_MAX_UNITS: Final = 600
_MAX_LINES: Final = 12
_PLAIN: Final = frozenset(
    {
        *("yes", "ok", "accept", "allow", "approve", "continue", "permit", "proceed", "run"),
        *("it", "this", "time", "once", "only", "just"),
    }
)
"""Words of a label that says no more than that something is allowed once."""


class BatchRow(NamedTuple, Generic[R]):
    """A permission in a list."""

    ask: Ask
    text: str
    """The open question."""
    shown: R | None
    """Its whole context as the surface shows it; None if the row does not hold all of it."""

    @property
    def tick(self) -> str:
        """The value of its tick box: the ask, and the revision that the person sees."""
        return f"{self.ask.id}:{self.ask.revision}"


@dataclass(frozen=True)
class BatchRows(Generic[R]):
    """The rows of a surface's list of permissions.

    Args:
        show: returns a whole context as the surface shows it in a row, or None if it does not fit.
    """

    show: Callable[[Prompt], R | None]

    def of(self, asks: Iterable[Ask]) -> list[BatchRow[R]]:
        """Return the permissions among asks that can be decided together."""
        return [
            BatchRow(
                ask, question.text, self.show(prompt) if (prompt := whole_prompt(ask)) else None
            )
            for ask in asks
            if (question := ask.question) is not None
            and not isinstance(decide_in_batch(ask, allow=False), Refusal)
        ]

    def decidable(self, asks: Iterable[Ask], *, allow: bool) -> list[BatchRow[R]]:
        """Return those that can be allowed in the list, or denied."""
        return [row for row in self.of(asks) if row.shown is not None or not allow]

    def shows_whole(self, ask: Ask) -> bool:
        """Return True if an ask's row shows its whole context, so that it can be allowed in the list."""
        return bool(self.decidable([ask], allow=True))


def whole_prompt(ask: Ask) -> Prompt | None:
    """Return the prompt of a permission whose whole context fits into a row of a list, where it can then be allowed.

    None if it does not fit, or if it cannot be allowed together with others.
    """
    allowing = decide_in_batch(ask, allow=True)
    prompt = view_of(ask).prompt
    if isinstance(allowing, Refusal) or prompt is None:
        return None
    question = prompt.question
    option = question.option(allowing.value)
    if option is None or not says_no_more(option.label):
        return None
    has_more = option.description or option.preview or ask.asides
    fits = fits_in_row(question.text, question.context or "", prompt.context_format)
    return prompt if fits and not has_more else None


def says_no_more(label: str) -> bool:
    """Return True if a host's label of allowing once says no more than that, so that it need not stand in the row."""
    parts = re.findall(r"\w+", label.casefold())
    return bool(parts) and _PLAIN.issuperset(parts)


def fits_in_row(headline: str, context: str, context_format: ContextFormat) -> bool:
    """Return True if a row can show a whole context as it was written, along with the parts that the headline leaves
    out."""
    shown = visible(context)
    return (
        utf16_length(shown) <= _MAX_UNITS
        and shown.count("\n") < _MAX_LINES
        and is_said_below(headline, context)
        and not hides_marks(context, context_format)
    )
