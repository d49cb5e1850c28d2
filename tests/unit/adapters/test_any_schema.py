"""Whatever JSON Schema a question has and whatever is entered: refused in words, or asked and checked everywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from answerback.core.ask import Ask
from answerback.core.errors import InvalidCallError
from answerback.core.form import Question
from answerback.core.json_schema import schemas, skeleton
from answerback.core.schema_field_values import (
    entries_from_value,
    placeholder,
    value_from_entries,
)
from answerback.core.schema_fields import fields_from_schema
from answerback.core.view import view_of
from answerback.presentation import form_spec
from answerback.presentation.form_inputs import NO_LIMITS, FormLimits
from answerback.presentation.form_spec import Entry
from answerback.presentation.form_values import read_form
from answerback.service.ask_wire import ask_json
from answerback_chat.control_codec import Control, Verb
from answerback_discord import form_inputs as discord_forms
from answerback_slack import form_inputs as slack_forms
from answerback_slack import modals as slack_modals
from answerback_telegram import option_controls as telegram_forms
from tests.fakes.slack.checks import check_view
from tests.unit.adapters.all_surfaces import LABELS, SURFACES, asked

Json = Any

_SCALARS: st.SearchStrategy[Json] = st.sampled_from(
    [None, True, False, 0, 1, -1, 1.5, 1e300, 10**30, "", "a", "b", "2026-01-01", "\u202e", "x" * 200]
)  # fmt: skip
VALUES: st.SearchStrategy[Json] = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "", "c/~"]), inner, max_size=3)
    ),
    max_leaves=5,
)
_NAMES = st.sampled_from(["a", "b", "", "c/~"])
_TYPES = ["string", "integer", "number", "boolean", "array", "object", "null"]
_COUNTS = st.sampled_from([0, 1, 2, 10**20])
_NUMBERS = st.sampled_from([-1, 0, 1, 2.5, 1e300])


def _schemas_of(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    listed, by_name = st.lists(inner, min_size=1, max_size=3), st.dictionaries(_NAMES, inner)
    keywords: dict[str, st.SearchStrategy[Json]] = {
        "type": st.sampled_from(_TYPES)
        | st.lists(st.sampled_from(_TYPES), min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, max_size=3),
        "const": VALUES,
        "default": VALUES,
        "examples": st.lists(VALUES, max_size=2),
        "title": st.sampled_from(["", " ", "T", "x" * 300]),
        "description": st.sampled_from(["", "D", "x" * 300]),
        "properties": by_name,
        "patternProperties": st.dictionaries(st.just("^a"), inner, max_size=1),
        "required": st.lists(_NAMES, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(_NAMES, st.just(["b"]), max_size=1),
        "additionalProperties": inner,
        "unevaluatedProperties": inner,
        "propertyNames": inner,
        "items": inner,
        "prefixItems": listed,
        "unevaluatedItems": inner,
        "contains": inner,
        "minContains": _COUNTS,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "anyOf": listed,
        "oneOf": listed,
        "allOf": listed,
        "$ref": st.sampled_from(["#", "#/$defs/a", "#/properties/a", "#/nowhere"]),
        "$defs": by_name,
        "format": st.sampled_from(["email", "date", "date-time", "uri", "password", "odd"]),
        "pattern": st.sampled_from(["^a", "b$", "\\d{2}"]),
        "writeOnly": st.booleans(),
        "uniqueItems": st.booleans(),
        "$schema": st.sampled_from(
            ["http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#"]
        ),
        **dict.fromkeys(
            ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _COUNTS
        ),
        **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBERS),
        "multipleOf": st.sampled_from([1, 0.1, 5]),
    }  # fmt: skip
    chosen = st.lists(st.sampled_from(sorted(keywords)), max_size=5, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({n: keywords[n] for n in names}))


_SMALLEST: st.SearchStrategy[Json] = st.sampled_from(
    [True, False, {}, {"enum": []}, {"not": {}}, {"type": "string"}, {"type": "integer"}]
)
_FLAT: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(_NAMES, _schemas_of(_SMALLEST), min_size=1),
        "required": st.lists(_NAMES, max_size=1),
    }
)
SCHEMAS: st.SearchStrategy[Json] = _SMALLEST | _FLAT | _schemas_of(_schemas_of(_SMALLEST))
IMPOSSIBLE: list[Json] = [
    False,
    {"enum": []},
    {"type": "string", "enum": []},
    {"not": {}},
    {"not": True},
]
_ENTRIES: st.SearchStrategy[Json] = st.sampled_from(
    [None, "", " ", "a", "1", "1.5", "-1e300", "yes", True, False, [], [0], [0, 1], [9]]
)


def call(schema: Json, **more: Json) -> dict[str, Any]:
    question = {"id": "s", "text": "Fill in", "answer_type": "schema", "schema": schema, **more}
    return {"name": "ask_user", "arguments": {"questions": [question]}}


def ask_if_usable(schema: Json, **more: Json) -> Ask | None:
    try:
        return asked(call(schema, **more))
    except InvalidCallError:
        return None


@pytest.mark.rule("FORM-4", "SURFACE-7")
@settings(max_examples=2 * settings().max_examples)
@given(SCHEMAS, st.lists(VALUES, min_size=1, max_size=3), st.data())
@example({"properties": {"a": {"enum": []}}}, [{"a": 1}, {}, None], None)
@example({"items": {"not": {}}}, [[1], []], None)
@example({"properties": {"a": False}}, [{"a": 1}, {}], None)
@example({"anyOf": [{"enum": []}, {"type": "null"}]}, [None, 1], None)
def test_any_schema_is_refused_in_words_or_checks_any_value(
    schema: Json, values: list[Json], data: st.DataObject | None
) -> None:
    ask = ask_if_usable(schema)
    if ask is None:
        return
    is_secret = any(word in json.dumps(schema) for word in ('"password"', '"writeOnly": true'))
    if isinstance(schema, dict) and schema.get("type") == "object" and not is_secret:
        asks = {"message": "Fill in", "requestedSchema": schema}
        assert asked({"name": "elicitation/create", "arguments": asks}).question is not None
    skeleton.skeleton(schema)
    fields = fields_from_schema(schema) or ()
    for value in values:
        for problem in schemas.violations(schema, value):
            assert problem.message.endswith(".")
        entries_from_value(fields, value, is_set=True)
    entered = {each.name: data.draw(_ENTRIES) for each in fields} if data else {}
    found = value_from_entries(fields, entered)
    assert isinstance(found, tuple) or schemas.violations(schema, found) is not None
    for limits in (NO_LIMITS, slack_forms.FORM_LIMITS, discord_forms.FORM_LIMITS):
        _fill_in(ask, limits, entered)
    _fill_in(ask, telegram_forms.FORM_LIMITS, entered)


def _fill_in(ask: Ask, limits: FormLimits, entered: dict[str, Json]) -> None:
    view = view_of(ask)
    spec = form_spec.plan_form(view, Entry.SCHEMA, LABELS, limits)
    assert spec is not None
    for each in spec.fields:
        placeholder(each)
    typed = dict(zip((each.id for each in spec.inputs), entered.values(), strict=False))
    assert read_form(spec, typed, view.prompt) is not None


@pytest.mark.rule("SURFACE-6", "SURFACE-7")
@settings(max_examples=settings().max_examples // 2)
@given(SCHEMAS, VALUES, st.booleans())
@example({"properties": {"a": {"enum": []}, "b": {"not": {}}}}, None, False)
def test_any_schema_is_shown_on_every_surface(schema: Json, default: Json, has: bool) -> None:
    ask = ask_if_usable(schema, **({"default": default} if has else {}))
    if ask is None:
        return
    assert ask_json(ask)["prompt"] is not None
    for shown in SURFACES.values():
        assert "Fill in" in shown(ask)
    view = view_of(ask)
    assert discord_forms.modal_spec(view, Verb.FILL, LABELS) is not None
    control = Control(ask.id, ask.revision, Verb.FILL)
    modal: Json = slack_modals.build_modal(view, control, LABELS, "[]")
    assert check_view(modal, foreign=False) == []


@pytest.mark.rule("FORM-4")
@pytest.mark.parametrize("schema", IMPOSSIBLE)
def test_a_schema_that_literally_allows_nothing_is_refused(schema: Json) -> None:
    member = {"type": "object", "properties": {"a": schema, "b": {}}, "required": ["a"]}
    for refused in (schema, member):
        with pytest.raises(InvalidCallError) as error:
            asked(call(refused))
        [problem] = error.value.problems
        assert (problem.pointer, problem.code) == ("/questions/0/schema", "invalid_schema")
        assert "no answer fits it" in problem.message


@pytest.mark.rule("FORM-4")
@pytest.mark.parametrize("schema", IMPOSSIBLE)
def test_elsewhere_such_a_schema_is_asked_and_only_what_it_forbids_is_refused(schema: Json) -> None:
    ask = asked(call({"type": "object", "properties": {"a": schema, "b": {"items": schema}}}))
    question: Question | None = ask.question
    assert question is not None
    assert schemas.violations(question.json_schema, {"b": []}) == ()
    wrongs: list[Json] = [{"a": 1}, {"b": [1]}]
    for wrong in wrongs:
        problems = schemas.violations(question.json_schema, wrong)
        assert {problem.pointer for problem in problems} <= {"/a", "/b/0"}
        assert problems


@pytest.mark.rule("FORM-5")
@pytest.mark.parametrize("schema", [{"items": {"enum": []}}, {"properties": {"a": {"not": {}}}}])
def test_a_condition_that_such_a_schema_excludes_is_refused_in_words(schema: Json) -> None:
    asks = call(schema)["arguments"]["questions"]
    when = {"question_id": "s", "equals": [1] if "items" in schema else {"a": 1}}
    asks += [{"id": "t", "text": "And?", "answer_type": "boolean", "when": when}]
    with pytest.raises(InvalidCallError) as error:
        asked({"name": "ask_user", "arguments": {"questions": asks}})
    assert [each.code for each in error.value.problems] == ["unsatisfiable_when"]
