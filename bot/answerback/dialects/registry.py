"""Parse tool calls into forms, and render ended asks as tool results, in the dialect of the call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.errors import DeclinedCallError, InvalidCallError, Problem
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
    """The interface of a dialect's module."""

    def parse(self, call: ArgumentNode) -> Form | None:
        """Parse a call's arguments into a form, or return None if problems were recorded."""

    def render(self, ask: Ask) -> ToolResult:
        """The tool result of an ask that has ended in any way other than End Turn."""


_QUICK: Final = 1_000
"""The most JSON values in a call that is quick to parse, at up to 5 µs each."""
_TEXT: Final = 100
"""Characters of a string that take as long to parse as one value."""
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
    """Parse a tool call and return its dialect and form.

    Args:
        override: the dialect to use, regardless of the tool's name.

    Raises:
        InvalidCallError: with every problem, in document order.
    """
    detected = None if override else detection.detect(name, arguments)
    dialect = detected.dialect if detected else override or ""
    if dialect not in DIALECTS:
        raise InvalidCallError(name[:100], [_unknown(name, override)])
    problems = ProblemCollector(arguments, name)
    form = DIALECTS[dialect].parse(ArgumentNode(arguments, problems))
    if form is not None and not schemas.is_all_encodable(arguments):  # in a field that is not read
        message = "The call contains half a surrogate pair, which is not valid text."
        problems.add(Problem(pointer="", code="wrong_type", message=message))
        form = None
    if form is None:
        listed = problems.in_document_order()
        if detected is not None and not detected.by_shape:
            listed = (_mention_other_dialects(name, dialect, arguments, listed[0]), *listed[1:])
        raise InvalidCallError(name[:100], listed, dialect)
    return dialect, form


def resolve_dialect(
    name: str, arguments: Mapping[str, JsonValue], override: str | None = None
) -> str:
    """Return the name of a call's dialect; for an unknown call, a name that is not a dialect's."""
    detected = None if override else detection.detect(name, arguments)
    return detected.dialect if detected else override or ""


def is_quick_to_parse(arguments: JsonValue) -> bool:
    """Return whether a call can be parsed within a few milliseconds: it is small and has no JSON Schema."""
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
    content="The questions and answers of this call have been erased and can no longer be read. Do not retry this"
    " tool call.",
    structured={"erased": True},
    is_error=True,
)
"""The result of every ask that has been erased."""


def render_result(ask: Ask) -> ToolResult | None:
    """Render the tool result; None if the ask is open or the person ended the turn."""
    if ask.open or ask.status is Status.TURN_ENDED:
        return None
    if ask.erased_at is not None:
        return _ERASED
    return DIALECTS[ask.request.dialect].render(ask)


def render_refusal(error: InvalidCallError) -> ToolResult:
    """Render the result of a rejected call: a message for every problem, so that the model can fix the call."""
    if isinstance(error, DeclinedCallError):
        return ToolResult.model_validate(error.result)
    first = error.problems[0]
    if error.dialect == "question" and (first.pointer, first.code) in _NO_QUESTIONS:
        return question.NO_QUESTIONS
    content = "\n".join(problem.message for problem in error.problems)
    errors: list[JsonValue] = [problem.model_dump() for problem in error.problems]
    return ToolResult(content=content, structured={"errors": errors}, is_error=True)


_NO_QUESTIONS: Final = {("/questions", code) for code in ("required", "too_few")}


def _unknown(name: str, override: str | None) -> Problem:
    """Return the problem with an unknown dialect or name, suggesting the closest known one."""
    if override:
        pointer, sent, known = "/dialect", override[:100], [*DIALECTS]
        meant = did_you_mean(sent, known)
    else:
        pointer, sent, known = "/name", name[:100], [*detection.TOOL_NAMES]
        meant = did_you_mean(sent, known, min_similarity=0)
    message = f'Unknown {pointer[1:]} "{sent}"{meant}; the known ones are: {", ".join(known)}.'
    return Problem(pointer=pointer, code="unknown_value", message=message)


def _mention_other_dialects(
    name: str, dialect: str, arguments: Mapping[str, JsonValue], problem: Problem
) -> Problem:
    """Add to the problem of a call with an unknown shape which other dialects its name has."""
    fields = {
        other: tool_definitions.dialect_field_names(other)
        for other in detection.dialects_for_tool_name(name)
        if other != dialect
    }
    others = ", ".join(detection.rank_by_similarity(arguments, fields))
    message = f"{problem.message} The call was read in the dialect {dialect}; other dialects of {name} are: {others}."
    return problem.model_copy(update={"message": message})
