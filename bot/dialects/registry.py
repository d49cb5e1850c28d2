"""Which dialect a tool call speaks, and its way there and back: arguments to form, ended ask to tool result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from pydantic import JsonValue

from bot import schemas
from bot.ask import Ask, Status, ToolResult
from bot.dialects import (
    ask_user,
    ask_user_form,
    claude,
    elicitation,
    question,
    single,
    tool_question,
)
from bot.dialects.reading import Node, Problems, did_you_mean
from bot.errors import InvalidCallError, Problem
from bot.form import Form


class Dialect(Protocol):
    """What each dialect's module offers."""

    def parse(self, call: Node) -> Form | None:
        """The form of a call's arguments; None when mistakes were noted."""

    def render(self, ask: Ask) -> ToolResult:
        """The tool result of an ask that has ended otherwise than by End Turn."""


_QUICK: Final = 1_000
"""JSON values in a call that is read at once, at up to 5 µs each."""
DIALECTS: Final[dict[str, Dialect]] = {
    "ask_user": ask_user,
    "single": single,
    "ask_user_form": ask_user_form,
    "claude": claude,
    "question": question,
    "tool_question": tool_question,
    "elicitation": elicitation,
}
NAMES: Final = {
    "ask_user": "ask_user",
    "AskUserQuestion": "claude",
    "ask_user_question": "claude",
    "question": "question",
    "tool_question": "tool_question",
    "elicitation/create": "elicitation",
}
"""Tool names and their dialects; those of `SHAPES` are told apart further."""
SHAPES: Final = {"ask_user": ("ask_user", "single", "ask_user_form")}
"""The dialects of a name that has several: the shape of the call decides."""


def parse_call(
    name: str, arguments: dict[str, JsonValue], override: str | None = None
) -> tuple[str, Form]:
    """The dialect of a tool call and the form it asks to be walked.

    Args:
        override: the dialect to use whatever the tool is called.

    Raises:
        InvalidCallError: with every mistake, in document order.
    """
    dialect = dialect_of(name, arguments, override)
    if dialect not in DIALECTS:
        where, known = ("/dialect", DIALECTS) if override else ("/name", NAMES)
        sent, words = (override or name)[:100], ", ".join(known)
        meant = did_you_mean(sent, known)
        message = f'{where[1:]} "{sent}" is not known{meant}; known are: {words}.'
        raise InvalidCallError(
            name[:100], [Problem(pointer=where, code="unknown_value", message=message)]
        )
    problems = Problems(arguments)
    form = DIALECTS[dialect].parse(Node(arguments, problems))
    if form is not None and not schemas.all_text(arguments):  # in a field that nobody reads
        message = "The call holds half a surrogate pair, which is no text."
        problems.note(Problem(pointer="", code="wrong_type", message=message))
        form = None
    if form is None:
        found = problems.in_document_order()
        if override is None and _shape(name, arguments) is None:
            found = (_with_others(name, dialect, found[0]), *found[1:])
        raise InvalidCallError(name[:100], found, dialect)
    return dialect, form


def dialect_of(name: str, arguments: Mapping[str, JsonValue], override: str | None = None) -> str:
    """The dialect that a call is read as; a name of none where it is not known."""
    return override or _dialect(name, arguments)


def names_of(dialect: str) -> tuple[str, ...]:
    """Every name by which a tool of this dialect may be called."""
    return tuple(name for name, own in NAMES.items() if dialect in SHAPES.get(name, (own,)))


def is_quick(arguments: JsonValue) -> bool:
    """Whether a call is read in a few milliseconds: it is small and has no JSON Schema."""
    stack, nodes = [arguments], 0
    while stack and nodes <= _QUICK:
        node = stack.pop()
        nodes += 1
        if isinstance(node, dict):
            if node.keys() & {"schema", "requestedSchema"}:
                return False
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return nodes <= _QUICK


def result_of(ask: Ask) -> ToolResult | None:
    """The tool result; None while the ask is open and when the person ended the turn."""
    if ask.open or ask.status is Status.TURN_ENDED:
        return None
    return DIALECTS[ask.request.dialect].render(ask)


def refusal(error: InvalidCallError) -> ToolResult:
    """What the model gets for a call that was refused: every mistake in words, so that it can mend the call."""
    first = error.problems[0]
    if error.dialect == "question" and (first.pointer, first.code) in _NO_QUESTIONS:
        return question.NO_QUESTIONS
    content = "\n".join(problem.message for problem in error.problems)
    errors: list[JsonValue] = [problem.model_dump() for problem in error.problems]
    return ToolResult(content=content, structured={"errors": errors}, is_error=True)


_NO_QUESTIONS: Final = {("/questions", code) for code in ("required", "too_few", "wrong_type")}


def _dialect(name: str, arguments: Mapping[str, JsonValue]) -> str:
    return _shape(name, arguments) or NAMES.get(name, "")


def _shape(name: str, arguments: Mapping[str, JsonValue]) -> str | None:
    """The dialect that a call's shape tells; None where the call has no shape that its name knows."""
    if name not in SHAPES:
        return NAMES.get(name)
    given = {key for key, value in arguments.items() if value is not None}
    if "questions" not in given:
        return "single" if given.intersection(single.FIELDS) else None
    questions = arguments["questions"]
    first = questions[0] if isinstance(questions, list) and questions else None
    if isinstance(first, dict) and "answer_type" in first:
        return "ask_user"
    return "ask_user_form" if isinstance(first, dict) and "question" in first else None


def _with_others(name: str, dialect: str, problem: Problem) -> Problem:
    """A mistake in a call of no known shape, and what else its name takes."""
    others = ", ".join(other for other in SHAPES[name] if other != dialect)
    message = (
        f"{problem.message} {name} is read as {dialect} here; its other dialects are: {others}."
    )
    return problem.model_copy(update={"message": message})
