"""The source of several answers taken together."""

from __future__ import annotations

from typing import Final

from answerback.core.walker import GivenAnswer, Source

_STRENGTH: Final = (
    *(Source.HUMAN, Source.GRANT, Source.REMEMBERED),
    *(Source.CONFIG, Source.DEFAULT, Source.INQUIRY),
)


def weakest_source(answers: tuple[GivenAnswer, ...]) -> Source | None:
    """Return the weakest source among the answers: a single machine answer makes the whole a machine's."""
    return max((given.source for given in answers), key=_STRENGTH.index, default=None)
