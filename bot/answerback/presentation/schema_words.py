"""A JSON Schema in words, for people who have to write a value that fits it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.core.schema_fields import Field, FieldKind
from answerback.presentation.field_bounds import describe_constraints
from answerback_base.sanitize import as_json, one_line

_MAX_DEPTH: Final = 3
_MAX_LINES: Final = 40
_MAX_VALUES: Final = 12


def describe_schema(schema: JsonValue, labels: Labels) -> list[str]:
    """Return what fits a schema, in lines that are indented by two spaces a level; the schema itself says the rest."""
    lines = [*_describe(schema, labels, "", 0)]
    return lines if len(lines) <= _MAX_LINES else [*lines[:_MAX_LINES], "…"]


def _describe(node: JsonValue, labels: Labels, before: str, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if not isinstance(node, dict):
        yield f"{indent}{before}{labels.format_any}"
        return
    yield f"{indent}{before}{_phrase(node, labels)}"
    if depth == _MAX_DEPTH:
        return
    properties, required = node.get("properties"), node.get("required")
    if isinstance(properties, dict):
        needed = required if isinstance(required, list) else []
        for name, each in properties.items():
            optional = "" if name in needed else f" ({labels.optional})"
            yield from _describe(each, labels, f"{one_line(name)}{optional}: ", depth + 1)
    elif isinstance(items := node.get("items"), dict):
        yield from _describe(items, labels, f"{labels.format_each}: ", depth + 1)


def _phrase(node: Mapping[str, JsonValue], labels: Labels) -> str:
    title = node.get("description") or node.get("title")
    about = f" ({one_line(title)})" if isinstance(title, str) and title.strip() else ""
    return f"{_kind(node, labels)}{about}"


def _kind(node: Mapping[str, JsonValue], labels: Labels) -> str:
    values = [node["const"]] if "const" in node else node.get("enum")
    if isinstance(values, list) and len(values) <= _MAX_VALUES:
        return labels.format_one_of.format(values=", ".join(as_json(each) for each in values))
    named, known = node.get("type"), _phrases(str(node.get("format")), labels)
    types = [each for each in (named if isinstance(named, list) else [named]) if each in known]
    if not types:
        return labels.format_any
    kind = FieldKind.TEXT if types == ["string"] else FieldKind.NUMBER
    bounds = describe_constraints(_bounded(node, kind), labels)
    phrase = labels.format_or.join(known[str(each)] for each in types)
    return f"{phrase}, {bounds}" if bounds else phrase


def _phrases(text_format: str, labels: Labels) -> Mapping[str, str]:
    """Return what each type of a schema is called."""
    formats = {
        "email": labels.format_email,
        "uri": labels.format_address,
        "date": labels.format_date,
        "date-time": labels.format_time,
    }
    return {
        "string": formats.get(text_format, labels.format_text),
        "integer": labels.format_whole,
        "number": labels.format_number,
        "boolean": labels.format_boolean,
        "null": labels.format_nothing,
        "array": labels.format_list,
        "object": labels.format_object,
    }


def _bounded(node: Mapping[str, JsonValue], kind: FieldKind) -> Field:
    """Return a field with the bounds of a number, a text or a list."""
    least, most = _number(node, "minItems"), _number(node, "maxItems")
    shortest, longest = _number(node, "minLength"), _number(node, "maxLength")
    description, pattern = node.get("description"), node.get("pattern")
    return Field(
        name="",
        title="",
        description=description if isinstance(description, str) else None,
        required=True,
        kind=kind,
        min_length=None if shortest is None else int(shortest),
        max_length=None if longest is None else int(longest),
        pattern=pattern if isinstance(pattern, str) else None,
        minimum=_number(node, "minimum"),
        maximum=_number(node, "maximum"),
        exclusive_minimum=_number(node, "exclusiveMinimum"),
        exclusive_maximum=_number(node, "exclusiveMaximum"),
        min_items=int(least or 0),
        max_items=None if most is None else int(most),
    )


def _number(node: Mapping[str, JsonValue], key: str) -> float | None:
    value = node.get(key)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
