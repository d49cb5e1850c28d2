"""The dialect `claude`: Claude's AskUserQuestion, also in its extended form, and other hosts' ask_user_question.

Answers are keyed by question text. Based on Claude Code 2.1.332 (its extended form: CLAUDE_CODE_QUESTION_EXTENDED),
Mistral Vibe 3.0.3 and pydantic-ai-harness 0.62.0.
"""

from __future__ import annotations

from typing import Final

from answerback.core.form import Form
from answerback.dialects.ask_user_question import OTHERS, Limits, read_form
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect
from answerback.dialects.tool_description import described_tool
from answerback.dialects.tool_schema_parts import (
    CHOICE_LABEL,
    LABEL,
    MEANING,
    MULTIPLE,
    TEXT,
    object_schema,
    options_schema,
    questions_schema,
    with_description,
)
from answerback_hosts.claude import results

_CLAUDE_TOOL: Final = "AskUserQuestion"
"""The tool whose limits hold; ``ask_user_question`` of other hosts has others, or none."""
_LIMITS: Final = Limits(questions=4, min_options=2, options=4, header=None)


def _parse(call: ArgumentNode) -> Form | None:
    return read_form(call, _LIMITS if call.tool == _CLAUDE_TOOL else OTHERS)


_PARAMETERS: Final = questions_schema(
    {
        "question": with_description(TEXT, "The question, as the user reads it; must be unique."),
        "header": with_description(LABEL, "A very short title for it, 12 characters or less."),
        "options": options_schema(
            object_schema(
                {
                    "label": CHOICE_LABEL,
                    "description": {"type": "string", "description": MEANING},
                    "preview": {"type": "string", "description": "Markdown shown on demand."},
                },
                "label",
                "description",
            ),
            min_items=2,
            max_items=4,
        ),
        "multiSelect": MULTIPLE,
    },
    "question",
    "header",
    "options",
    description="One to four questions.",
    max_items=4,
)
_TOOL: Final = described_tool(
    "claude",
    "AskUserQuestion",
    _PARAMETERS,
    "Ask the user one to four multiple-choice questions and wait for the answers.",
    "each question with the chosen label, with several labels, or with the user's own words; or "
    "[cancelled by user] and their reply.",
    title="Ask the user multiple-choice questions",
)

DIALECT: Final = Dialect(
    name="claude",
    calls=(CallRule(("AskUserQuestion", "ask_user_question"), lists=True),),
    parse=_parse,
    render=results.render,
    tool=_TOOL,
    order=4,
    is_async=lambda _name, arguments: arguments.get("background") is True,  # Kimi's
)
