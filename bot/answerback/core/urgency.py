"""The urgency of an ask, and the mark of its route. Values only.

Both say in which order and how people read what waits. Neither changes who may answer, deadlines, or whom a
notification reaches and when.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from answerback.core.person import FrozenModel
from answerback_base.sanitize import one_line

MAX_WORD: Final = 24
"""Characters of a route's word: it stands in front of each of its asks."""


class Urgency(StrEnum):
    """The urgency of an ask, as the agent and its route say."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


PLACES: Final = {each: place for place, each in enumerate(Urgency)}
"""The place of each urgency in lists of what waits: what is most urgent comes first."""


class MarkColor(StrEnum):
    """The color of a route's word. Each surface has its own shade of it, which can be read on its background."""

    GREY = "grey"
    RED = "red"
    ORANGE = "orange"
    YELLOW = "yellow"
    GREEN = "green"
    BLUE = "blue"
    PURPLE = "purple"


def _check_word(word: str) -> str:
    if word != one_line(word) or not word.strip():
        raise ValueError("a route's word is one line of visible characters, such as production")
    return word


class RouteMark(FrozenModel):
    """A mark that tells a route's asks from others at a glance. The color only repeats what the word says."""

    word: Annotated[str, Field(min_length=1, max_length=MAX_WORD), AfterValidator(_check_word)]
    color: MarkColor = MarkColor.GREY
