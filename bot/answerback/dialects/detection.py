"""Detect the dialect of a tool call, with one table in which the first matching row wins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from answerback.dialects.call_reader import did_you_mean
from answerback.dialects.dialect import CallRule, Json, first_question
from answerback.dialects.installed import call_rules

_MAX_COMPARED: Final = 20
"""Fields of a call, and of its first question, to compare with those of a dialect."""


@dataclass(frozen=True, slots=True)
class DetectedDialect:
    """The dialect detected for a call."""

    dialect: str
    rule: CallRule
    by_shape: bool
    """Whether the call has a known shape, or its name has only one dialect."""


def detect(name: str, arguments: Json) -> DetectedDialect | None:
    """Return the dialect of a call, or None for an unknown name."""
    rules = [(dialect, rule) for dialect, rule in call_rules() if name in rule.names]
    for dialect, rule in rules:
        if rule.shape is not None and rule.shape.matches(arguments):
            return DetectedDialect(dialect, rule, by_shape=True)
    if not rules:
        return None
    dialect, rule = rules[-1]
    only_one = len({dialect for dialect, _ in rules}) == 1
    return DetectedDialect(dialect, rule, by_shape=only_one)


def rule_for(dialect: str, name: str) -> CallRule | None:
    """Return how calls of a given dialect are read: as with this name, else as with another; None if it is unknown."""
    rules = [rule for each, rule in call_rules() if each == dialect]
    return next((rule for rule in rules if name in rule.names), next(iter(rules), None))


def tool_names() -> tuple[str, ...]:
    """Return every known name of a tool call."""
    return tuple(dict.fromkeys(name for _, rule in call_rules() for name in rule.names))


def dialects_for_tool_name(name: str) -> tuple[str, ...]:
    """Return the dialects that calls with a name may have, in the order of the table."""
    return tuple(dict.fromkeys(dialect for dialect, rule in call_rules() if name in rule.names))


def tool_names_of(dialect: str) -> tuple[str, ...]:
    """Return every name that a tool of this dialect may have."""
    return tuple(
        dict.fromkeys(name for each, rule in call_rules() if each == dialect for name in rule.names)
    )


def rank_by_similarity(arguments: Json, fields: Mapping[str, Collection[str]]) -> list[str]:
    """Sort dialects by how many fields of a call and its first question they have, at least by a similar name.

    Args:
        fields: the fields of each dialect.
    """
    first = first_question(arguments)
    keys = [*arguments][:_MAX_COMPARED]
    keys += [*first][:_MAX_COMPARED] if isinstance(first, dict) else []

    def count_known(dialect: str) -> int:
        return sum(bool(did_you_mean(key, fields[dialect])) for key in keys)

    return sorted(fields, key=count_known, reverse=True)
