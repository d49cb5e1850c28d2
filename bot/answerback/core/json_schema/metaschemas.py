"""Whether a JSON Schema is one: checked against the metaschema of its draft, with the reference implementation.

Slow and thorough: some 0.2 ms a schema in it. To be called off the event loop, with schemas that are bounded.
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
    """The first thing that the metaschema does not allow, and where it is; None where all is well."""
    named = schema.get("$schema") if isinstance(schema, Mapping) else None
    # A draft that is not known is for the engine to refuse: it names the metaschema that it does not have.
    of: type[Validator] = _DEFAULT
    if isinstance(named, str):
        of = validator_for({"$schema": named}, default=None) or _DEFAULT  # type: ignore[arg-type]  # None is documented
    found = next(_judge(of).iter_errors(schema), None)
    if found is None:
        return None
    found = best_match([found]) or found  # inside an anyOf: the branch that comes closest
    where = "/".join(str(part) for part in found.absolute_path)
    words = found.message[:_MAX_SHOWN] + ("…" if len(found.message) > _MAX_SHOWN else "")
    return f"at /{where}: {words}" if where else words


@cache
def _judge(of: Any) -> Validator:
    quick = extend(of, {"uniqueItems": _unique_items})  # type: ignore[no-untyped-call]  # the stubs leave it out
    judge: Validator = quick(of.META_SCHEMA, registry=referencing.Registry())
    return judge


def _unique_items(
    _judge: Validator, wanted: bool, items: object, _schema: object
) -> Iterator[jsonschema.ValidationError]:
    """The keyword in linear time: the library's own compares every object with every other."""
    listed = items if wanted and isinstance(items, list) else []
    if len({json.dumps(item, sort_keys=True) for item in listed}) < len(listed):
        yield jsonschema.ValidationError("an item of this array is in it twice")
