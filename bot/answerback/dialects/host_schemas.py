"""The argument schemas of the hosts' tools, one per dialect, as sent to models."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.dialects.tool_schema_parts import (
    CONTEXT,
    LABEL,
    TEXT,
    array_schema,
    object_schema,
    with_description,
)

ASK_USER_FORM: Final = object_schema(
    {
        "questions": array_schema(
            object_schema(
                {
                    "question": with_description(TEXT, "The question, as the user reads it."),
                    "options": array_schema(
                        object_schema({"label": LABEL, "description": TEXT}, "label"),
                        "Two or three choices, the recommended one first. Do not add an Other: it is always offered.",
                        min_items=2,
                        max_items=1_000,
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
CLAUDE: Final = object_schema(
    {
        "questions": array_schema(
            object_schema(
                {
                    "question": with_description(
                        TEXT, "The question, as the user reads it; must be unique."
                    ),
                    "header": with_description(
                        LABEL, "A very short title for it, 12 characters or less."
                    ),
                    "options": array_schema(
                        object_schema(
                            {
                                "label": with_description(
                                    LABEL, "The choice in a few words; must be unique."
                                ),
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
                        min_items=2,
                        max_items=4,
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
            max_items=4,
        )
    },
    "questions",
)
QUESTION: Final = object_schema(
    {
        "questions": array_schema(
            object_schema(
                {
                    "id": with_description(LABEL, "The key of this question's answer; unique."),
                    "label": with_description(LABEL, "A short title; defaults to Q1, Q2, …."),
                    "prompt": with_description(TEXT, "The question, as the user reads it."),
                    "options": array_schema(
                        object_schema(
                            {
                                "value": with_description(LABEL, "What you get back."),
                                "label": with_description(LABEL, "What the user sees."),
                                "description": TEXT,
                            },
                            "value",
                            "label",
                        ),
                        "The choices. Do not add an Other: it is always offered.",
                        max_items=1_000,
                    ),
                },
                "id",
                "prompt",
                "options",
            ),
            "The questions; if there are several, the user reviews the answers before submitting them.",
        )
    },
    "questions",
)
_HEADER: Final = with_description(LABEL, "A very short title for it.")
_MULTIPLE: Final[dict[str, JsonValue]] = {
    "type": "boolean",
    "description": "Whether several may be chosen.",
}
_LABELLED: Final = object_schema(
    {
        "label": with_description(LABEL, "The choice in a few words; must be unique."),
        "description": with_description(TEXT, "What choosing it means."),
    },
    "label",
)
CODEX: Final = object_schema(
    {
        "questions": array_schema(
            object_schema(
                {
                    "id": with_description(LABEL, "The key of this question's answer; unique."),
                    "header": _HEADER,
                    "question": with_description(TEXT, "The question, as the user reads it."),
                    "options": array_schema(
                        _LABELLED,
                        "The choices; none for a free-text answer. Do not add an Other: it is always offered.",
                        min_items=0,
                        max_items=1_000,
                    ),
                },
                "id",
                "question",
            ),
            "The questions, in the order in which they are asked.",
        )
    },
    "questions",
)
OPENCODE: Final = object_schema(
    {
        "questions": array_schema(
            object_schema(
                {
                    "question": with_description(TEXT, "The question, as the user reads it."),
                    "header": _HEADER,
                    "options": array_schema(
                        _LABELLED,
                        "The choices; none for a free-text answer. Do not add an Other: it is always offered.",
                        min_items=0,
                        max_items=1_000,
                    ),
                    "multiple": _MULTIPLE,
                },
                "question",
                "options",
            ),
            "The questions, in the order in which they are asked.",
        )
    },
    "questions",
)
GEMINI: Final = object_schema(
    {
        "questions": array_schema(
            object_schema(
                {
                    "question": with_description(TEXT, "The question, as the user reads it."),
                    "header": _HEADER,
                    "type": {
                        "type": "string",
                        "enum": ["choice", "text", "yesno"],
                        "description": "Options to choose from, free text, or Yes and No.",
                    },
                    "options": array_schema(
                        _LABELLED,
                        "Only for choice. Do not add an Other: it is always offered.",
                        min_items=2,
                        max_items=1_000,
                    ),
                    "multiSelect": _MULTIPLE,
                    "placeholder": with_description(TEXT, "A hint for a free-text answer."),
                },
                "question",
                "type",
            ),
            "The questions, in the order in which they are asked.",
        )
    },
    "questions",
)
COPILOT: Final = object_schema(
    {
        "question": with_description(TEXT, "The question, as the user reads it."),
        "choices": array_schema(
            LABEL,
            "The choices, all different; none for a free-text answer.",
            min_items=0,
            max_items=1_000,
        ),
        "allowFreeform": {
            "type": "boolean",
            "default": True,
            "description": "Whether the user may answer with free text instead of a choice.",
        },
    },
    "question",
    "choices",
)
VSCODE: Final = object_schema(
    {
        "questions": array_schema(
            object_schema(
                {
                    "header": with_description(
                        LABEL, "A very short title, the key of the answer; unique."
                    ),
                    "question": with_description(TEXT, "The question, as the user reads it."),
                    "message": CONTEXT,
                    "options": array_schema(
                        object_schema(
                            {
                                "label": with_description(
                                    LABEL, "The choice in a few words; must be unique."
                                ),
                                "description": with_description(TEXT, "What choosing it means."),
                                "recommended": {
                                    "type": "boolean",
                                    "description": "Pre-selected for the user, who still has to confirm it.",
                                },
                            },
                            "label",
                        ),
                        "The choices; none for a free-text answer. Do not add an Other.",
                        min_items=0,
                        max_items=1_000,
                    ),
                    "multiSelect": _MULTIPLE,
                    "allowFreeformInput": {
                        "type": "boolean",
                        "default": True,
                        "description": "Whether the user may answer with free text instead of choosing.",
                    },
                },
                "header",
                "question",
            ),
            "The questions, in the order in which they are asked.",
        )
    },
    "questions",
)
CLINE: Final = object_schema(
    {
        "question": with_description(TEXT, "The question, as the user reads it."),
        "options": array_schema(
            LABEL,
            "Two to five choices, all different; none for a free-text answer.",
            min_items=0,
            max_items=1_000,
        ),
    },
    "question",
)


def _questions(question: dict[str, JsonValue], *required: str) -> dict[str, JsonValue]:
    description = "The questions, in the order in which they are asked."
    listed = array_schema(object_schema(question, *required), description)
    return object_schema({"questions": listed}, "questions")


_QUESTION: Final = with_description(TEXT, "The question, as the user reads it.")
_NO_OTHER: Final = "The choices. Do not add an Other: it is always offered."
OPENCLAW: Final = _questions(
    {
        "id": with_description(LABEL, "The key of this question's answer; unique."),
        "header": _HEADER,
        "question": _QUESTION,
        "options": array_schema(_LABELLED, _NO_OTHER, max_items=1_000),
        "multiSelect": _MULTIPLE,
    },
    "id",
    "header",
    "question",
    "options",
)
DEEPAGENTS: Final = _questions(
    {
        "question": _QUESTION,
        "type": {
            "type": "string",
            "enum": ["text", "multiple_choice", "multi_select"],
            "description": "Free text, one of the choices, or several.",
        },
        "choices": array_schema(
            object_schema({"value": LABEL}, "value"), _NO_OTHER, min_items=0, max_items=1_000
        ),
    },
    "question",
    "type",
)
_SUGGESTIONS: Final = array_schema(LABEL, _NO_OTHER, min_items=0, max_items=1_000)
AUGGIE: Final = object_schema(
    {"question": _QUESTION, "suggested_responses": _SUGGESTIONS, "context": CONTEXT},
    "question",
    "suggested_responses",
)
CONTINUE: Final = object_schema(
    {
        "question": _QUESTION,
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
        "id": with_description(LABEL, "The key of this question's answer; unique."),
        "prompt": _QUESTION,
        "options": array_schema(
            object_schema({"id": LABEL, "label": LABEL}, "id", "label"), _NO_OTHER, max_items=1_000
        ),
        "allow_multiple": _MULTIPLE,
    },
    "id",
    "prompt",
    "options",
)
HERMES: Final = _questions(
    {"question": _QUESTION, "choices": _SUGGESTIONS, "multi_select": _MULTIPLE}, "question"
)
