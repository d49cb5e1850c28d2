"""Checks a JSON value against a schema of Discord's OpenAPI document, with exact paths.

A generic validator says of a union only that no member fits. This walker picks the member by the value's
`type`, as Discord does, and so names the field that is wrong. It also finds keys that no schema knows.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path as FilePath
from urllib.parse import urlsplit

from tests.fakes.discord.problems import Path, Payload, Problem

DOCUMENT = FilePath(__file__).parents[2] / "data" / "discord-openapi.json"

# Keys that Discord takes though the document does not list them: `file_types` is documented since
# (https://docs.discord.com/developers/components/reference#file-upload); discord.py sends `tts` with every edit.
TOLERATED_KEYS = {
    "FileUploadComponentForModalRequest": {"file_types"},
    "MessageEditRequestPartial": {"tts"},
    "IncomingWebhookUpdateForInteractionCallbackRequestPartial": {"tts"},
    "IncomingWebhookUpdateRequestPartial": {"tts"},
}
# Names of schemas whose strings are labels and ids of components. How Discord counts those is not published;
# UTF-16 units never count less than code points, so they are the safe side.
COUNTED_IN_UTF16 = re.compile(r"Component|OptionForRequest|ModalInteractionCallbackRequestData")
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
LINK_SCHEMES = {"http", "https", "discord", "attachment"}
JSON_TYPES: dict[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


MEMBERS_BY_TYPE: dict[int, dict[int, Payload]] = {}
"""By the identity of a union's members in `schemas`, which lives as long as the process."""


def utf16_units(text: str) -> int:
    """The length of a text in UTF-16 code units, which is how a JavaScript client counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@cache
def schemas() -> Payload:
    """All named schemas of the document."""
    document: Payload = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    found: Payload = document["components"]["schemas"]
    return found


def check_schema(name: str, value: object, path: Path = ()) -> list[Problem]:
    """Every way in which `value` does not fit the schema `name` of the document."""
    return list(_check({"$ref": f"#/components/schemas/{name}"}, value, path, len, ""))


def _named(schema: Payload) -> tuple[str, Payload]:
    """The schema behind a reference, with its name ("" for a schema written in place)."""
    reference = schema.get("$ref")
    if reference is None:
        return "", schema
    name = str(reference).rsplit("/", 1)[1]
    return name, schemas()[name]


def _check(
    schema: Payload, value: object, path: Path, count: Callable[[str], int], name: str
) -> Iterator[Problem]:
    if "$ref" in schema:
        name, schema = _named(schema)
        count = _counting(name)
    if name == "SnowflakeType" and JSON_TYPES["integer"](value):
        return  # Discord takes ids as numbers, too, and discord.py sends some so.
    kinds = schema.get("type")
    allowed = [kinds] if isinstance(kinds, str) else kinds
    if allowed and not any(JSON_TYPES[kind](value) for kind in allowed):
        yield Problem(
            path, "BASE_TYPE_BAD_TYPE", f"This field must be of type {' or '.join(allowed)}."
        )
        return
    if value is None and allowed:
        return
    if "enum" in schema and value not in schema["enum"]:
        yield Problem(path, "BASE_TYPE_CHOICES", f"Value must be one of {schema['enum']}.")
        return
    members = schema.get("oneOf") or schema.get("anyOf")
    if members:
        yield from _check_union(members, value, path, count)
    yield from _check_value(schema, value, path, count, name)


def _check_value(
    schema: Payload, value: object, path: Path, count: Callable[[str], int], name: str
) -> Iterator[Problem]:
    if isinstance(value, str):
        yield from _check_text(schema, value, path, count)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _check_number(schema, value, path)
    elif isinstance(value, list):
        yield from _check_list(schema, value, path, count)
    elif isinstance(value, dict) and ("properties" in schema or "additionalProperties" in schema):
        yield from _check_object(schema, value, path, count, name)


def _counting(name: str) -> Callable[[str], int]:
    """Return the function that counts the texts directly in this schema."""
    prose = name.startswith("TextDisplay") or not COUNTED_IN_UTF16.search(name)
    return len if prose else utf16_units


def _check_union(
    members: list[Payload], value: object, path: Path, count: Callable[[str], int]
) -> Iterator[Problem]:
    if all("const" in member for member in members):
        values = [member["const"] for member in members]
        if not any(value == known and type(value) is type(known) for known in values):
            yield Problem(path, "BASE_TYPE_CHOICES", f"Value must be one of {values}.")
        return
    choices = [member for member in members if member.get("type") != "null"]
    if value is None and len(choices) < len(members):
        return
    if isinstance(value, dict) and (by_type := _members_by_type(members)):
        yield from _check_typed(by_type, value, path, count)
        return
    attempts = [list(_check(member, value, path, count, "")) for member in choices]
    best = min(
        attempts, key=lambda found: (len(found), -max((len(p.path) for p in found), default=0))
    )
    yield from best


def _check_typed(
    by_type: dict[int, Payload], value: Payload, path: Path, count: Callable[[str], int]
) -> Iterator[Problem]:
    kind = value.get("type")
    if "type" not in value:
        yield Problem((*path, "type"), "BASE_TYPE_REQUIRED", "This field is required")
    elif isinstance(kind, bool) or not isinstance(kind, int) or kind not in by_type:
        known = ", ".join(str(each) for each in sorted(by_type))
        yield Problem(
            (*path, "type"), "BASE_TYPE_CHOICES", f"Value must be one of {{{known}}}, not {kind!r}."
        )
    else:
        yield from _check(by_type[kind], value, path, count, "")


def _members_by_type(members: list[Payload]) -> dict[int, Payload]:
    """The members of a union by the values of `type` that mark them; computed once for each union of the document."""
    found = MEMBERS_BY_TYPE.get(id(members))
    if found is None:
        found = {kind: member for member in members for kind in _type_values(member)}
        MEMBERS_BY_TYPE[id(members)] = found
    return found


def _type_values(member: Payload) -> list[int]:
    """The values of `type` that mark this member of a union; none where it has no such mark."""
    _, schema = _named(member)
    required = "type" in schema.get("required", [])
    marks: list[int] = schema.get("properties", {}).get("type", {}).get("enum", [])
    return [mark for mark in marks if required and isinstance(mark, int)]


def _check_text(
    schema: Payload, value: str, path: Path, count: Callable[[str], int]
) -> Iterator[Problem]:
    length, least, most = count(value), schema.get("minLength", 0), schema.get("maxLength")
    if length < least or (most is not None and length > most):
        bounds = f"between {least} and {most}" if most is not None else f"at least {least}"
        yield Problem(path, "BASE_TYPE_BAD_LENGTH", f"Must be {bounds} in length; it is {length}.")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield Problem(path, "BASE_TYPE_REGEX", f"Does not match {schema['pattern']}.")
    if schema.get("format") == "uri":
        address = urlsplit(value)
        if address.scheme not in LINK_SCHEMES or not (address.netloc or address.path):
            yield Problem(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.")
    if LONE_SURROGATE.search(value):
        yield Problem(path, "BASE_TYPE_BAD_STRING", "Lone surrogates are not text.")


def _check_number(schema: Payload, value: float, path: Path) -> Iterator[Problem]:
    if "minimum" in schema and value < schema["minimum"]:
        yield Problem(
            path, "NUMBER_TYPE_MIN", f"Must be greater than or equal to {schema['minimum']}."
        )
    if "maximum" in schema and value > schema["maximum"]:
        yield Problem(
            path, "NUMBER_TYPE_MAX", f"Must be less than or equal to {schema['maximum']}."
        )


def _check_list(
    schema: Payload, value: list[object], path: Path, count: Callable[[str], int]
) -> Iterator[Problem]:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < least or (most is not None and len(value) > most):
        yield Problem(
            path,
            "BASE_TYPE_BAD_LENGTH",
            f"Must be between {least} and {most} in length; it is {len(value)}.",
        )
    if schema.get("uniqueItems") and len(
        {json.dumps(item, sort_keys=True) for item in value}
    ) < len(value):
        yield Problem(
            path, "SET_TYPE_ALREADY_CONTAINS_VALUE", "The set already contains this value."
        )
    for index, item in enumerate(value):
        yield from _check(schema.get("items", {}), item, (*path, index), count, "")


def _check_object(
    schema: Payload, value: Payload, path: Path, count: Callable[[str], int], name: str
) -> Iterator[Problem]:
    properties = schema.get("properties", {})
    for key in schema.get("required", []):
        if key not in value:
            yield Problem((*path, key), "BASE_TYPE_REQUIRED", "This field is required")
    others = schema.get("additionalProperties")
    for key, item in value.items():
        if key in properties:
            yield from _check(properties[key], item, (*path, key), count, "")
        elif isinstance(others, dict):
            yield from _check(others, item, (*path, key), count, "")
        elif others is not True and key not in TOLERATED_KEYS.get(name, ()):
            yield Problem(
                (*path, key), "UNKNOWN_KEY", f"{name or 'this object'} has no key {key!r}."
            )
