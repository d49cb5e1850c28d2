"""A JSON editor starts with what somebody has said, and with nothing else: its shape stands beside it."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.view import view_of
from answerback.presentation.form_inputs import NO_LIMITS, FormLimits
from answerback.presentation.form_spec import Entry, FormSpec, plan_form
from answerback.presentation.form_values import read_form
from answerback_discord import form_inputs as discord
from answerback_slack import form_inputs as slack
from answerback_telegram import option_controls as telegram
from answerback_web import parse
from answerback_web.posts import InvalidPost
from tests.unit.adapters.all_surfaces import LABELS, asked
from tests.unit.adapters.web.test_render_and_parse import sent, shown

pytestmark = pytest.mark.rule("SURFACE-7")

SERVERS: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "ok": {"type": "boolean"}},
    },
}
SHAPES: list[tuple[Any, str]] = [
    (SERVERS, '[{"n": 0, "ok": false}]'),
    ({"type": "array", "items": {"type": "string"}}, '[""]'),
    ({"type": "object"}, "{}"),
]
LIMITS = {
    "slack": slack.FORM_LIMITS,
    "discord": discord.FORM_LIMITS,
    "telegram": telegram.FORM_LIMITS,
    "web": NO_LIMITS,
}


def call(schema: Any, **more: Any) -> dict[str, Any]:
    question = {"id": "s", "text": "Which?", "answer_type": "schema", "schema": schema, **more}
    return {"name": "ask_user", "arguments": {"questions": [question]}}


def form_of(limits: FormLimits, schema: Any, **more: Any) -> FormSpec:
    spec = plan_form(view_of(asked(call(schema, **more))), Entry.SCHEMA, LABELS, limits)
    assert spec is not None
    return spec


@pytest.mark.parametrize("surface", LIMITS)
@pytest.mark.parametrize(("schema", "shape"), SHAPES)
def test_without_a_default_it_is_empty_and_has_the_shape_beside_it(
    surface: str, schema: Any, shape: str
) -> None:
    [editor] = (spec := form_of(LIMITS[surface], schema)).inputs
    assert (editor.start, editor.required) == ("", True)
    assert editor.hint == f"It has this shape: {shape}"
    problems = read_form(spec, {editor.id: editor.start}, None)
    assert isinstance(problems, tuple)
    assert [each.message for each in problems] == ["Type the answer as JSON."]


@pytest.mark.rule("SURFACE-8")
@pytest.mark.parametrize("surface", LIMITS)
@pytest.mark.parametrize(
    ("schema", "more"), [(SERVERS, {"default": [{"n": 2}]}), ({**SERVERS, "default": [{"n": 2}]}, {})]
)  # fmt: skip
def test_a_default_is_what_it_starts_with(surface: str, schema: Any, more: Any) -> None:
    [editor] = (spec := form_of(LIMITS[surface], schema, **more)).inputs
    assert editor.hint == ""
    assert read_form(spec, {editor.id: editor.start}, None) == Answer(value=[{"n": 2}])


@pytest.mark.parametrize(("schema", "shape"), SHAPES[1:])  # the first one is rows on a page
def test_an_untouched_page_is_refused_in_words(schema: Any, shape: str) -> None:
    ask = asked(call(schema))
    page = shown(ask)
    assert dict(page.fields)["json"].strip() == ""
    assert f"It has this shape: {shape}" in page.text
    refused = parse.interpret_post(sent(page), ask, LABELS)
    assert isinstance(refused, InvalidPost)
    assert [each.message for each in refused.problems] == ["Type the answer as JSON."]
