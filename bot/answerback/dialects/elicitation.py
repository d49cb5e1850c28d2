"""The dialect `elicitation`: MCP's elicitation/create; a flat form, answered as one schema question.

Which schemas are allowed: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form, Question
from answerback.dialects import results
from answerback.dialects.reading import Node

QUESTION_ID: Final = "content"
_TYPES: Final = ("string", "number", "integer", "boolean", "array")
_FORMATS: Final = ("email", "uri", "date", "date-time")


def parse(call: Node) -> Form | None:
    """The form of a call's arguments; None when mistakes were noted."""
    call.is_object()
    if call.has("mode"):
        call.choice("mode", ("form",))
    message = call.text("message")
    schema = call.at("requestedSchema")
    if not call.has("requestedSchema"):
        schema.fail(
            "schema_required",
            "requestedSchema is missing: it must be the JSON Schema of a flat object.",
        )
        return None
    defaults = _read_schema(schema)
    if not call.problems.found:
        schema.require_schema()
    if message is None or call.problems.found:
        return None
    question = Question(
        id=QUESTION_ID,
        text=message,
        answer_type=AnswerType.SCHEMA,
        json_schema=schema.value,
        default=defaults or None,
        has_default=bool(defaults),
    )
    return Form(questions=(question,))


def render(ask: Ask) -> ToolResult:
    """The tool result of an ask that has ended."""
    match ask.status:
        case Status.ANSWERED:
            content = results.collected(ask)[QUESTION_ID]
            return results.as_json({"action": "accept", "content": content})
        case Status.FAILED:
            return results.failed(ask)
        case Status.CANCELLED:
            return results.as_json({"action": "decline"})
        case _:
            return results.as_json({"action": "cancel"})


def _read_schema(schema: Node) -> dict[str, JsonValue]:
    """Notes what is not a flat object of primitives; gives the defaults of its properties."""
    if not schema.is_object():
        return {}
    schema.choice("type", ("object",))
    properties = schema.at("properties")
    if not schema.has("properties"):
        properties.fail(
            "required", f"{properties.name} is missing: it must name the fields of the form."
        )
        return {}
    if not properties.is_object() or not isinstance(properties.value, dict):
        return {}
    defaults: dict[str, JsonValue] = {}
    for name in properties.value:
        node = properties.at(name)
        if not node.is_object():
            continue
        kind = node.choice(
            "type", _TYPES, "string" if node.has("enum") or node.has("oneOf") else None
        )
        if kind == "array":
            _read_items(node)
        if kind == "string" and node.has("format"):
            node.choice("format", _FORMATS)
        if node.has("default"):
            defaults[name] = node.at("default").value
    return defaults


def _read_items(node: Node) -> None:
    """An array is a choice of several: its items must be an enum, with or without titles."""
    items = node.at("items")
    if not (items.has("enum") or items.has("anyOf") or items.has("oneOf")):
        items.fail("unknown_value", f"{items.name} must have enum, or anyOf with const and title.")
