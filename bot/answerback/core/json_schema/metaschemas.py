"""Validate a JSON Schema against the metaschema of its draft, with the reference implementation.

Thorough but slow: some 0.2 ms per subschema. Call it off the event loop, with schemas of bounded size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import jsonschema
import referencing
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from pydantic import JsonValue

_DEFAULT: Final[type[Validator]] = jsonschema.Draft202012Validator
_MAX_SHOWN: Final = 200


def first_error(schema: JsonValue) -> str | None:
    """Return the first violation of the metaschema and its location, or None if the schema is valid."""
    named = schema.get("$schema") if isinstance(schema, Mapping) else None
    # The engine rejects an unknown draft, and its message names the metaschema that it lacks.
    draft: type[Validator] = _DEFAULT
    if isinstance(named, str):
        draft = validator_for({"$schema": named}, default=None) or _DEFAULT  # type: ignore[arg-type]  # None is documented
    error = next(_metaschema_validator(draft).iter_errors(schema), None)
    if error is None:
        return None
    error = best_match([error]) or error  # inside an anyOf: the branch that comes closest
    location = "/".join(str(part) for part in error.absolute_path)
    message = error.message[:_MAX_SHOWN] + ("…" if len(error.message) > _MAX_SHOWN else "")
    return f"at /{location}: {message}" if location else message


@cache
def _metaschema_validator(draft: Any) -> Validator:
    fast = extend(draft, {"uniqueItems": _unique_items})  # type: ignore[no-untyped-call]  # the stubs leave it out
    validator: Validator = fast(draft.META_SCHEMA, registry=referencing.Registry())
    return validator


def _unique_items(
    _validator: Validator, enabled: bool, items: object, _schema: object
) -> Iterator[jsonschema.ValidationError]:
    """Check ``uniqueItems`` in linear time: the library's version compares every object with every other."""
    listed = items if enabled and isinstance(items, list) else []
    if len({json.dumps(item, sort_keys=True) for item in listed}) < len(listed):
        yield jsonschema.ValidationError("this array contains an item twice")
