"""Choices of a schema whose titles are the same."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.schema_fields import fields_from_schema


@pytest.mark.rule("WEB-12")
@pytest.mark.parametrize(
    ("schema", "titles"),
    [
        ({"enum": [1, "1", "a"]}, ["1", '"1"', "a"]),
        ({"enum": ["x", "y"], "enumNames": ["Same", "Same"]}, ['Same ("x")', 'Same ("y")']),
        ({"enum": ["x", "y"], "enumNames": ["y", "Z"]}, ["y", "Z"]),
        (
            {"oneOf": [{"const": 1, "title": "One"}, {"const": "1", "title": "One"}]},
            ["One (1)", 'One ("1")'],
        ),
    ],
)
def test_choices_with_one_title_show_their_values(schema: JsonValue, titles: list[str]) -> None:
    fields = fields_from_schema(schema)
    assert fields is not None
    assert [choice.title for choice in fields[0].choices] == titles
