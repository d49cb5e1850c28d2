"""The way of a tool call there and back: its arguments to a form, the ended ask to a tool result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.errors import InvalidCallError, Problem
from answerback.core.form import Form
from answerback.core.json_schema import schemas
from answerback.dialects import (
    approval,
    ask_user,
    ask_user_form,
    claude,
    cline,
    codex,
    copilot,
    detection,
    elicitation,
    gemini,
    opencode,
    question,
    single,
    tool_definitions,
    tool_question,
    vscode,
)
from answerback.dialects.call_reader import ArgumentNode, ProblemCollector, did_you_mean


class Dialect(Protocol):
    """What each dialect's module offers."""

    def parse(self, call: ArgumentNode) -> Form | None:
        """The form of a call's arguments; None when mistakes were noted."""

    def render(self, ask: Ask) -> ToolResult:
        """The tool result of an ask that has ended otherwise than by End Turn."""


_QUICK: Final = 1_000
"""JSON values in a call that is read at once, at up to 5 µs each."""
_TEXT: Final = 100
"""Characters of a string that take as long to read as a value."""
DIALECTS: Final[dict[str, Dialect]] = {
    "ask_user": ask_user,
    "single": single,
    "ask_user_form": ask_user_form,
    "claude": claude,
    "question": question,
    "tool_question": tool_question,
    "elicitation": elicitation,
    "codex": codex,
    "opencode": opencode,
    "gemini": gemini,
    "copilot": copilot,
    "vscode": vscode,
    "cline": cline,
    "approval": approval,
}


def parse_call(
    name: str, arguments: dict[str, JsonValue], override: str | None = None
) -> tuple[str, Form]:
    """The dialect of a tool call and the form it asks to be walked.

    Args:
        override: the dialect to use whatever the tool is called.

    Raises:
        InvalidCallError: with every mistake, in document order.
    """
    found = None if override else detection.detect(name, arguments)
    dialect = found.dialect if found else override or ""
    if dialect not in DIALECTS:
        raise InvalidCallError(name[:100], [_unknown(name, override)])
    problems = ProblemCollector(arguments, name)
    form = DIALECTS[dialect].parse(ArgumentNode(arguments, problems))
    if form is not None and not schemas.is_all_encodable(arguments):  # in a field that nobody reads
        message = "The call holds half a surrogate pair, which is no text."
        problems.note(Problem(pointer="", code="wrong_type", message=message))
        form = None
    if form is None:
        wrong = problems.in_document_order()
        if found is not None and not found.by_shape:
            wrong = (_with_others(name, dialect, arguments, wrong[0]), *wrong[1:])
        raise InvalidCallError(name[:100], wrong, dialect)
    return dialect, form


def resolve_dialect(
    name: str, arguments: Mapping[str, JsonValue], override: str | None = None
) -> str:
    """The dialect that a call is read as; a name of none where it is not known."""
    found = None if override else detection.detect(name, arguments)
    return found.dialect if found else override or ""


def is_quick_to_parse(arguments: JsonValue) -> bool:
    """Whether a call is read in a few milliseconds: it is small and has no JSON Schema."""
    stack, nodes = [arguments], 0
    while stack and nodes <= _QUICK:
        node = stack.pop()
        nodes += 1
        if isinstance(node, dict):
            if node.keys() & {"schema", "requestedSchema", "args_schema"}:
                return False
            stack.extend(node.values())
        elif isinstance(node, str):
            nodes += len(node) // _TEXT
        elif isinstance(node, list):
            stack.extend(node)
    return nodes <= _QUICK


_ERASED: Final = ToolResult(
    content="What was asked and answered in this call has been erased and cannot be read any more. Do not retry this"
    " tool call.",
    structured={"erased": True},
    is_error=True,
)
"""What is left of every result once its ask is erased."""


def render_result(ask: Ask) -> ToolResult | None:
    """The tool result; None while the ask is open and when the person ended the turn."""
    if ask.open or ask.status is Status.TURN_ENDED:
        return None
    if ask.erased_at is not None:
        return _ERASED
    return DIALECTS[ask.request.dialect].render(ask)


def render_refusal(error: InvalidCallError) -> ToolResult:
    """What the model gets for a call that was refused: every mistake in words, so that it can fix the call."""
    first = error.problems[0]
    if error.dialect == "question" and (first.pointer, first.code) in _NO_QUESTIONS:
        return question.NO_QUESTIONS
    content = "\n".join(problem.message for problem in error.problems)
    errors: list[JsonValue] = [problem.model_dump() for problem in error.problems]
    return ToolResult(content=content, structured={"errors": errors}, is_error=True)


_NO_QUESTIONS: Final = {("/questions", code) for code in ("required", "too_few", "wrong_type")}


def _unknown(name: str, override: str | None) -> Problem:
    """An unknown dialect or name, with the nearest known one."""
    if override:
        where, sent, known = "/dialect", override[:100], [*DIALECTS]
        meant = did_you_mean(sent, known)
    else:
        where, sent, known = "/name", name[:100], [*detection.TOOL_NAMES]
        meant = did_you_mean(sent, known, alike=0)
    message = f'{where[1:]} "{sent}" is not known{meant}; known are: {", ".join(known)}.'
    return Problem(pointer=where, code="unknown_value", message=message)


def _with_others(
    name: str, dialect: str, arguments: Mapping[str, JsonValue], problem: Problem
) -> Problem:
    """A mistake in a call of no known shape, and what else its name takes."""
    fields = {
        other: tool_definitions.dialect_field_names(other)
        for other in detection.dialects_for_tool_name(name)
        if other != dialect
    }
    others = ", ".join(detection.rank_by_similarity(arguments, fields))
    message = f"{problem.message} The call was read in the dialect {dialect}; other dialects of {name} are: {others}."
    return problem.model_copy(update={"message": message})
