"""Parse tool calls into forms, and render ended asks as tool results, in the dialect of the call."""

from __future__ import annotations

from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.errors import DeclinedCallError, InvalidCallError, Problem
from answerback.core.form import Form
from answerback.core.secrecy import is_unconfirmed, without_unconfirmed
from answerback.dialects import generous_reader, question, tool_definitions
from answerback.dialects.call_reader import ArgumentNode, ProblemCollector, did_you_mean
from answerback.dialects.dialect import Json, first_question
from answerback.dialects.installed import (
    call_rules,
    dialects_for_tool_name,
    installed_dialects,
    tool_names,
)
from answerback.dialects.results import json_result
from answerback_base import strict_json

_QUICK: Final = 1_000
"""The most JSON values in a call that is quick to parse, at up to 5 µs each."""
_TEXT: Final = 100
"""Characters of a string that take as long to parse as one value."""
_SCHEMAS: Final = frozenset({"schema", "requestedSchema", "args_schema", "inputSchema"})
"""The fields of calls that hold a JSON Schema."""
_MAX_COMPARED: Final = 20
"""Fields of a call, and of its first question, to compare with those of a dialect."""


class ParsedCall(NamedTuple):
    """A call that people can be asked."""

    dialect: str
    form: Form
    arguments: dict[str, JsonValue]
    """The arguments as they were read."""
    repaired: tuple[str, ...]
    """JSON pointers to the arguments that were sent in another form; see `answerback.dialects.generous_reader`."""
    is_async: bool
    """True if the agent continues at once, if the submission does not say."""


def parse_call(name: str, sent: dict[str, JsonValue], override: str | None = None) -> ParsedCall:
    """Parse a tool call.

    Args:
        override: the dialect to use, regardless of the tool's name.

    Raises:
        InvalidCallError: with every problem, in document order.
    """
    arguments, detected, repaired = generous_reader.read_call(name, sent, override)
    known = installed_dialects().usable
    dialect = detected.dialect if detected else override or ""
    if dialect not in known:
        raise InvalidCallError(name[:100], [_unknown(name, override)])
    problems = ProblemCollector(arguments, name)
    form = known[dialect].parse(ArgumentNode(arguments, problems))
    encodable = problems.encodable and (not repaired or strict_json.is_all_encodable(sent))
    if form is not None and not encodable:  # in a field that is not read
        message = "The call contains half a surrogate pair, which is not valid text."
        problems.add(Problem(pointer="", code="wrong_type", message=message))
        form = None
    if form is None:
        listed = problems.in_document_order()
        if detected is not None and not detected.by_shape:
            listed = (_mention_other_dialects(name, dialect, arguments, listed[0]), *listed[1:])
        raise InvalidCallError(name[:100], listed, dialect)
    decide = known[dialect].is_async
    is_async = decide is not None and decide(name, arguments)
    return ParsedCall(dialect, form, arguments, repaired, is_async)


def is_quick_to_parse(arguments: JsonValue) -> bool:
    """Return whether a call can be parsed within a few milliseconds: it is small and has no JSON Schema."""
    layer, nodes = [arguments], 0
    while layer and nodes <= _QUICK:
        nodes += len(layer)
        below: list[JsonValue] = []
        for node in layer:
            if type(node) is str:
                if strict_json.may_be_container(node):  # perhaps the JSON of anything
                    return False
                nodes += len(node) // _TEXT
            elif isinstance(node, dict):
                if not _SCHEMAS.isdisjoint(node):
                    return False
                below += node.values()
            elif isinstance(node, list):
                below += node
        layer = below
    return nodes <= _QUICK


_ERASED: Final = ToolResult(
    content="The questions and answers of this call have been erased and can no longer be read. Do not retry this"
    " tool call.",
    structured={"erased": True},
    is_error=True,
)
"""The result of every ask that has been erased."""
_NOT_CONFIRMED: Final = "What was answered was not confirmed, so it does not count."


def render_result(ask: Ask) -> ToolResult | None:
    """Render the tool result; None if the ask is open or the person ended the turn."""
    if ask.open or ask.status is Status.TURN_ENDED:
        return None
    if ask.erased_at is not None:
        return _ERASED
    return render_ended(ask)


def render_ended(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended in any way other than End Turn."""
    ask = without_unconfirmed(ask)
    dialect = installed_dialects().usable.get(ask.request.dialect)
    if dialect is None:
        message = f'The dialect "{ask.request.dialect}" of this call is no longer installed.'
        return ToolResult(content=message, structured={"answers": ask.walk.values}, is_error=True)
    result = dialect.render(ask)
    if is_unconfirmed(ask) and result.content != json_result(result.structured).content:
        return result.model_copy(update={"content": f"{result.content}\n{_NOT_CONFIRMED}"})
    return result


def render_interim_result(ask: Ask) -> ToolResult | None:
    """Render what an asynchronous call returns until it is answered; None if the agent waits, or the ask has ended."""
    request = ask.request
    if not ask.open or request.mode != "async":
        return None
    dialect = installed_dialects().usable.get(request.dialect)
    is_async = dialect.is_async if dialect else None
    if dialect and dialect.accepted and is_async and is_async(request.name, request.arguments):
        return json_result({**dialect.accepted})  # the result that the tool promises
    message = (
        f"People were asked, and the question stays open ({ask.id}). Do not wait and do not assume an answer: continue "
        "with what does not depend on it. The answer comes later, as a message or from the tool check_answers."
    )
    structured: JsonValue = {"status": "pending", "ask_id": ask.id, "message": message}
    return ToolResult(content=message, structured=structured)


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
        pointer, sent, known = "/dialect", override[:100], [*installed_dialects().usable]
        meant = did_you_mean(sent, known)
    else:
        pointer, sent, known = "/name", name[:100], [*tool_names()]
        meant = did_you_mean(sent, known, min_similarity=0)
    message = f'Unknown {pointer[1:]} "{sent}"{meant}; the known ones are: {", ".join(known)}.'
    return Problem(pointer=pointer, code="unknown_value", message=message)


def _mention_other_dialects(name: str, dialect: str, arguments: Json, problem: Problem) -> Problem:
    """Add to the problem of a call with an unknown shape which other dialects its name has, the most similar first."""
    first = first_question(arguments)
    keys = [*arguments][:_MAX_COMPARED]
    keys += [*first][:_MAX_COMPARED] if isinstance(first, dict) else []

    def count_known(other: str) -> int:
        """Count the fields that it has, at least by a similar name."""
        fields = tool_definitions.dialect_field_names(other)
        return sum(bool(did_you_mean(key, fields)) for key in keys)

    named = (other for other in dialects_for_tool_name(name) if other != dialect)
    others = ", ".join(sorted(named, key=count_known, reverse=True))
    message = f"{problem.message} The call was read in the dialect {dialect}; other dialects of {name} are: {others}."
    return problem.model_copy(update={"message": message})


call_rules()  # finds the installed dialects once, at import, since that reads the disk
