"""Which dialect a tool call speaks: one table, read from the top."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.dialects import approval
from answerback.dialects.call_reader import did_you_mean

Json = Mapping[str, JsonValue]
_NONE: Final[frozenset[str]] = frozenset()
_MOST_COMPARED: Final = 20
"""Fields of a call, and of its first question, that are compared with those that a dialect has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a call looks like. A field that is null is not given, one that is empty is."""

    has: frozenset[str] = _NONE
    has_any: frozenset[str] = _NONE
    lacks: frozenset[str] = _NONE
    first_has: frozenset[str] = _NONE
    """Fields of the first of its ``questions``."""
    first_lacks: frozenset[str] = _NONE

    def matches(self, arguments: Json) -> bool:
        """Whether the arguments of a call have this shape."""
        given, first = _given(arguments), _given(_first_question(arguments))
        return (
            self.has <= given
            and (not self.has_any or not self.has_any.isdisjoint(given))
            and self.lacks.isdisjoint(given)
            and self.first_has <= first
            and self.first_lacks.isdisjoint(first)
        )


class DetectionRule(NamedTuple):
    """The dialect of the calls of some names that have a shape; of all of their other calls where it is None."""

    names: tuple[str, ...]
    dialect: str
    shape: Shape | None = None


def _set(*words: str) -> frozenset[str]:
    return frozenset(words)


DETECTION_RULES: Final[tuple[DetectionRule, ...]] = (
    DetectionRule(
        ("request_user_input", "item/tool/requestUserInput", "request_user_input_async"), "codex"
    ),
    DetectionRule(("vscode_askQuestions", "askQuestions", "vscode/askQuestions"), "vscode"),
    DetectionRule(("ask_question", "ask_followup_question"), "cline"),
    DetectionRule(("user_input.requested",), "copilot"),
    DetectionRule(("AskUserQuestion", "ask_user_question"), "claude"),
    DetectionRule(("tool_question",), "tool_question"),
    DetectionRule(
        ("elicitation/create", "mcpServer/elicitation/request", "elicitation.requested"),
        "elicitation",
    ),
    DetectionRule(tuple(approval.VARIANTS), "approval"),
    DetectionRule(
        ("question",),
        "opencode",
        Shape(first_has=_set("question"), first_lacks=_set("prompt")),
    ),
    DetectionRule(("question",), "question", Shape(first_has=_set("prompt"))),
    DetectionRule(("question",), "question"),
    DetectionRule(("ask_user",), "copilot", Shape(has=_set("requestedSchema"))),
    DetectionRule(
        ("ask_user",),
        "copilot",
        Shape(
            has=_set("question"),
            has_any=_set("choices", "allowFreeform"),
            lacks=_set("questions", "answer_type"),
        ),
    ),
    DetectionRule(
        ("ask_user",),
        "single",
        Shape(
            # Without a question too: whoever wrote one of these is told that a question is missing.
            has_any=_set("question", "answer_type", "options", "default", "context"),
            lacks=_set("questions"),
        ),
    ),
    DetectionRule(("ask_user",), "ask_user", Shape(first_has=_set("answer_type"))),
    DetectionRule(("ask_user",), "gemini", Shape(first_has=_set("question", "type"))),
    DetectionRule(("ask_user",), "ask_user_form", Shape(first_has=_set("question"))),
    DetectionRule(("ask_user",), "ask_user"),
)
"""The first row that fits decides. The last one of each name has no shape, and takes what fits no other."""
TOOL_NAMES: Final = tuple(dict.fromkeys(name for row in DETECTION_RULES for name in row.names))
"""Every name of a tool call."""


class DetectedDialect(NamedTuple):
    """What the table tells of a call."""

    dialect: str
    by_shape: bool
    """Whether the call has a shape that its name knows, or its name knows one dialect only."""


def detect(name: str, arguments: Json) -> DetectedDialect | None:
    """The dialect of a call; None for an unknown name."""
    for row in DETECTION_RULES:
        if name in row.names and (row.shape is None or row.shape.matches(arguments)):
            return DetectedDialect(
                row.dialect, row.shape is not None or len(dialects_for_tool_name(name)) == 1
            )
    return None


def dialects_for_tool_name(name: str) -> tuple[str, ...]:
    """The dialects that calls of a name may have, in the table's order."""
    return tuple(dict.fromkeys(row.dialect for row in DETECTION_RULES if name in row.names))


def tool_names_of(dialect: str) -> tuple[str, ...]:
    """Every name by which a tool of this dialect may be called."""
    return tuple(
        dict.fromkeys(
            name for row in DETECTION_RULES if row.dialect == dialect for name in row.names
        )
    )


def rank_by_similarity(arguments: Json, fields: Mapping[str, Collection[str]]) -> list[str]:
    """Dialects, the one first that has most of the fields of a call and of its first question, or nearly the same.

    Args:
        fields: what each dialect has.
    """
    given = [*arguments][:_MOST_COMPARED] + [*_first_question(arguments)][:_MOST_COMPARED]

    def known(dialect: str) -> int:
        return sum(bool(did_you_mean(key, fields[dialect])) for key in given)

    return sorted(fields, key=known, reverse=True)


def _given(fields: Json) -> set[str]:
    return {key for key, value in fields.items() if value is not None}


def _first_question(arguments: Json) -> Json:
    questions = arguments.get("questions")
    first = questions[0] if isinstance(questions, list) and questions else None
    return first if isinstance(first, dict) else {}
