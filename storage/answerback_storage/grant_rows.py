"""Conversion between grants and rows. Runs no statement."""

from __future__ import annotations

from typing import Final

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from answerback.core.grants import Grant
from answerback_storage.rows import Row

_GRANT: Final = TypeAdapter(Grant)
_IN_COLUMNS: Final = ("id", "scope", "ask_id", "at", "until", "uses", "used", "ended_at")
COLUMNS: Final = ", ".join((*_IN_COLUMNS, "value"))


def row(grant: Grant) -> Row:
    """Return the columns of a grant."""
    value = to_json(_GRANT.dump_python(grant, exclude={*_IN_COLUMNS})).decode()
    return (*(getattr(grant, name) for name in _IN_COLUMNS), value)


def read(found: Row) -> Grant:
    """Build the grant of a row of `COLUMNS`."""
    *columns, value = found
    return _GRANT.validate_python(from_json(value) | dict(zip(_IN_COLUMNS, columns, strict=True)))
