"""MCP elicitations as servers send them: without fields, with one, with optional ones, and with any JSON Schema."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel, Field

from answerback.core.actions import Answer, Reply
from answerback.core.answers import Accepted, Invalid, check_answer
from answerback.core.ask import Ask
from answerback.core.errors import InvalidCallError
from answerback.core.form import AnswerType, Question
from answerback.core.schema_fields import FieldKind, fields_from_schema
from answerback.dialects import registry
from tests.unit.bot.dialect_support import act, ask_from_call, problem_codes
from tests.unit.cases import case_call, read_case

Json = dict[str, Any]
NAME = "elicitation/create"


def read_schema(schema: Json, message: str = "?") -> Question:
    """Return the question of a form with this schema."""
    call: Json = {"message": message, "requestedSchema": schema}
    (question,) = registry.parse_call(NAME, call)[1].questions
    return question


def result_of(case_or_call: str | Json, *actions: Any) -> Any:
    """Return the result of a case, or of another call, after some actions."""
    call = case_call(case_or_call) if isinstance(case_or_call, str) else case_or_call
    result = registry.render_result(act(asked(call), *actions))
    assert result is not None
    return result.structured


def asked(call: Json) -> Ask:
    return ask_from_call(call["name"], call["arguments"])


def form(**schema: Any) -> Json:
    return {"name": NAME, "arguments": {"message": "Go on?", "requestedSchema": schema}}


@pytest.mark.rule("ELICIT-4")
def test_a_form_without_fields_is_accepted_or_declined() -> None:
    case = "elicitation-nothing-to-fill"
    [question] = asked(case_call(case)).form.questions
    assert (question.answer_type, question.consent) == (AnswerType.BOOLEAN, True)
    assert result_of(case, Answer(value=True)) == {"action": "accept", "content": {}}
    assert result_of(case, Answer(value=False)) == {"action": "decline"}
    assert result_of(case, Reply(text="Not now.")) == {"action": "decline"}


@pytest.mark.rule("ELICIT-4")
@pytest.mark.parametrize(
    ("schema", "is_empty"),
    [
        ({}, True),
        ({"type": "object"}, True),
        ({"properties": {}, "required": [], "additionalProperties": False, "title": "T"}, True),
        ({"properties": None, "$schema": "https://json-schema.org/draft/2020-12/schema"}, True),
        ({"required": ["a"]}, False),
        ({"additionalProperties": {"type": "string"}}, False),
        ({"minProperties": 1}, False),
        ({"$ref": "#/$defs/Form", "$defs": {"Form": {"properties": {"a": {}}}}}, False),
    ],
)
def test_a_form_has_no_fields_only_if_its_schema_allows_nothing_else(
    schema: Json, is_empty: bool
) -> None:
    kind = AnswerType.BOOLEAN if is_empty else AnswerType.SCHEMA
    assert read_schema(schema).answer_type is kind


@pytest.mark.rule("ELICIT-5")
def test_one_required_boolean_is_that_question() -> None:
    case = "elicitation-one-boolean"
    [question] = asked(case_call(case)).form.questions
    assert (question.answer_type, question.consent) == (AnswerType.BOOLEAN, False)
    assert not question.has_default
    for value in (True, False):
        assert result_of(case, Answer(value=value)) == {
            "action": "accept",
            "content": {"ok": value},
        }
    assert result_of(case, Reply(text="")) == {"action": "decline"}


@pytest.mark.rule("ELICIT-5")
def test_one_required_choice_is_that_question() -> None:
    options = [{"const": "eu", "title": "Europe", "description": "Near."}, {"const": "us"}]
    field = {"oneOf": options, "default": "us", "title": "Region", "description": "It stays there."}
    call = form(properties={"skip": None, "where": field}, required=["where"])
    [question] = asked(call).form.questions
    assert question.answer_type is AnswerType.SELECT
    assert [(each.value, each.label, each.description) for each in question.options] == [
        ("eu", "Europe", "Near."),
        ("us", "us", None),
    ]
    assert (question.default, question.context) == ("us", "Region\n\nIt stays there.")
    assert result_of(call, Answer(value="eu")) == {"action": "accept", "content": {"where": "eu"}}


@pytest.mark.rule("ELICIT-5")
def test_the_title_of_the_only_field_is_not_repeated() -> None:
    field = {
        "type": "boolean",
        "title": "Go on",
        "description": "It takes an hour.",
        "default": True,
    }
    question = read_schema({"properties": {"ok": field}, "required": ["ok"]}, "Go on?")
    assert (question.context, question.default) == ("It takes an hour.", True)


@pytest.mark.rule("ELICIT-5")
@pytest.mark.parametrize(
    ("required", "field"),
    [
        ([], {"type": "boolean"}),
        (["a"], {"type": ["boolean", "null"]}),
        (["a"], {"type": "boolean", "not": {"const": True}}),
        (["a"], {"enum": [1, 2]}),
        (["a"], {"enum": ["x", " "]}),
        (["a"], {"enum": ["x", "y" * 1_001]}),
        (["a"], {"oneOf": [{"const": "x", "description": "d" * 20_001}]}),
        (["a"], {"enum": [f"option {i}" for i in range(1_001)]}),
        (["a"], {"enum": ["x", "long"], "maxLength": 2}),
        (["a"], {"type": "string"}),
        (["a"], {"type": "array", "items": {"enum": ["x"]}}),
    ],
)
def test_any_other_single_field_is_a_form(required: list[str], field: Json) -> None:
    question = read_schema({"properties": {"a": field}, "required": required})
    assert question.answer_type is AnswerType.SCHEMA
    assert question.json_schema is not None


@pytest.mark.rule("ELICIT-6")
def test_an_optional_field_is_a_text_that_may_be_left_out() -> None:
    case = "elicitation-optional-field"
    [question] = asked(case_call(case)).form.questions
    assert not question.has_default
    [field] = fields_from_schema(question.json_schema) or ()
    assert (field.kind, field.title, field.required) == (FieldKind.TEXT, "Note", False)
    assert result_of(case, Answer(value={"note": "x"}))["content"] == {"note": "x"}
    assert result_of(case, Answer(value={"note": None})) == {"action": "accept", "content": {}}


@pytest.mark.rule("ELICIT-6")
def test_an_unknown_format_is_ignored() -> None:
    case = "elicitation-unknown-format"
    [question] = asked(case_call(case)).form.questions
    [field] = fields_from_schema(question.json_schema) or ()
    assert field.kind is FieldKind.TEXT
    assert result_of(case, Answer(value={"tel": "+1 555"}))["content"] == {"tel": "+1 555"}


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Optionals(BaseModel):
    """A form as MCP servers write it, with every kind of optional field."""

    text: str | None = None
    count: int | None = Field(default=None, ge=1)
    color: Color | None = None
    colors: list[Color] | None = None
    when: date | None = None
    sure: bool | None = None


@pytest.mark.rule("ELICIT-6")
def test_pydantics_optional_fields_have_native_inputs() -> None:
    question = read_schema(Optionals.model_json_schema())
    fields = fields_from_schema(question.json_schema)
    assert fields is not None
    assert [field.kind.value for field in fields] == [
        "text", "integer", "choice", "choices", "date", "boolean"
    ]  # fmt: skip
    answer: Json = {
        "color": "red",
        "colors": ["blue"],
        "count": 2,
        "when": "2026-11-25",
        "sure": True,
    }
    assert check_answer(question, {**answer, "text": None}) == Accepted(answer)
    wrongs: list[Json] = [{"color": "green"}, {"count": 0}, {"when": "soon"}]
    for wrong in wrongs:
        assert isinstance(check_answer(question, wrong), Invalid)


@pytest.mark.rule("ELICIT-6")
def test_the_default_of_a_field_by_reference_is_checked_against_the_definition() -> None:
    defined: Json = {"Color": {"enum": ["red", "blue"]}}
    for sent, kept in (("red", {"color": "red"}), ("green", None)):
        field: Json = {"$ref": "#/$defs/Color", "default": sent}
        question = read_schema({"properties": {"color": field, "more": True}, "$defs": defined})
        assert question.default == kept


@pytest.mark.rule("ELICIT-6")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ({"type": "array", "items": {"type": "string"}}, ["a", "b"]),
        ({"type": "array"}, [1]),
        ({"type": "object", "properties": {"b": {"type": "integer"}}}, {"b": 1}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, "x"),
        ({}, 3),
        (True, {"x": []}),
    ],
)
def test_what_no_input_can_show_is_answered_as_json(field: Any, value: Any) -> None:
    call = form(properties={"a": field, "b": {"type": "string"}}, required=["a"])
    [question] = asked(call).form.questions
    assert fields_from_schema(question.json_schema) is None
    assert result_of(call, Answer(value={"a": value})) == {
        "action": "accept",
        "content": {"a": value},
    }


def test_null_is_a_value_where_data_stands_and_a_property_may_be_named_like_a_keyword() -> None:
    fields: Json = {
        "default": {"type": "string", "title": None},
        "enum": {"enum": ["a", None], "description": None},
        "const": {"anyOf": [{"const": None}, {"const": "x"}], "format": None},
        "properties": {"type": "string", "pattern": None},
    }
    assert read_schema({"properties": fields}).json_schema == {
        "type": "object",
        "properties": {
            "default": {"type": "string"},
            "enum": {"enum": ["a", None]},
            "const": {"anyOf": [{"const": None}, {"const": "x"}]},
            "properties": {"type": "string"},
        },
    }


@pytest.mark.parametrize("pattern", [r"^(?=.*\d).{8,}$", r"(a)\1", "("])
def test_a_pattern_that_cannot_be_checked_here_is_the_servers_to_check(pattern: str) -> None:
    field = {"type": "string", "title": "Name", "pattern": pattern}
    question = read_schema({"properties": {"name": field, "pattern": {"type": "string"}}})
    assert question.json_schema == {
        "type": "object",
        "properties": {"name": {"type": "string", "title": "Name"}, "pattern": {"type": "string"}},
    }


def test_a_schema_that_cannot_be_used_is_refused() -> None:
    deep: Any = {"type": "string"}
    for _ in range(40):
        deep = {"type": "object", "properties": {"a": deep}}
    for schema in (deep, {"properties": {"a": {"type": "colour"}}}, {"$ref": "https://x.example/"}):
        [(pointer, code)] = problem_codes(NAME, {"message": "?", "requestedSchema": schema})
        assert pointer == "/requestedSchema"
        assert code in {"too_long", "invalid_schema"}
    assert problem_codes(NAME, {"requestedSchema": {"type": "array"}}) == [
        ("/requestedSchema/type", "unknown_value"),
        ("/message", "required"),
    ]


@pytest.mark.rule("ELICIT-7")
def test_a_form_that_asks_for_a_secret_is_refused_with_the_reason() -> None:
    call = read_case("password-field-in-plain-text")["input"]
    with pytest.raises(InvalidCallError) as refused:
        asked(call)
    [problem] = refused.value.problems
    assert (problem.pointer, problem.code) == (
        "/requestedSchema/properties/api_key",
        "unknown_value",
    )
    assert "MCP forbids that in a form" in problem.message


@pytest.mark.rule("ELICIT-7")
@pytest.mark.parametrize(
    "secret", [{"type": "string", "format": "password"}, {"type": "string", "writeOnly": True}]
)
def test_a_secret_is_found_wherever_it_is(secret: Json) -> None:
    for schema in (
        {"properties": {"properties": secret}},
        {"properties": {"a": {"anyOf": [secret, {"type": "null"}]}}},
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": secret}},
    ):
        assert [code for _, code in problem_codes(NAME, form(**schema)["arguments"])] == [
            "unknown_value"
        ]
    said: Json = {"properties": {"format": {"enum": ["password"], "default": secret}}}
    assert read_schema({"type": "object", **said}).answer_type is AnswerType.SCHEMA
