"""The argument schemas of Answerback's own tools, one per dialect, as sent to models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import JsonValue

from answerback.core.form import AnswerType
from answerback.dialects.question_reader import NON_SCHEMA_TYPES
from answerback.dialects.tool_schema_parts import (
    ANY_OBJECT,
    CONTEXT,
    IN_ORDER,
    JSON_SCHEMA,
    KEY,
    LABEL,
    MULTIPLE,
    QUESTION_TEXT,
    TEXT,
    Schema,
    array_schema,
    flag_schema,
    nullable_schema,
    object_schema,
    options_schema,
    questions_schema,
    with_description,
)


def _answer_type(kinds: Iterable[AnswerType]) -> Schema:
    return {
        "type": "string",
        "enum": [kind.value for kind in kinds],
        "description": "The type of the answer.",
    }


_OPTIONS: Final = array_schema(
    LABEL, "The choices, all different; only for select and multi_select.", max_items=1_000
)
_LABELS: Final[Schema] = {"type": "array", "items": {"type": "string"}}
_FLAG_DEFAULT: Final = flag_schema(
    "For boolean: pre-selected for the user, who still has to confirm it."
)
_TEXT_DEFAULT: Final[Schema] = {
    "type": "string",
    "description": "For select, the option that is pre-selected; for text, what is pre-filled.",
}
_LIST_DEFAULT: Final = with_description(
    _LABELS, "For multi_select: the options that are pre-selected."
)
_DEFAULT: Final[Schema] = {"anyOf": [_FLAG_DEFAULT, _TEXT_DEFAULT, _LIST_DEFAULT]}
_OTHER_VALUES: Final[list[JsonValue]] = [{"type": "number"}, ANY_OBJECT]
"""The types of default that only questions with a schema have."""
_ANY_DEFAULT: Final[Schema] = {
    "anyOf": [_FLAG_DEFAULT, nullable_schema(_TEXT_DEFAULT), _LIST_DEFAULT, *_OTHER_VALUES]
}
_EXPECTED: Final[Schema] = {
    "anyOf": [{"type": "boolean"}, nullable_schema({"type": "string"}), _LABELS, *_OTHER_VALUES]
}

ASK_USER: Final = object_schema(
    {
        "questions": array_schema(
            object_schema(
                {
                    "id": with_description(
                        LABEL, "The key of this question's answer in the result; unique."
                    ),
                    "text": QUESTION_TEXT,
                    "context": CONTEXT,
                    "answer_type": _answer_type(AnswerType),
                    "options": _OPTIONS,
                    "schema": JSON_SCHEMA,
                    "default": _ANY_DEFAULT,
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
            IN_ORDER,
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
                "id": with_description(LABEL, "The tool's key for the question."),
                "text": QUESTION_TEXT,
                "context": CONTEXT,
                "answer_type": _answer_type(NON_SCHEMA_TYPES),
                "options": _OPTIONS,
                "default": _DEFAULT,
                "exclusive": flag_schema("Whether only a person may answer it.", default=False),
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
ASK_USER_FORM: Final = questions_schema(
    {
        "question": QUESTION_TEXT,
        "options": options_schema(
            object_schema({"label": LABEL, "description": TEXT}, "label"),
            "Two or three choices, the recommended one first. Do not add an Other: it is always offered.",
            min_items=2,
        ),
        "multiSelect": MULTIPLE,
    },
    "question",
    "options",
    description="One to three questions.",
)
QUESTION: Final = questions_schema(
    {
        "id": KEY,
        "label": with_description(LABEL, "A short title; defaults to Q1, Q2, …."),
        "prompt": QUESTION_TEXT,
        "options": options_schema(
            object_schema(
                {
                    "value": with_description(LABEL, "What you get back."),
                    "label": with_description(LABEL, "What the user sees."),
                    "description": TEXT,
                },
                "value",
                "label",
            ),
            min_items=1,
        ),
    },
    "id",
    "prompt",
    "options",
    description="The questions; if there are several, the user reviews the answers before submitting them.",
)
