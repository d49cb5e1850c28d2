"""The dialect `claude`: Claude's AskUserQuestion, also in its extended form, and other hosts' ask_user_question.

Answers are keyed by question text. Based on Claude Code 2.1.332 (its extended form: CLAUDE_CODE_QUESTION_EXTENDED),
Mistral Vibe 3.0.3, Qwen Code 0.24.4 and pydantic-ai-harness 0.62.0.
"""

from __future__ import annotations

from typing import Final

from answerback.core.answers import format_value
from answerback.core.form import MAX_LABEL, AnswerType, Form, Question
from answerback.dialects import choice_forms, claude_questions, claude_results, qwen
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.claude_questions import CHOICE, CLAUDE, KINDS, OTHERS, Limits
from answerback.dialects.dialect import CallRule, Dialect, Shape
from answerback.dialects.tool_definitions import BY_DIALECT

_CLAUDE_TOOL: Final = "AskUserQuestion"
"""The tool whose limits hold; ``ask_user_question`` of other hosts has others, or none."""


def parse(call: ArgumentNode) -> Form | None:
    return parse_within(call, CLAUDE if call.tool == _CLAUDE_TOOL else OTHERS)


def parse_within(call: ArgumentNode, limits: Limits) -> Form | None:
    """Parse a call within the limits of its tool."""
    call.is_object()
    title, context = (call.text(key, required=False, blank=True) for key in ("title", "context"))
    texts: set[str] = set()
    place, key = (
        (qwen.meta(call), qwen.QUESTIONS) if call.tool == qwen.NAME else (call, "questions")
    )
    nodes = place.items(key, min_items=1, max_items=limits.questions, noun="questions")
    questions = [
        _question(node, f"q{i}", texts, limits, title, context)
        for i, node in enumerate(nodes, 1)
        if node.is_object()
    ]
    return choice_forms.form_of(call, *questions)


def _question(
    node: ArgumentNode,
    question_id: str,
    texts: set[str],
    limits: Limits,
    title: str | None,
    context: str | None,
) -> Question | None:
    text = node.text("question")
    if text in texts:
        message = (
            f"{node.name}.question {format_value(text)} is already used; "
            "the texts are the keys of the answers."
        )
        node.fail("duplicate_question", message, "question")
    # Claude's choices always have multiSelect and a header; Kimi's may have neither.
    kind = node.choice("kind", KINDS, CHOICE)
    is_claudes = limits.header is None and kind == CHOICE and node.has("multiSelect")
    needs_header = is_claudes or limits.header is True
    header = node.text("header", required=needs_header, blank=not needs_header)
    multiple = claude_questions.read_multiple(node)
    options = claude_questions.read_options(node, kind, limits)
    schema = claude_questions.read_number(node, kind, header)
    about = claude_questions.read_context(node, title, context)
    if text is None:
        return None
    texts.add(text)
    question = Question(
        id=question_id,
        text=text,
        context=about,
        header=(header or "")[:MAX_LABEL],
        answer_type=AnswerType.TEXT,
    )
    if schema is not None:
        return claude_questions.with_number(question, node, schema)
    if not options:
        return question
    choices: dict[str, object] = {
        "answer_type": AnswerType.MULTI_SELECT if multiple else AnswerType.SELECT,
        "options": options,
        "other": not node.flag("hideOther", default=False),
        "notes": True,
    }
    return question.model_copy(update=choices)


DIALECT: Final = Dialect(
    name="claude",
    calls=(
        CallRule(("AskUserQuestion", "ask_user_question"), lists=True),
        CallRule((qwen.NAME,), Shape(at=qwen.KIND, says=qwen.USER_QUESTION), 10),
    ),
    parse=parse,
    render=claude_results.render,
    tool=BY_DIALECT["claude"],
    order=4,
    is_async=lambda _name, arguments: arguments.get("background") is True,  # Kimi's
)
