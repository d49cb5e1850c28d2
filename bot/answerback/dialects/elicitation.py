"""The dialect `elicitation`: MCP's elicitation/create, for a form or a link. It is always one question.

The protocol allows only flat forms (https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation), but
servers send whatever JSON Schema their library makes. So every usable schema of an object is asked: a form without
fields as Accept and Decline, one required boolean or choice as that question, and anything else as a schema question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form, Question
from answerback.dialects import elicitation_form, results
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback.dialects.dialect import CallRule, Dialect

URL_ID: Final = "url"
_MODES: Final = ("form", "url", "openai/form", "openaiForm")


def parse(call: ArgumentNode) -> Form | None:
    call.is_object()
    match call.choice("mode", _MODES, "form"):
        case None:  # the mode is unknown, and so are the other fields that the call should have
            return None
        case "url":
            return _link(call)
        case _:
            return elicitation_form.parse_form(call)


def _link(call: ArgumentNode) -> Form | None:
    """Read a call in URL mode as a question whether to open the address."""
    message, address = call.text("message"), call.text("url")
    if address is not None and not _is_web_address(address):
        call.fail("unknown_value", "url must be an http or https address.", "url")
    question = Question(
        id=URL_ID, text=message or "", context=address, answer_type=AnswerType.BOOLEAN
    )
    return form_of(call, question)


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    if ask.status is Status.ANSWERED:
        return results.json_result(_decision(ask))
    refused = ask.status is Status.CANCELLED
    return results.json_result({"action": "decline" if refused else "cancel"})


def _decision(ask: Ask) -> JsonValue:
    [question] = ask.form.questions
    value = ask.walk.values[question.id]
    if question.id == URL_ID:
        return {"action": "accept" if value else "decline"}
    if question.answer_type is AnswerType.SCHEMA:
        return {"action": "accept", "content": value}
    if question.consent:
        return {"action": "accept", "content": {}} if value else {"action": "decline"}
    return {"action": "accept", "content": {_only_name(ask.request.arguments): value}}


def _only_name(arguments: Mapping[str, Any]) -> str:
    properties: dict[str, JsonValue] = arguments["requestedSchema"]["properties"]
    return next(name for name, field in properties.items() if field is not None)


DIALECT: Final = Dialect(
    name="elicitation",
    calls=(
        CallRule(
            ("elicitation/create", "mcpServer/elicitation/request", "elicitation.requested"),
            options={},
        ),
    ),
    parse=parse,
    render=render,
)
