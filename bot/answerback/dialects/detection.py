"""Detect the dialect of a tool call, with one table in which the first matching row wins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.dialects import approval
from answerback.dialects.call_reader import did_you_mean

Json = Mapping[str, JsonValue]
_NONE: Final[frozenset[str]] = frozenset()
_MAX_COMPARED: Final = 20
"""Fields of a call, and of its first question, to compare with those of a dialect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of a call. A field that is null counts as missing; one that is empty counts as present."""

    has: frozenset[str] = _NONE
    has_any: frozenset[str] = _NONE
    lacks: frozenset[str] = _NONE
    first_has: frozenset[str] = _NONE
    """Required fields of the first of its ``questions``."""
    first_lacks: frozenset[str] = _NONE

    def matches(self, arguments: Json) -> bool:
        """Return whether the arguments of a call have this shape."""
        fields, first = _present(arguments), _present(_first_question(arguments))
        return (
            self.has <= fields
            and (not self.has_any or not self.has_any.isdisjoint(fields))
            and self.lacks.isdisjoint(fields)
            and self.first_has <= first
            and self.first_lacks.isdisjoint(first)
        )


class DetectionRule(NamedTuple):
    """The dialect of the calls with these names and this shape; if ``shape`` is None, of all other calls."""

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
            # Even without a question: a call with one of these gets the message that the question is missing.
            has_any=_set("question", "answer_type", "options", "default", "context"),
            lacks=_set("questions"),
        ),
    ),
    DetectionRule(("ask_user",), "ask_user", Shape(first_has=_set("answer_type"))),
    DetectionRule(("ask_user",), "gemini", Shape(first_has=_set("question", "type"))),
    DetectionRule(("ask_user",), "ask_user_form", Shape(first_has=_set("question"))),
    DetectionRule(("ask_user",), "ask_user"),
)
"""The first matching row wins. The last row for each name has no shape and takes all other calls."""
TOOL_NAMES: Final = tuple(dict.fromkeys(name for row in DETECTION_RULES for name in row.names))
"""Every known name of a tool call."""


class DetectedDialect(NamedTuple):
    """The dialect detected for a call."""

    dialect: str
    by_shape: bool
    """Whether the call has a known shape, or its name has only one dialect."""


def detect(name: str, arguments: Json) -> DetectedDialect | None:
    """Return the dialect of a call, or None for an unknown name."""
    for row in DETECTION_RULES:
        if name in row.names and (row.shape is None or row.shape.matches(arguments)):
            return DetectedDialect(
                row.dialect, row.shape is not None or len(dialects_for_tool_name(name)) == 1
            )
    return None


def dialects_for_tool_name(name: str) -> tuple[str, ...]:
    """Return the dialects that calls with a name may have, in the order of the table."""
    return tuple(dict.fromkeys(row.dialect for row in DETECTION_RULES if name in row.names))


def tool_names_of(dialect: str) -> tuple[str, ...]:
    """Return every name that a tool of this dialect may have."""
    return tuple(
        dict.fromkeys(
            name for row in DETECTION_RULES if row.dialect == dialect for name in row.names
        )
    )


def rank_by_similarity(arguments: Json, fields: Mapping[str, Collection[str]]) -> list[str]:
    """Sort dialects by how many fields of a call and its first question they have, at least by a similar name.

    Args:
        fields: the fields of each dialect.
    """
    keys = [*arguments][:_MAX_COMPARED] + [*_first_question(arguments)][:_MAX_COMPARED]

    def count_known(dialect: str) -> int:
        return sum(bool(did_you_mean(key, fields[dialect])) for key in keys)

    return sorted(fields, key=count_known, reverse=True)


def _present(fields: Json) -> set[str]:
    return {key for key, value in fields.items() if value is not None}


def _first_question(arguments: Json) -> Json:
    questions = arguments.get("questions")
    first = questions[0] if isinstance(questions, list) and questions else None
    return first if isinstance(first, dict) else {}
