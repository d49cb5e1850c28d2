"""Look-alikes: the choices of a schema with one title, and options whose numbers people type."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from answerback.cli.terminal.answer_keys import match_key, match_keys, select_keys
from answerback.core.actions import Answer
from answerback.core.labels import Labels
from answerback.core.schema_fields import fields_from_schema
from answerback.core.typed_answers import UnclearText, parse_typed_answer
from answerback.core.view import view_of
from answerback.service.prompt_wire import prompt_body
from tests.unit.bot.core.test_typed_answers import single

LABELS = Labels()
ALIKE = ["Yes", "Ｙ\u200bes", "No", "back"]


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


@pytest.mark.rule("TYPED-2", "TEXT-8")
@pytest.mark.parametrize(
    ("text", "value"),
    [("Yes (1)", "Yes"), ("yes (2)", "Ｙ\u200bes"), ("Back (1)", "back"), ("3", "No")],
)
def test_typing_the_number_that_tells_options_apart_selects_one(text: str, value: str) -> None:
    assert parse_typed_answer(single("select", *ALIKE), text, LABELS) == Answer(value=value)
    several = single("multi_select", *ALIKE)
    assert parse_typed_answer(several, f"No, {text}", LABELS) == Answer(
        value=[each for each in ALIKE if each in {"No", value}]
    )


@pytest.mark.rule("TYPED-2", "TEXT-8")
@pytest.mark.parametrize("text", ["Yes", "yes", "Ｙes"])
def test_typing_what_several_options_look_like_selects_none(text: str) -> None:
    for kind in ("select", "multi_select"):
        found = parse_typed_answer(single(kind, *ALIKE), text, LABELS)
        assert isinstance(found, UnclearText)
        assert "can mean more than one thing" in found.sentence


@pytest.mark.rule("TERMINAL-1", "TEXT-8")
def test_the_terminal_takes_that_number_too() -> None:
    prompt: Any = prompt_body(view_of(single("select", *ALIKE), LABELS))
    assert prompt is not None
    keys, _ = select_keys(prompt, LABELS)
    assert [match_key(line, keys) for line in ("Yes (1)", "yes (2)", "back (1)")] == ["1", "2", "4"]
    assert match_keys("yes (2), No", keys) == ["2", "3"]
    assert "is not one of the choices" in match_key("Yes", keys)
