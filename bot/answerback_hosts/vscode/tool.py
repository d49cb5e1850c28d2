"""The definition of askQuestions for a model."""

from __future__ import annotations

from typing import Final

from answerback.dialects.tool_description import SEVERAL, described_tool
from answerback.dialects.tool_schema_parts import (
    CHOICE_LABEL,
    CONTEXT,
    LABEL,
    MEANING,
    MULTIPLE,
    QUESTION_TEXT,
    TEXT,
    flag_schema,
    object_schema,
    options_schema,
    questions_schema,
    with_description,
)

_PARAMETERS: Final = questions_schema(
    {
        "header": with_description(LABEL, "A very short title, the key of the answer; unique."),
        "question": QUESTION_TEXT,
        "message": CONTEXT,
        "options": options_schema(
            object_schema(
                {
                    "label": CHOICE_LABEL,
                    "description": with_description(TEXT, MEANING),
                    "recommended": flag_schema(
                        "Pre-selected for the user, who still has to confirm it."
                    ),
                },
                "label",
            ),
            "The choices; none for a free-text answer. Do not add an Other.",
        ),
        "multiSelect": MULTIPLE,
        "allowFreeformInput": flag_schema(
            "Whether the user may answer with free text instead of choosing.", default=True
        ),
    },
    "header",
    "question",
)
TOOL: Final = described_tool(
    "vscode",
    "vscode_askQuestions",
    _PARAMETERS,
    SEVERAL,
    '{"answers": {header: {"selected": […], "freeText": …, "skipped": …}}}. If the user replies instead, their '
    "message is the freeText of the question that was open, and the rest is skipped.",
    recommend="set recommended on the option.",
)
