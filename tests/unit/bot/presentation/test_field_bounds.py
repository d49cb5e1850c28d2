"""The bounds of a field, as people are told them."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.labels import Labels
from answerback.core.schema_fields import fields_from_schema
from answerback.presentation.field_bounds import describe_constraints


@pytest.mark.parametrize(
    ("schema", "phrase"),
    [
        ({"type": "number", "minimum": 1, "maximum": 10_000}, "1 to 10,000"),
        ({"type": "number", "minimum": 0.5}, "at least 0.5"),
        ({"type": "integer", "maximum": 9}, "at most 9"),
        (
            {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2},
            "more than 1, less than 2",
        ),
        ({"type": "number"}, None),
        ({"type": "string", "minLength": 2, "maxLength": 9}, "2–9 characters"),
        ({"type": "string", "minLength": 2}, "at least 2 characters"),
        (
            {"type": "string", "maxLength": 9, "pattern": "^a"},
            'at most 9 characters · starts with "a"',
        ),
        ({"type": "string", "pattern": "^(a|b)+$"}, "matches the pattern ^(a|b)+$"),
        ({"type": "string", "pattern": "^(a|b)+$", "description": "Some a and b."}, None),
        ({"type": "string", "format": "email", "pattern": "^a"}, 'starts with "a"'),
        ({"type": "string"}, None),
    ],
)
def test_bounds_are_a_phrase(schema: dict[str, Any], phrase: str | None) -> None:
    fields = fields_from_schema(schema)
    assert fields is not None
    assert describe_constraints(fields[0], Labels()) == phrase
