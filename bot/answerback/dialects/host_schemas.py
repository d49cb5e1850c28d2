"""The schemas of the arguments of the hosts' tools, one a dialect, as a model gets them."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.dialects.tool_schema_parts import CONTEXT, LABEL, TEXT, an_array, an_object, said

ASK_USER_FORM: Final = an_object(
    {
        "questions": an_array(
            an_object(
                {
                    "question": said(TEXT, "The question, as the user reads it."),
                    "options": an_array(
                        an_object({"label": LABEL, "description": TEXT}, "label"),
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
CLAUDE: Final = an_object(
    {
        "questions": an_array(
            an_object(
                {
                    "question": said(TEXT, "The question, as the user reads it; no two alike."),
                    "header": said(LABEL, "A very short title for it, 12 characters or less."),
                    "options": an_array(
                        an_object(
                            {
                                "label": said(LABEL, "The choice in a few words; no two alike."),
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
QUESTION: Final = an_object(
    {
        "questions": an_array(
            an_object(
                {
                    "id": said(LABEL, "The key of this question's answer; unique."),
                    "label": said(LABEL, "A short title; Q1, Q2, … without one."),
                    "prompt": said(TEXT, "The question, as the user reads it."),
                    "options": an_array(
                        an_object(
                            {
                                "value": said(LABEL, "What you get back."),
                                "label": said(LABEL, "What the user sees."),
                                "description": TEXT,
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
_HEADER: Final = said(LABEL, "A very short title for it.")
_MULTIPLE: Final[dict[str, JsonValue]] = {
    "type": "boolean",
    "description": "Whether several may be chosen.",
}
_LABELLED: Final = an_object(
    {
        "label": said(LABEL, "The choice in a few words; no two alike."),
        "description": said(TEXT, "What choosing it means."),
    },
    "label",
)
CODEX: Final = an_object(
    {
        "questions": an_array(
            an_object(
                {
                    "id": said(LABEL, "The key of this question's answer; unique."),
                    "header": _HEADER,
                    "question": said(TEXT, "The question, as the user reads it."),
                    "options": an_array(
                        _LABELLED,
                        "The choices; none for an answer in words. Do not add an Other: it is always offered.",
                        least=0,
                        most=1_000,
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
OPENCODE: Final = an_object(
    {
        "questions": an_array(
            an_object(
                {
                    "question": said(TEXT, "The question, as the user reads it."),
                    "header": _HEADER,
                    "options": an_array(
                        _LABELLED,
                        "The choices; none for an answer in words. Do not add an Other: it is always offered.",
                        least=0,
                        most=1_000,
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
GEMINI: Final = an_object(
    {
        "questions": an_array(
            an_object(
                {
                    "question": said(TEXT, "The question, as the user reads it."),
                    "header": _HEADER,
                    "type": {
                        "type": "string",
                        "enum": ["choice", "text", "yesno"],
                        "description": "Options to choose from, an answer in words, or Yes and No.",
                    },
                    "options": an_array(
                        _LABELLED,
                        "For choice, and only there. Do not add an Other: it is always offered.",
                        least=2,
                        most=1_000,
                    ),
                    "multiSelect": _MULTIPLE,
                    "placeholder": said(TEXT, "A hint for an answer in words."),
                },
                "question",
                "type",
            ),
            "The questions, in the order in which they are asked.",
        )
    },
    "questions",
)
COPILOT: Final = an_object(
    {
        "question": said(TEXT, "The question, as the user reads it."),
        "choices": an_array(
            LABEL, "The choices, all different; none for an answer in words.", least=0, most=1_000
        ),
        "allowFreeform": {
            "type": "boolean",
            "default": True,
            "description": "Whether the user may answer a question with choices in words.",
        },
    },
    "question",
    "choices",
)
VSCODE: Final = an_object(
    {
        "questions": an_array(
            an_object(
                {
                    "header": said(LABEL, "A very short title, the key of the answer; unique."),
                    "question": said(TEXT, "The question, as the user reads it."),
                    "message": CONTEXT,
                    "options": an_array(
                        an_object(
                            {
                                "label": said(LABEL, "The choice in a few words; no two alike."),
                                "description": said(TEXT, "What choosing it means."),
                                "recommended": {
                                    "type": "boolean",
                                    "description": "Pre-selected for the user, who still has to confirm it.",
                                },
                            },
                            "label",
                        ),
                        "The choices; none for an answer in words. Do not add an Other.",
                        least=0,
                        most=1_000,
                    ),
                    "multiSelect": _MULTIPLE,
                    "allowFreeformInput": {
                        "type": "boolean",
                        "default": True,
                        "description": "Whether the user may answer in words instead of choosing.",
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
CLINE: Final = an_object(
    {
        "question": said(TEXT, "The question, as the user reads it."),
        "options": an_array(
            LABEL,
            "Two to five choices, all different; none for an answer in words.",
            least=0,
            most=1_000,
        ),
    },
    "question",
)
