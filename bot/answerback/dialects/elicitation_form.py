"""A form of MCP's elicitation as a question: Accept and Decline, the only choice, or a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core.form import (
    MAX_LABEL,
    MAX_OPTIONS,
    MAX_SCHEMA_DEPTH,
    MAX_TEXT,
    AnswerType,
    Form,
    Option,
    Question,
)
from answerback.core.json_schema import schemas
from answerback.core.json_schema.schemas import violations
from answerback.core.schema_fields import Choice, Field, FieldKind, fields_from_schema
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback_base import strict_json

QUESTION_ID: Final = "content"
_DATA: Final = frozenset({"enum", "const", "default", "examples"})
"""Keywords whose values are data: a null in them is a value."""
_BY_NAME: Final = frozenset({"properties", "$defs", "definitions"})
"""Keywords that contain schemas by name."""
_SAYS_NOTHING: Final = _BY_NAME.union(
    {
        "type",
        "required",
        "additionalProperties",
        "title",
        "description",
        "$schema",
        "$id",
        "$comment",
    }
)
"""Keywords that a schema without fields may have."""
_WHY_NO_SECRETS: Final = (
    "MCP forbids that in a form, because answers are stored and shown; use the mode url instead: "
    "https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation"
)
Json = dict[str, JsonValue]
Path: TypeAlias = tuple[str | int, ...]


def parse_form(call: ArgumentNode) -> Form | None:
    """Parse a call in form mode: a message and a schema."""
    message = call.text("message")
    schema = call.at("requestedSchema")
    if not call.has("requestedSchema"):
        schema.fail(
            "schema_required",
            "requestedSchema is missing: it must be the JSON Schema of an object.",
        )
        return None
    return form_of(call, _question(message or "", schema))


def _question(message: str, sent: ArgumentNode) -> Question | None:
    """Read a form's schema, whose type may be left out."""
    if not sent.is_object() or sent.choice("type", ("object",), "object") is None:
        return None
    schema: Json = {"type": "object", **_clean(sent.value)}
    for path, sign in _secrets(schema):
        node = replace(sent, path=(*sent.path, *path))
        node.fail("unknown_value", f"{node.name} asks for a secret ({sign}). {_WHY_NO_SECRETS}")
    if sent.problems.found:
        return None
    try:
        schemas.require_usable(schema)
    except schemas.InvalidSchemaError:
        # A pattern may need an engine that we do not have. The server checks the answer itself.
        schema = _without(schema, lambda key, _: key == "pattern")
    count = sent.problems.count
    replace(sent, value=schema).require_schema()
    if sent.problems.count > count:
        return None
    if _has_nothing_to_fill_in(schema):
        return Question(id=QUESTION_ID, text=message, answer_type=AnswerType.BOOLEAN, consent=True)
    defaults = _valid_defaults(schema)
    only = _only_choice(schema)
    if only is not None:
        return _choice_question(message, *only, defaults)
    return Question(
        id=QUESTION_ID,
        text=message,
        answer_type=AnswerType.SCHEMA,
        json_schema=schema,
        default=defaults or None,
        has_default=bool(defaults),
        null_is_left_out=True,
    )


def _secrets(
    node: JsonValue, path: Path = (), *, by_name: bool = False
) -> Iterator[tuple[Path, str]]:
    """Yield where a schema asks for a secret, and how it says so. Data in it, such as a default, says nothing."""
    if isinstance(node, list):
        for i, each in enumerate(node):
            yield from _secrets(each, (*path, i))
    if not isinstance(node, dict):
        return
    if not by_name and node.get("format") == "password":
        yield path, "format: password"
    elif not by_name and node.get("writeOnly") is True:
        yield path, "writeOnly"
    for key, each in node.items():
        if by_name or key not in _DATA:
            yield from _secrets(each, (*path, key), by_name=not by_name and key in _BY_NAME)


def _clean(schema: JsonValue) -> Json:
    """Return a copy of a schema without null keywords, which count as missing."""
    if not isinstance(schema, dict):
        return {}
    if strict_json.size(schema, MAX_SCHEMA_DEPTH).depth > MAX_SCHEMA_DEPTH:
        return schema  # it will be refused
    return _without(schema, lambda key, each: each is None and key != "const")


def _without(schema: Json, is_dropped: Callable[[str, JsonValue], bool]) -> Json:
    """Return a copy of a schema, and of those in it, without some keywords."""
    return {
        key: each if key in _DATA else _copy(each, is_dropped, by_name=key in _BY_NAME)
        for key, each in schema.items()
        if not is_dropped(key, each)
    }


def _copy(
    value: JsonValue, is_dropped: Callable[[str, JsonValue], bool], *, by_name: bool
) -> JsonValue:
    if isinstance(value, list):
        return [_copy(each, is_dropped, by_name=False) for each in value]
    if not isinstance(value, dict):
        return value
    if by_name:
        named = ((key, each) for key, each in value.items() if each is not None)
        return {key: _copy(each, is_dropped, by_name=False) for key, each in named}
    return _without(value, is_dropped)


def _has_nothing_to_fill_in(schema: Json) -> bool:
    """Return True if the only sensible answer to a form is an empty object."""
    extra = schema.get("additionalProperties", True)
    return (
        not schema.get("properties")
        and schema.keys() <= _SAYS_NOTHING
        and (isinstance(extra, bool) or extra == {})
        and not schema.get("required")
    )


def _valid_defaults(schema: Json) -> Json:
    """Return the defaults of the fields, and remove from the schema those that are not valid for their field."""
    defaults: Json = {}
    definitions: Json = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    properties = schema.get("properties")
    for name, field in properties.items() if isinstance(properties, dict) else ():
        if isinstance(field, dict) and "default" in field:
            if violations({**definitions, **field}, field["default"]):
                del field["default"]
            else:
                defaults[name] = field["default"]
    return defaults


def _only_choice(schema: Json) -> tuple[Field, tuple[Option, ...]] | None:
    """Return a form's field and its options, if that is all there is to fill in: a required boolean or enum."""
    fields = fields_from_schema(schema) or ()
    if len(fields) != 1 or not fields[0].required or fields[0].nullable or fields[0].is_whole:
        return None
    [field] = fields
    options = tuple(map(_option, field.choices))
    values: list[JsonValue] = [option.value for option in options if option is not None]
    if field.kind is FieldKind.BOOLEAN:
        values = [True, False]
    elif field.kind is not FieldKind.CHOICE or not 0 < len(values) == len(options) <= MAX_OPTIONS:
        return None
    if any(violations(schema, {field.name: value}) for value in values):
        return None
    return field, tuple(option for option in options if option is not None)


def _option(choice: Choice) -> Option | None:
    """Return a choice as an option, if it can be one."""
    value, title, about = choice.value, choice.title, choice.description
    if not isinstance(value, str) or not value.strip():
        return None
    if max(len(value), len(title)) > MAX_LABEL or len(about or "") > MAX_TEXT:
        return None
    return Option(value=value, label=title, description=about)


def _choice_question(
    message: str, field: Field, options: tuple[Option, ...], defaults: Json
) -> Question:
    title = "" if field.title.casefold() in message.casefold() else field.title
    about = "\n\n".join(filter(None, (title, field.description)))
    return Question(
        id=QUESTION_ID,
        text=message,
        context=about[:MAX_TEXT] or None,
        answer_type=AnswerType.SELECT if options else AnswerType.BOOLEAN,
        options=options,
        default=defaults.get(field.name),
        has_default=field.name in defaults,
    )
