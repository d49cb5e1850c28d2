"""JSON bodies: parsed strictly, with each error's place in terms of JSON; and written.

Errors in a tool call's arguments are reported by `answerback.dialects.call_reader`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable
from typing import Final, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from answerback.core.errors import Problem, ProblemError
from answerback.core.json_schema import schemas
from answerback.dialects.call_reader import did_you_mean
from answerback_base import strict_json

M = TypeVar("M", bound=BaseModel)

_CODE_BY_TYPE: Final = {
    "missing": "required",
    "extra_forbidden": "unknown_value",
    "literal_error": "unknown_value",
    "enum": "unknown_value",
    "too_long": "too_many",
    "too_short": "too_few",
    "string_too_long": "too_long",
    "string_too_short": "empty",
    "value_error": "wrong_type",
}

_TEXT_BY_TYPE: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not a known field",
    "string_type": "must be a string",
    "string_too_short": "must not be empty",
    "string_unicode": "contains half a surrogate pair, which is not valid text",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "tuple_type": "must be an array",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "greater_than": "must be a number greater than {gt:g}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have a length of at least {min_length}",
    "too_long": "may have a length of at most {max_length}",
    "string_too_long": "may have at most {max_length} characters",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
}
"""Pydantic's error types in terms of JSON; any other type keeps pydantic's own message."""
_UNION_FIELDS: Final = {
    "to": "must be a string or an object",
    "responders": 'must be an array of ids, or "anyone"',
    "edited": "must be an object, or its JSON as a string",
}
"""Fields that accept several types."""

_MAX_VALUES: Final = 2_000
"""JSON values of a body apart from the call itself: enough for a thousand responders and everything else."""
_MAX_DEPTH: Final = 64
_MAX_SUGGESTIONS: Final = 20
"""Errors up to which an unknown field is compared with the known ones, because comparing takes time."""


def parse_json(body: bytes) -> JsonValue:
    """Parse JSON as defined by RFC 8259, within our bounds.

    Raises:
        ProblemError: 400, with the position of the error.
    """
    try:
        return strict_json.parse_bytes(body)
    except strict_json.NotJsonError as error:
        why = f"The body is not valid JSON: {error}."
        raise ProblemError(400, "Malformed JSON", why) from error


def parse_model(model: type[M], value: object, title: str, status: int = 422) -> M:
    """Parse what a caller sent into a model.

    Raises:
        ProblemError: with this status and title, and every error.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        known = [field.alias or name for name, field in model.model_fields.items()]
        names = f"; the known ones are {', '.join(known)}" if known else "; this call has none"
        problems = problems_of(error, lambda name: did_you_mean(name, known) or names)
        raise ProblemError(status, title, None, problems) from error


def dump_json(value: object) -> bytes:
    """Serialise a JSON value as UTF-8; lone surrogates are written as the escapes they came in."""
    import msgspec  # not above: most commands write no JSON

    try:
        return msgspec.json.encode(value)  # in a tenth of the time of `json`
    except (TypeError, UnicodeEncodeError):
        pass  # it holds a number that is written as it came, or a lone surrogate
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


def find_size_problem(body: JsonValue, free: Collection[str]) -> Problem | None:
    """Report a body with more values than any real one; listing every error in it would take seconds.

    Args:
        free: members that may be as large as the whole body may be.
    """
    bounded = (
        {key: value for key, value in body.items() if key not in free}
        if isinstance(body, dict)
        else body
    )
    nodes = strict_json.size(bounded, _MAX_DEPTH).nodes
    if nodes <= _MAX_VALUES:
        return None
    text = (
        f"The body has {nodes} values outside of {' and '.join(free)}; {_MAX_VALUES} are allowed."
    )
    return Problem(pointer="", code="too_many", message=text)


def problems_of(
    error: ValidationError, about_unknown: Callable[[str], str] = lambda field: ""
) -> tuple[Problem, ...]:
    """Convert pydantic's errors to problems with JSON pointers.

    Args:
        about_unknown: returns what to add about an unknown field of the document.
    """
    problems: dict[str, Problem] = {}
    for item in error.errors(include_url=False, include_input=False):
        # pydantic's path contains the names of union members, which are not part of the document
        path = [
            p
            for p in item["loc"]
            if p not in {"str", "constrained-str", "To"} and "[" not in str(p)
        ]
        where = schemas.json_pointer(path)
        code = _CODE_BY_TYPE.get(item["type"], "wrong_type")
        name = ".".join(map(str, path)) or "The body"
        union_text = _UNION_FIELDS.get(name) if code == "wrong_type" else None
        why = item["msg"].removeprefix("Value error, ").rstrip(".")
        known = _TEXT_BY_TYPE.get(item["type"], "").format_map(item.get("ctx", {}))
        text = union_text or known or f"is invalid: {why}"
        if (
            item["type"] == "extra_forbidden"
            and len(path) == 1
            and len(problems) < _MAX_SUGGESTIONS
        ):
            text += about_unknown(name)
        message = f"{name} {text}."
        problems.setdefault(where, Problem(pointer=where, code=code, message=message))
    # For a field that accepts several types, an error inside one of them says everything. An array with errors
    # inside is not too short: pydantic counts only valid items.
    fields_with_details = {
        where
        for where, problem in problems.items()
        if (where[1:] in _UNION_FIELDS or problem.code == "too_few")
        and any(other.startswith(f"{where}/") for other in problems)
    }
    return tuple(problem for where, problem in problems.items() if where not in fields_with_details)


def unknown_surface(surface: str, configured: Iterable[str]) -> Problem:
    """Return the problem with a surface that exists, but is not configured."""
    there = ", ".join(f'"{name}"' for name in sorted(configured))
    message = (
        f'The surface "{surface}" is not configured here, so nobody can be asked there. '
        f"The operator can configure it (the settings {surface}.*, then restart). "
        f"Configured: {there}."
    )
    return Problem(pointer="/to", code="unknown_surface", message=message)
