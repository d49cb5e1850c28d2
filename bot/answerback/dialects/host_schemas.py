"""The argument schemas of the hosts' tools, one per dialect, as sent to models."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.dialects.tool_schema_parts import (
    CONTEXT,
    IN_ORDER,
    LABEL,
    QUESTION_TEXT,
    TEXT,
    Schema,
    array_schema,
    flag_schema,
    object_schema,
    with_description,
)

_KEY: Final = with_description(LABEL, "The key of this question's answer; unique.")
_HEADER: Final = with_description(LABEL, "A very short title for it.")
_CHOICE: Final = with_description(LABEL, "The choice in a few words; must be unique.")
_MEANING: Final = "What choosing it means."
_MULTIPLE: Final = flag_schema("Whether several may be chosen.")
_LABELLED: Final = object_schema(
    {"label": _CHOICE, "description": with_description(TEXT, _MEANING)}, "label"
)
_NO_OTHER: Final = "The choices. Do not add an Other: it is always offered."


def _options(
    option: Schema, description: str = _NO_OTHER, min_items: int = 0, max_items: int = 1_000
) -> Schema:
    return array_schema(option, description, min_items, max_items)


def _questions(
    question: dict[str, JsonValue],
    *required: str,
    description: str = IN_ORDER,
    max_items: int = 100,
) -> Schema:
    listed = array_schema(object_schema(question, *required), description, max_items=max_items)
    return object_schema({"questions": listed}, "questions")


_OR_FREE_TEXT: Final = _options(
    _LABELLED,
    "The choices; none for a free-text answer. Do not add an Other: it is always offered.",
)
_SUGGESTIONS: Final = _options(LABEL)

ASK_USER_FORM: Final = _questions(
    {
        "question": QUESTION_TEXT,
        "options": _options(
            object_schema({"label": LABEL, "description": TEXT}, "label"),
            "Two or three choices, the recommended one first. Do not add an Other: it is always offered.",
            min_items=2,
        ),
        "multiSelect": _MULTIPLE,
    },
    "question",
    "options",
    description="One to three questions.",
)
CLAUDE: Final = _questions(
    {
        "question": with_description(TEXT, "The question, as the user reads it; must be unique."),
        "header": with_description(LABEL, "A very short title for it, 12 characters or less."),
        "options": _options(
            object_schema(
                {
                    "label": _CHOICE,
                    "description": {"type": "string", "description": _MEANING},
                    "preview": {"type": "string", "description": "Markdown shown on demand."},
                },
                "label",
                "description",
            ),
            min_items=2,
            max_items=4,
        ),
        "multiSelect": _MULTIPLE,
    },
    "question",
    "header",
    "options",
    description="One to four questions.",
    max_items=4,
)
QUESTION: Final = _questions(
    {
        "id": _KEY,
        "label": with_description(LABEL, "A short title; defaults to Q1, Q2, …."),
        "prompt": QUESTION_TEXT,
        "options": _options(
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
CODEX: Final = _questions(
    {"id": _KEY, "header": _HEADER, "question": QUESTION_TEXT, "options": _OR_FREE_TEXT},
    "id",
    "question",
)
OPENCODE: Final = _questions(
    {
        "question": QUESTION_TEXT,
        "header": _HEADER,
        "options": _OR_FREE_TEXT,
        "multiple": _MULTIPLE,
    },
    "question",
    "options",
)
GEMINI: Final = _questions(
    {
        "question": QUESTION_TEXT,
        "header": _HEADER,
        "type": {
            "type": "string",
            "enum": ["choice", "text", "yesno"],
            "description": "Options to choose from, free text, or Yes and No.",
        },
        "options": _options(
            _LABELLED, "Only for choice. Do not add an Other: it is always offered.", min_items=2
        ),
        "multiSelect": _MULTIPLE,
        "placeholder": with_description(TEXT, "A hint for a free-text answer."),
    },
    "question",
    "type",
)
COPILOT: Final = object_schema(
    {
        "question": QUESTION_TEXT,
        "choices": _options(LABEL, "The choices, all different; none for a free-text answer."),
        "allowFreeform": flag_schema(
            "Whether the user may answer with free text instead of a choice.", default=True
        ),
    },
    "question",
    "choices",
)
VSCODE: Final = _questions(
    {
        "header": with_description(LABEL, "A very short title, the key of the answer; unique."),
        "question": QUESTION_TEXT,
        "message": CONTEXT,
        "options": _options(
            object_schema(
                {
                    "label": _CHOICE,
                    "description": with_description(TEXT, _MEANING),
                    "recommended": flag_schema(
                        "Pre-selected for the user, who still has to confirm it."
                    ),
                },
                "label",
            ),
            "The choices; none for a free-text answer. Do not add an Other.",
        ),
        "multiSelect": _MULTIPLE,
        "allowFreeformInput": flag_schema(
            "Whether the user may answer with free text instead of choosing.", default=True
        ),
    },
    "header",
    "question",
)
CLINE: Final = object_schema(
    {
        "question": QUESTION_TEXT,
        "options": _options(
            LABEL, "Two to five choices, all different; none for a free-text answer."
        ),
    },
    "question",
)
OPENCLAW: Final = _questions(
    {
        "id": _KEY,
        "header": _HEADER,
        "question": QUESTION_TEXT,
        "options": _options(_LABELLED, min_items=1),
        "multiSelect": _MULTIPLE,
    },
    "id",
    "header",
    "question",
    "options",
)
DEEPAGENTS: Final = _questions(
    {
        "question": QUESTION_TEXT,
        "type": {
            "type": "string",
            "enum": ["text", "multiple_choice", "multi_select"],
            "description": "Free text, one of the choices, or several.",
        },
        "choices": _options(object_schema({"value": LABEL}, "value")),
    },
    "question",
    "type",
)
AUGGIE: Final = object_schema(
    {"question": QUESTION_TEXT, "suggested_responses": _SUGGESTIONS, "context": CONTEXT},
    "question",
    "suggested_responses",
)
CONTINUE: Final = object_schema(
    {
        "question": QUESTION_TEXT,
        "options": _SUGGESTIONS,
        "defaultAnswer": with_description(
            LABEL, "Pre-selected for the user, who still confirms it."
        ),
    },
    "question",
    "options",
)
CURSOR: Final = _questions(
    {
        "id": _KEY,
        "prompt": QUESTION_TEXT,
        "options": _options(
            object_schema({"id": LABEL, "label": LABEL}, "id", "label"), min_items=1
        ),
        "allow_multiple": _MULTIPLE,
    },
    "id",
    "prompt",
    "options",
)
HERMES: Final = _questions(
    {"question": QUESTION_TEXT, "choices": _SUGGESTIONS, "multi_select": _MULTIPLE}, "question"
)
