"""What is wrong with a JSON body that is no tool call: every mistake with its place, in the words of JSON.

What a tool call's arguments may hold is told by `answerback.dialects.call_reader`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from pydantic import JsonValue, ValidationError

from answerback.core.errors import Problem
from answerback.core.json_schema import schemas
from answerback.core.json_schema.validation_cost import size

_CODES: Final = {
    "missing": "required",
    "extra_forbidden": "unknown_value",
    "literal_error": "unknown_value",
    "too_long": "too_many",
    "string_too_long": "too_long",
    "string_too_short": "empty",
    "value_error": "wrong_type",
}

_WORDS: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not a field that is known here",
    "string_type": "must be a string",
    "string_too_short": "must not be empty",
    "string_unicode": "holds half a surrogate pair, which is no text",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "tuple_type": "must be an array",
    "float_type": "must be a number",
    "greater_than": "must be a number greater than 0",
}
"""What pydantic finds, in the words of JSON; what is not here is told in pydantic's own."""
_CHOICES: Final = {
    "to": "must be a string or an object",
    "responders": 'must be an array of ids, or "anyone"',
}
"""Fields that may be of several types."""

_MAX_VALUES: Final = 2_000
"""JSON values of a body beside what the call is about: a thousand responders and all else there is."""
_DEEP: Final = 64
_MOST_ADVISED: Final = 20
"""Mistakes of a body among which an unknown field is compared with those that there are: that takes time."""


def find_size_problem(body: JsonValue, free: Collection[str]) -> Problem | None:
    """What is wrong with a body of more values than anybody means; naming every mistake in it would take seconds.

    Args:
        free: members that may be as large as a body may be.
    """
    bounded = (
        {key: value for key, value in body.items() if key not in free}
        if isinstance(body, dict)
        else body
    )
    nodes = size(bounded, _DEEP).nodes
    if nodes <= _MAX_VALUES:
        return None
    words = (
        f"The body has {nodes} values outside of {' and '.join(free)}; {_MAX_VALUES} are allowed."
    )
    return Problem(pointer="", code="too_many", message=words)


def problems_of(
    error: ValidationError, about_unknown: Callable[[str], str] = lambda field: ""
) -> tuple[Problem, ...]:
    """Pydantic's findings as problems with JSON pointers.

    Args:
        about_unknown: what else is said of a field of the document that is not known.
    """
    found: dict[str, Problem] = {}
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        # the names of a union's members are in pydantic's path, and no part of the document
        path = [
            p
            for p in item["loc"]
            if p not in {"str", "constrained-str", "To"} and "[" not in str(p)
        ]
        where = schemas.json_pointer(path)
        code = _CODES.get(item["type"], "wrong_type")
        name = ".".join(map(str, path)) or "The body"
        several = _CHOICES.get(name) if code == "wrong_type" else None
        words = several or _WORDS.get(item["type"]) or f"is wrong: {item['msg']}"
        if item["type"] == "extra_forbidden" and len(path) == 1 and len(found) < _MOST_ADVISED:
            words += about_unknown(name)
        message = f"{name} {words}."
        found.setdefault(where, Problem(pointer=where, code=code, message=message))
    # Of a field that may be of several types, what is wrong within one says all.
    inner = {f"/{name}" for name in _CHOICES if any(w.startswith(f"/{name}/") for w in found)}
    return tuple(problem for where, problem in found.items() if where not in inner)
