"""The dialect `elicitation`: MCP's elicitation/create, for either a flat form, asked as one schema question, or a link.

Allowed schemas: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form, Question
from answerback.core.json_schema.schemas import violations
from answerback.dialects import results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect

QUESTION_ID: Final = "content"
URL_ID: Final = "url"
_TYPES: Final = ("string", "number", "integer", "boolean", "array")
_MODES: Final = ("form", "url", "openai/form", "openaiForm")
_ALTERNATIVES: Final = frozenset({"oneOf", "anyOf"})
_FORMATS: Final = ("email", "uri", "date", "date-time")


def parse(call: ArgumentNode) -> Form | None:
    """Parse a call's arguments into a form, or return None if problems were recorded."""
    call.is_object()
    match call.choice("mode", _MODES, "form"):
        case None:  # the mode is unknown, and so is what else the call should have
            return None
        case "url":
            return _link(call)
        case _:
            return _form(call)


def _link(call: ArgumentNode) -> Form | None:
    """Read a call in URL mode as a question whether to open the address."""
    message, address = call.text("message"), call.text("url")
    if address is not None and not _is_web_address(address):
        call.fail("unknown_value", "url must be an http or https address.", "url")
    if message is None or address is None or call.problems.found:
        return None
    question = Question(id=URL_ID, text=message, context=address, answer_type=AnswerType.BOOLEAN)
    return Form(questions=(question,))


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _form(call: ArgumentNode) -> Form | None:
    message = call.text("message")
    schema = call.at("requestedSchema")
    if not call.has("requestedSchema"):
        schema.fail(
            "schema_required",
            "requestedSchema is missing: it must be the JSON Schema of a flat object.",
        )
        return None
    schema = replace(schema, value=_without_nulls(schema.value))
    _check_schema(schema)
    if not call.problems.found:
        schema.require_schema()
    if message is None or call.problems.found:
        return None
    defaults = _valid_defaults(schema)
    question = Question(
        id=QUESTION_ID,
        text=message,
        answer_type=AnswerType.SCHEMA,
        json_schema=schema.value,
        default=defaults or None,
        has_default=bool(defaults),
        null_is_left_out=True,
    )
    return Form(questions=(question,))


def _without_nulls(value: JsonValue) -> JsonValue:
    """Return a schema without null keywords, which count as missing. Nulls in enums and defaults stay."""
    if not isinstance(value, dict):
        return value
    cleaned: dict[str, JsonValue] = {}
    for key, each in value.items():
        if key == "properties" and isinstance(each, dict):
            cleaned[key] = {name: _without_nulls(schema) for name, schema in each.items()}
        elif key in _ALTERNATIVES and isinstance(each, list):
            cleaned[key] = [_without_nulls(schema) for schema in each]
        elif each is not None:
            cleaned[key] = _without_nulls(each) if key == "items" else each
    return cleaned


def _valid_defaults(schema: ArgumentNode) -> dict[str, JsonValue]:
    """Return the defaults of the fields, and remove from the schema those that are not valid for their field."""
    defaults: dict[str, JsonValue] = {}
    properties = schema.at("properties").value
    for name, field in properties.items() if isinstance(properties, dict) else ():
        if isinstance(field, dict) and "default" in field:
            if violations(field, field["default"]):
                del field["default"]
            else:
                defaults[name] = field["default"]
    return defaults


def render(ask: Ask) -> ToolResult:
    """Render the tool result of an ask that has ended."""
    match ask.status:
        case Status.ANSWERED:
            return results.json_result(_decision(results.answers_by_id(ask)))
        case Status.FAILED:
            return results.failure_result(ask)
        case Status.CANCELLED:
            return results.json_result({"action": "decline"})
        case _:
            return results.json_result({"action": "cancel"})


def _decision(answers: dict[str, JsonValue]) -> JsonValue:
    if QUESTION_ID in answers:
        return {"action": "accept", "content": answers[QUESTION_ID]}
    return {"action": "accept" if answers[URL_ID] else "decline"}


def _check_schema(schema: ArgumentNode) -> None:
    """Record what makes a schema something other than a flat object of primitives."""
    if not schema.is_object():
        return
    schema.choice("type", ("object",))
    properties = schema.at("properties")
    if not schema.has("properties"):
        properties.fail(
            "required", f"{properties.name} is missing: it must name the fields of the form."
        )
        return
    if not properties.is_object() or not isinstance(properties.value, dict):
        return
    for name in properties.value:
        node = properties.at(name)
        if not node.is_object():
            continue
        kind = node.choice(
            "type", _TYPES, "string" if node.has("enum") or node.has("oneOf") else None
        )
        if kind == "array":
            _check_items(node)
        if kind == "string" and node.has("format"):
            node.choice("format", _FORMATS)


def _check_items(node: ArgumentNode) -> None:
    """Check the items of an array, which stands for a multiple choice: they must be an enum, perhaps with titles."""
    items = node.at("items")
    if not (items.has("enum") or items.has("anyOf") or items.has("oneOf")):
        items.fail("unknown_value", f"{items.name} must have enum, or anyOf with const and title.")


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
