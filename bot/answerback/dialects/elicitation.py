"""The dialect `elicitation`: MCP's elicitation/create; a flat form, answered as one schema question, or a link.

Which schemas are allowed: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
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

QUESTION_ID: Final = "content"
URL_ID: Final = "url"
_TYPES: Final = ("string", "number", "integer", "boolean", "array")
_MODES: Final = ("form", "url", "openai/form", "openaiForm")
_ALTERNATIVES: Final = frozenset({"oneOf", "anyOf"})
_FORMATS: Final = ("email", "uri", "date", "date-time")


def parse(call: ArgumentNode) -> Form | None:
    """The form of a call's arguments; None when mistakes were noted."""
    call.is_object()
    match call.choice("mode", _MODES, "form"):
        case None:  # of a mode that is not known, nothing else is known either
            return None
        case "url":
            return _link(call)
        case _:
            return _form(call)


def _link(call: ArgumentNode) -> Form | None:
    """The question whether a person opens an address."""
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
    _read_schema(schema)
    if not call.problems.found:
        schema.require_schema()
    if message is None or call.problems.found:
        return None
    defaults = _fitting_defaults(schema)
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
    """A schema without keywords that are null: they are not given. What its enums and defaults hold stays."""
    if not isinstance(value, dict):
        return value
    made: dict[str, JsonValue] = {}
    for key, each in value.items():
        if key == "properties" and isinstance(each, dict):
            made[key] = {name: _without_nulls(schema) for name, schema in each.items()}
        elif key in _ALTERNATIVES and isinstance(each, list):
            made[key] = [_without_nulls(schema) for schema in each]
        elif each is not None:
            made[key] = _without_nulls(each) if key == "items" else each
    return made


def _fitting_defaults(schema: ArgumentNode) -> dict[str, JsonValue]:
    """The defaults of the fields; one that does not fit its own field is taken out of the schema."""
    found: dict[str, JsonValue] = {}
    properties = schema.at("properties").value
    for name, field in properties.items() if isinstance(properties, dict) else ():
        if isinstance(field, dict) and "default" in field:
            if violations(field, field["default"]):
                del field["default"]
            else:
                found[name] = field["default"]
    return found


def render(ask: Ask) -> ToolResult:
    """The tool result of an ask that has ended."""
    match ask.status:
        case Status.ANSWERED:
            return results.json_result(_answered(results.answers_by_id(ask)))
        case Status.FAILED:
            return results.failure_result(ask)
        case Status.CANCELLED:
            return results.json_result({"action": "decline"})
        case _:
            return results.json_result({"action": "cancel"})


def _answered(given: dict[str, JsonValue]) -> JsonValue:
    if QUESTION_ID in given:
        return {"action": "accept", "content": given[QUESTION_ID]}
    return {"action": "accept" if given[URL_ID] else "decline"}


def _read_schema(schema: ArgumentNode) -> None:
    """Notes what is not a flat object of primitives."""
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
            _read_items(node)
        if kind == "string" and node.has("format"):
            node.choice("format", _FORMATS)


def _read_items(node: ArgumentNode) -> None:
    """An array is a choice of several: its items must be an enum, with or without titles."""
    items = node.at("items")
    if not (items.has("enum") or items.has("anyOf") or items.has("oneOf")):
        items.fail("unknown_value", f"{items.name} must have enum, or anyOf with const and title.")
