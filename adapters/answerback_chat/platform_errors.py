"""Map a platform's errors to `PlatformError`s, and read how long it asks us to wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from answerback.core.errors import PlatformError

Code = TypeVar("Code")


class ErrorMeaning(NamedTuple):
    """The meaning of a platform's error code."""

    kind: type[PlatformError]
    advice: str = ""
    """A sentence that says what is wrong and what to do about it; empty if that is unknown."""


def error_table(
    kinds: Mapping[type[PlatformError], Mapping[Code, str]],
) -> dict[Code, ErrorMeaning]:
    """Build a platform's table from codes and advice, grouped by kind of error."""
    return {
        code: ErrorMeaning(kind, advice)
        for kind, codes in kinds.items()
        for code, advice in codes.items()
    }


def without_advice(*codes: Code) -> dict[Code, str]:
    """Return codes that have no advice for the operator."""
    return dict.fromkeys(codes, "")


def retry_after_of(*values: object, default: float) -> float:
    """Return the first of ``values`` that is a number of seconds, or ``default`` if none is."""
    for each in values:
        try:
            return max(float(str(each)), 0.1)
        except ValueError:
            continue
    return default
