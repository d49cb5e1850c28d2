"""The argument schemas of Answerback's own tools, one per dialect, as sent to models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, assert_never

from pydantic import JsonValue

from answerback.core.form import AnswerType
from answerback.dialects.question_reader import NON_SCHEMA_TYPES
from answerback.dialects.tool_schema_parts import (
    CONTEXT,
    JSON_SCHEMA,
    LABEL,
    TEXT,
    array_schema,
    object_schema,
    with_description,
)


def _answer_type(kinds: Iterable[AnswerType]) -> dict[str, JsonValue]:
    return {
        "type": "string",
        "enum": [_answer_type_name(kind) for kind in kinds],
        "description": "The type of the answer.",
    }


def _answer_type_name(kind: AnswerType) -> str:
    """Return the name of an answer type; a new type fails the type check until the schemas below describe it."""
    match kind:
        case AnswerType.BOOLEAN | AnswerType.TEXT:
            return kind.value
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:  # with _OPTIONS
            return kind.value
        case AnswerType.SCHEMA:  # with ``schema``, in ASK_USER only
            return kind.value
        case _:
            assert_never(kind)


_OPTIONS: Final = array_schema(
    LABEL, "The choices, all different; only for select and multi_select.", max_items=1_000
)
_LABELS: Final[dict[str, JsonValue]] = {"type": "array", "items": {"type": "string"}}
_DEFAULT: Final[dict[str, JsonValue]] = {
    "anyOf": [
        {
            "type": "boolean",
            "description": "For boolean: pre-selected for the user, who still has to confirm it.",
        },
        {
            "type": "string",
            "description": "For select, the option that is pre-selected; for text, what is pre-filled.",
        },
        with_description(_LABELS, "For multi_select: the options that are pre-selected."),
    ]
}
_EXPECTED: Final[dict[str, JsonValue]] = {
    "anyOf": [{"type": "boolean"}, {"type": "string"}, _LABELS, {"type": "number"}]
}

ASK_USER: Final = object_schema(
    {
        "questions": array_schema(
            object_schema(
                {
                    "id": with_description(
                        LABEL, "The key of this question's answer in the result; unique."
                    ),
                    "text": with_description(TEXT, "The question, as the user reads it."),
                    "context": CONTEXT,
                    "answer_type": _answer_type(AnswerType),
                    "options": _OPTIONS,
                    "schema": JSON_SCHEMA,
                    "default": _DEFAULT,
                    "when": with_description(
                        object_schema(
                            {"question_id": LABEL, "equals": _EXPECTED}, "question_id", "equals"
                        ),
                        "Ask only if an earlier question's answer equals this value, or null if it was skipped.",
                    ),
                },
                "id",
                "text",
                "answer_type",
            ),
            "The questions, in the order in which they are asked.",
        )
    },
    "questions",
)
SINGLE: Final = object_schema(
    {
        "question": with_description(TEXT, "The question, on one line."),
        "context": CONTEXT,
        "answer_type": {**_answer_type(NON_SCHEMA_TYPES), "default": "text"},
        "options": _OPTIONS,
        "default": _DEFAULT,
    },
    "question",
)
TOOL_QUESTION: Final = object_schema(
    {
        "tool": with_description(LABEL, "The tool on whose behalf the question is asked."),
        "question": object_schema(
            {
                "id": with_description(
                    LABEL,
                    "The tool's key for the question.",
                ),
                "text": with_description(TEXT, "The question, as the user reads it."),
                "context": CONTEXT,
                "answer_type": _answer_type(NON_SCHEMA_TYPES),
                "options": _OPTIONS,
                "default": _DEFAULT,
                "exclusive": {
                    "type": "boolean",
                    "default": False,
                    "description": "Whether only a person may answer it.",
                },
                "persistence": {
                    "type": "string",
                    "enum": ["none", "turn"],
                    "default": "turn",
                    "description": "Whether the user may let the answer apply for the rest of the turn.",
                },
            },
            "id",
            "text",
            "answer_type",
        ),
    },
    "tool",
    "question",
)
