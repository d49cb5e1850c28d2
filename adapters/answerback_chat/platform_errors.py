"""A platform's errors as ours: what a row of its table says, and how long it wants us to wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from answerback.core.errors import PlatformError

Code = TypeVar("Code")


class ErrorMeaning(NamedTuple):
    """What a platform's error code stands for."""

    kind: type[PlatformError]
    advice: str = ""
    """What is wrong and what to do about it; empty where nothing is known."""


def error_table(
    kinds: Mapping[type[PlatformError], Mapping[Code, str]],
) -> dict[Code, ErrorMeaning]:
    """A platform's table: its codes and what to do about them, by the kind of error that they are."""
    return {
        code: ErrorMeaning(kind, advice)
        for kind, codes in kinds.items()
        for code, advice in codes.items()
    }


def without_advice(*codes: Code) -> dict[Code, str]:
    """Codes that tell the operator nothing to do."""
    return dict.fromkeys(codes, "")


def retry_after_of(*told: object, default: float) -> float:
    """The first number of seconds among what a platform told; ``default`` where it told none."""
    for each in told:
        try:
            return max(float(str(each)), 0.1)
        except ValueError:
            continue
    return default
