"""A dialect: the calls it has, how they are read as a form, and how the ended ask is written as a tool result.

A distribution names its dialects in the entry-point group ``answerback.dialects``; see `docs/forms-and-dialects.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.core.form import Form
from answerback.dialects.call_reader import ArgumentNode

GROUP: Final = "answerback.dialects"
"""The entry-point group: the entry's name is the dialect's, its object a `Dialect`."""
Json: TypeAlias = Mapping[str, JsonValue]
_NONE: Final[frozenset[str]] = frozenset()
_LABELLED: Final[Mapping[str, tuple[str, ...]]] = {"options": ("label",)}


def present_fields(value: JsonValue | Json) -> frozenset[str]:
    """Return the fields of an object that are not null; none if it is not an object."""
    if not isinstance(value, Mapping):
        return _NONE
    return frozenset([key for key, each in value.items() if each is not None])


def first_question(arguments: Json) -> JsonValue:
    """Return the first of a call's ``questions``, or null."""
    questions = arguments.get("questions")
    return questions[0] if isinstance(questions, list) and questions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of a call. A field that is null counts as missing; one that is empty counts as present."""

    has: frozenset[str] = _NONE
    has_any: frozenset[str] = _NONE
    lacks: frozenset[str] = _NONE
    first_has: frozenset[str] = _NONE
    """Required fields of the first of its ``questions``."""
    first_lacks: frozenset[str] = _NONE
    any_type: frozenset[str] = _NONE
    """Types of which at least one of its ``questions`` has one."""
    at: tuple[str, ...] = ()
    """The path of a field."""
    says: JsonValue = None
    """The value of the field at that path."""

    def matches(self, arguments: Json, fields: frozenset[str], first: frozenset[str]) -> bool:
        """Return whether a call has this shape.

        Args:
            fields: its fields that are not null.
            first: those of its first question.
        """
        return (
            self.has <= fields
            and (not self.has_any or not self.has_any.isdisjoint(fields))
            and self.lacks.isdisjoint(fields)
            and self.first_has <= first
            and self.first_lacks.isdisjoint(first)
            and (not self.any_type or not self.any_type.isdisjoint(_types(arguments)))
            and (not self.at or _field_at(arguments, self.at) == self.says)
        )


def _field_at(arguments: Json, path: tuple[str, ...]) -> JsonValue:
    """Return a nested field; null if it is missing."""
    node: JsonValue = dict(arguments)
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return node


def _types(arguments: Json) -> set[str]:
    questions = arguments.get("questions")
    kinds = (
        each.get("type")
        for each in (questions if isinstance(questions, list) else ())
        if isinstance(each, dict)
    )
    return {kind for kind in kinds if isinstance(kind, str)}


@dataclass(frozen=True, slots=True)
class CallRule:
    """Some calls of a dialect: those with one of these names and this shape.

    A rule without a shape takes the calls that have no known shape.
    """

    names: tuple[str, ...]
    shape: Shape | None = None
    order: int = 100
    """Among the rules of a name that have a shape, the first that matches decides; lower comes first."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _LABELLED)
    """The fields that list options, in the call or a question, each with the fields in which an option has its label;
    none if options are strings."""
    question: str | None = None
    """The field that holds the only question, if it is an object."""
    lists: bool = False
    """True if its questions are always in ``questions``; a call which is a question itself then means a list of one."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as sent to a model."""

    dialect: str
    name: str
    title: str
    """The title that people see."""
    description: str
    parameters: dict[str, JsonValue]
    shape: str = ""
    """A description of its calls and results, to tell the tool from those of other dialects with the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Turns the tool calls of one host into forms, and their outcomes into tool results."""

    name: str
    calls: tuple[CallRule, ...]
    parse: Callable[[ArgumentNode], Form | None]
    """Parses a call's arguments into a form, or returns None if problems were recorded. It must not raise."""
    render: Callable[[Ask], ToolResult]
    """Returns the tool result of an ask that has ended in any way other than End Turn."""
    tool: Tool | None = None
    """The definition to register with a model; None if hosts' programs send the calls."""
    order: int = 100
    """Its position in lists: lower comes first. Of several tools with the same name, the first is the default."""
    is_async: Callable[[str, Json], bool] | None = None
    """Returns whether the agent continues at once, by a call's name and arguments; None: it always waits."""
    accepted: Mapping[str, JsonValue] | None = None
    """The result that the host of an asynchronous call expects at once; None: our own words."""
