"""A copy of a frozen dataclass with other values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["copy_with"]

if TYPE_CHECKING:
    from dataclasses import replace as copy_with
else:
    T = TypeVar("T")

    def copy_with(original: T, /, **values: Any) -> T:
        """Return a copy with these values, as `dataclasses.replace` does, whose types mypy checks.

        For the copies that each action makes of an ask: of one with 22 fields, it takes a sixth of the time. The class
        has no slots and no ``__post_init__``.
        """
        copy = object.__new__(type(original))
        fields = copy.__dict__
        fields |= original.__dict__
        fields |= values
        return copy
