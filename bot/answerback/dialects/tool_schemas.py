"""The schemas of the tools' arguments, one a dialect, as a model gets them."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

_TEXT: Final[dict[str, JsonValue]] = {"type": "string", "minLength": 1, "maxLength": 20_000}
_LABEL: Final[dict[str, JsonValue]] = {"type": "string", "minLength": 1, "maxLength": 1_000}


def _said(schema: dict[str, JsonValue], description: str) -> dict[str, JsonValue]:
    return {**schema, "description": description}


def _object(properties: dict[str, JsonValue], *required: str) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _array(
    items: JsonValue, description: str, least: int = 1, most: int = 100
) -> dict[str, JsonValue]:
    return {
        "type": "array",
        "items": items,
        "minItems": least,
        "maxItems": most,
        "description": description,
    }


def _answer_type(*kinds: str) -> dict[str, JsonValue]:
    return {
        "type": "string",
        "enum": list(kinds),
        "description": "What kind of value answers the question.",
    }


_OPTIONS: Final = _array(
    _LABEL, "The choices, all different; for select and multi_select, and only there.", most=1_000
)
_CONTEXT: Final = _said(_TEXT, "What the user needs to know to decide; shown above the question.")
_DEFAULT: Final[dict[str, JsonValue]] = {
    "description": "Pre-selected for the user, who still has to confirm it; of the question's answer type."
}
_TYPED: Final = ("boolean", "select", "multi_select", "text")

ASK_USER: Final = _object(
    {
        "questions": _array(
            _object(
                {
                    "id": _said(_LABEL, "The key of this question's answer in the result; unique."),
                    "text": _said(_TEXT, "The question, as the user reads it."),
                    "context": _CONTEXT,
                    "answer_type": _answer_type(*_TYPED, "schema"),
                    "options": _OPTIONS,
                    "schema": {
                        "type": ["object", "boolean"],
                        "description": "For schema, and only there: the JSON Schema of the answer. A flat object "
                        "becomes a form of input fields.",
                    },
                    "default": _DEFAULT,
                    "when": _said(
                        _object({"question_id": _LABEL, "equals": {}}, "question_id", "equals"),
                        "Ask only if an earlier question's answer equals this value; null: if it was skipped.",
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
SINGLE: Final = _object(
    {
        "question": _said(_TEXT, "The question, on one line."),
        "context": _CONTEXT,
        "answer_type": {**_answer_type(*_TYPED), "default": "text"},
        "options": _OPTIONS,
        "default": _DEFAULT,
    },
    "question",
)
ASK_USER_FORM: Final = _object(
    {
        "questions": _array(
            _object(
                {
                    "question": _said(_TEXT, "The question, as the user reads it."),
                    "options": _array(
                        _object({"label": _LABEL, "description": _TEXT}, "label"),
                        "Two or three choices, the recommended one first. Do not add an Other: it is always offered.",
                        least=2,
                        most=1_000,
                    ),
                    "multiSelect": {
                        "type": "boolean",
                        "description": "Whether several may be chosen.",
                    },
                },
                "question",
                "options",
            ),
            "One to three questions.",
        )
    },
    "questions",
)
CLAUDE: Final = _object(
    {
        "questions": _array(
            _object(
                {
                    "question": _said(_TEXT, "The question, as the user reads it; no two alike."),
                    "header": _said(_LABEL, "A very short title for it, 12 characters or less."),
                    "options": _array(
                        _object(
                            {
                                "label": _said(_LABEL, "The choice in a few words; no two alike."),
                                "description": {
                                    "type": "string",
                                    "description": "What choosing it means.",
                                },
                                "preview": {
                                    "type": "string",
                                    "description": "Markdown shown on demand.",
                                },
                            },
                            "label",
                            "description",
                        ),
                        "The choices. Do not add an Other: it is always offered.",
                        least=2,
                        most=4,
                    ),
                    "multiSelect": {
                        "type": "boolean",
                        "description": "Whether several may be chosen.",
                    },
                },
                "question",
                "header",
                "options",
            ),
            "One to four questions.",
            most=4,
        )
    },
    "questions",
)
QUESTION: Final = _object(
    {
        "questions": _array(
            _object(
                {
                    "id": _said(_LABEL, "The key of this question's answer; unique."),
                    "label": _said(_LABEL, "A short title; Q1, Q2, … without one."),
                    "prompt": _said(_TEXT, "The question, as the user reads it."),
                    "options": _array(
                        _object(
                            {
                                "value": _said(_LABEL, "What you get back."),
                                "label": _said(_LABEL, "What the user sees."),
                                "description": _TEXT,
                            },
                            "value",
                            "label",
                        ),
                        "The choices. Do not add an Other: it is always offered.",
                        most=1_000,
                    ),
                },
                "id",
                "prompt",
                "options",
            ),
            "The questions; the user looks over the answers to several before handing them in.",
        )
    },
    "questions",
)
TOOL_QUESTION: Final = _object(
    {
        "tool": _said(_LABEL, "The tool on whose behalf the question is put."),
        "question": _object(
            {
                "id": _said(
                    _LABEL, "Names the question for the tool; a remembered answer is found by it."
                ),
                "text": _said(_TEXT, "The question, as the user reads it."),
                "context": _CONTEXT,
                "answer_type": _answer_type(*_TYPED),
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
                    "description": "Whether the user may let the answer hold for the rest of the turn.",
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
