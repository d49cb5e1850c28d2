"""Which values answer a question; hostile schemas cost little time; an independent validator agrees."""

from __future__ import annotations

import json
import time
from typing import Any

import jsonschema
import pytest
import referencing
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.actions import Other, Reply
from answerback.core.answers import (
    Accepted,
    Invalid,
    check_answer,
    check_other,
    check_text,
    check_with_note,
)
from answerback.core.ask import Change, apply_action
from answerback.core.form import AnswerType, Option, Question
from answerback.core.json_schema import schemas
from answerback.core.json_schema.schemas import InvalidSchemaError
from answerback.core.schema_field_values import value_from_entries
from answerback.core.schema_fields import Field, FieldKind
from answerback.core.walker import Refused
from answerback_base.strict_json import json_equal
from answerback_testing.strategies import questions, values
from answerback_testing.walker_model import canonical
from tests.unit.bot.dialect_support import ask_from_call
from tests.unit.cases import read_case

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def of(kind: AnswerType, *options: str, schema: Any = None) -> Question:
    made = tuple(Option(value=value, label=value.upper()) for value in options)
    return Question(id="q", text="?", answer_type=kind, options=made, json_schema=schema)


def codes(question: Question, value: Any) -> list[tuple[str, str]]:
    checked = check_answer(question, value)
    return [(p.pointer, p.code) for p in checked.problems] if isinstance(checked, Invalid) else []


@pytest.mark.rule("FORM-10")
@given(JSON, JSON)
def test_json_equality_is_by_type_and_value(a: Any, b: Any) -> None:
    assert json_equal(a, b) == (canonical(a) == canonical(b))
    assert json_equal(a, a)


@pytest.mark.rule("FORM-10")
@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [(True, 1, False), (False, 0, False), (True, "true", False), (1, 1.0, True), (1, "1", False)],
)
def test_booleans_numbers_and_texts_are_different_values(a: Any, b: Any, equal: bool) -> None:
    assert json_equal(a, b) is json_equal(b, a) is equal
    assert json_equal([a], [b]) is json_equal({"k": a}, {"k": b}) is equal


@pytest.mark.rule("FORM-1")
@given(st.data())
def test_every_value_of_a_questions_type_is_accepted_unchanged(data: Any) -> None:
    question = data.draw(questions("q"))
    value = data.draw(values(question))
    checked = check_answer(question, value)
    assert isinstance(checked, Accepted)
    assert json_equal(checked.value, value)


@pytest.mark.rule("FORM-1")
@given(st.sampled_from(AnswerType), JSON)
def test_no_value_of_another_type_is_accepted(kind: AnswerType, value: Any) -> None:
    question = of(kind, *(["x", "y"] if "select" in kind else []), schema={"type": "string"})
    wanted = {AnswerType.BOOLEAN: bool, AnswerType.MULTI_SELECT: list}.get(kind, str)
    if isinstance(check_answer(question, value), Accepted):
        assert isinstance(value, wanted)


@pytest.mark.rule("FORM-1")
def test_a_multi_select_is_in_option_order_and_reports_each_problem() -> None:
    question = of(AnswerType.MULTI_SELECT, "x", "y", "z")
    assert check_answer(question, ["z", "x"]) == Accepted(["x", "z"])
    assert codes(question, ["x", "w", 3, "x"]) == [
        ("/1", "unknown_value"),
        ("/2", "wrong_type"),
        ("/3", "duplicate_option"),
    ]
    assert codes(question, "x") == [("", "wrong_type")]


def test_an_unknown_option_is_rejected_with_a_list_of_the_options() -> None:
    checked = check_answer(of(AnswerType.SELECT, *map(str, range(15))), "x" * 200)
    assert isinstance(checked, Invalid)
    message = checked.problems[0].message
    assert '"9" or 5 more' in message
    assert len(message) < 300


@pytest.mark.rule("FORM-8")
def test_half_a_surrogate_pair_is_rejected_everywhere() -> None:
    assert codes(of(AnswerType.TEXT), "\ud800") == [("", "wrong_type")]
    assert codes(of(AnswerType.SCHEMA, schema=True), {"\udfff": 1}) == [("", "wrong_type")]
    assert isinstance(check_text("\ud800"), Invalid)


@pytest.mark.rule("FORM-9")
def test_odd_characters_are_kept_verbatim() -> None:
    for text in ("\x00", "\u202e back", "\x1b[31m", "🏳️‍🌈"):
        assert check_answer(of(AnswerType.TEXT), text) == Accepted(text)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "object", "required": ["a/b"]}, {}, [("/a~1b", "required")]),
        ({"properties": {"n": {"minimum": 1}}}, {"n": 0}, [("/n", "unknown_value")]),
        ({"items": {"maxLength": 2}}, ["ab", "abc"], [("/1", "too_long")]),
        ({"type": "string", "format": "email"}, "nobody", [("", "unknown_value")]),
        ({"minItems": 1}, [], [("", "too_few")]),
        (False, 1, [("", "unknown_value")]),
    ],
)
def test_violations_point_to_their_location(
    schema: Any, value: Any, expected: list[tuple[str, str]]
) -> None:
    assert codes(of(AnswerType.SCHEMA, schema=schema), value) == expected


_SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["object", "array", "string", "integer", "number", "boolean", "null"]
        ),
        "minimum": st.integers(-3, 3),
        "maxLength": st.integers(0, 5),
        "enum": st.lists(JSON, min_size=1, max_size=3),
        "required": st.lists(st.sampled_from(["a", "b"]), unique=True),
        "properties": st.dictionaries(
            st.sampled_from(["a", "b"]), st.sampled_from([{"type": "string"}, True, False])
        ),
        "not": st.sampled_from([{"type": "string"}, {"const": 1}]),
        "uniqueItems": st.booleans(),
    },
)


@pytest.mark.rule("FORM-1")
@given(_SCHEMAS, JSON)
def test_an_independent_validator_agrees(schema: Any, value: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    schemas.require_usable(schema)
    judge = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
    assert (schemas.violations(schema, value) == ()) == judge.is_valid(value)


@pytest.mark.rule("FORM-4")
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "nope"}, "nope"),
        ("string", "an object, true or false"),
        ({"$ref": "http://127.0.0.1:1/x"}, "only"),
        ({"$ref": "file:///etc/passwd"}, "only"),
        ({"properties": {"a": {"$ref": "other.json"}}}, "only"),
        ({"$id": "http://127.0.0.1:1/", "type": "string"}, "$id"),
        ({"$ref": "#/nowhere"}, "nowhere"),
        ({"$schema": "http://127.0.0.1:1/meta"}, "meta"),
        ({"pattern": "("}, "regex"),
        ({"pattern": "(?=(a+)+$)a*b"}, "look-around"),
        (
            {"properties": {f"p{n}": {"pattern": f"\\p{{L}}{{90}}{n}"} for n in range(50)}},
            "4 MiB",
        ),
        ({"patternProperties": {f"\\p{{L}}{{90}}{n}": True for n in range(50)}}, "4 MiB"),
        ({"title": "\ud800"}, "surrogate"),
        ({"description": "x" * 70_000}, "bytes"),
    ],
)
def test_an_unusable_schema_is_rejected_with_the_reason(schema: Any, text: str) -> None:
    with pytest.raises(InvalidSchemaError) as refused:
        schemas.require_usable(schema)
    assert text in str(refused.value)


def test_many_ordinary_patterns_fit_in_one_schema() -> None:
    patterns = (r"^[a-z0-9-]{1,63}$", r"^\d{4}-\d{2}-\d{2}$", r"^[^@\s]+@[^@\s]+\.[^@\s]+$")
    named: Any = {f"p{n}": {"pattern": patterns[n % 3]} for n in range(300)}
    schemas.require_usable({"properties": named})
    schemas.require_usable({"pattern": r"^\p{L}{1,50}$"})


def test_a_schema_nested_too_deeply_is_rejected() -> None:
    schema: Any = {}
    for _ in range(40):
        schema = {"not": schema}
    with pytest.raises(InvalidSchemaError, match="nested"):
        schemas.require_usable(schema)


def _doubling(levels: int) -> Any:
    defs: dict[str, Any] = {
        f"l{i}": {"anyOf": [{"$ref": f"#/$defs/l{i + 1}"}, {"$ref": f"#/$defs/l{i + 1}"}]}
        for i in range(levels)
    }
    return {"$defs": {**defs, f"l{levels}": {"type": "string"}}, "$ref": "#/$defs/l0"}


@pytest.mark.rule("DATA-9")
def test_multiplying_alternatives_are_rejected_before_anything_is_checked() -> None:
    schemas.require_usable(_doubling(8))
    with pytest.raises(InvalidSchemaError, match="multiply"):
        schemas.require_usable(_doubling(28))


def test_a_value_too_deep_for_a_schema_that_doubles_at_each_level_is_rejected_at_once() -> None:
    node = {
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}},
        "type": "object",
    }
    schema: Any = {"$defs": {"n": node}, "$ref": "#/$defs/n"}
    schemas.require_usable(schema)
    value: Any = "leaf"
    for _ in range(60):
        value = {"a": value}
    started = time.thread_time()
    assert codes(of(AnswerType.SCHEMA, schema=schema), value) == [("", "too_long")]
    assert time.thread_time() - started < 1.0
    assert codes(of(AnswerType.SCHEMA, schema=schema), {"a": {"a": {}}}) == []


_TWICE: Any = {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": _TWICE}},
        {"properties": {"a": {"properties": {"a": _TWICE}, "allOf": [{"$ref": "#"}]}}},
        {"patternProperties": {"a": {"$ref": "#"}, "^a": {"$ref": "#"}}},
        {"properties": {"a": {"dependentSchemas": {"a": {"$ref": "#"}}, "$ref": "#"}}},
    ],
)
@pytest.mark.parametrize("name", ["a", "enum", "const", "default", "required", "$defs"])
def test_a_doubling_schema_is_rejected_regardless_of_its_property_names(
    schema: Any, name: str
) -> None:
    hostile = json.loads(json.dumps(schema).replace('"a"', json.dumps(name)).replace("^a", "^"))
    schemas.require_usable(hostile)
    value: Any = {}
    for _ in range(40):
        value = {name: value}
    started = time.thread_time()
    assert [p.code for p in schemas.violations(hostile, value)] == ["too_long"]
    assert time.thread_time() - started < 1.0


def test_a_tree_with_two_branches_does_not_count_as_doubling() -> None:
    tree: Any = {"type": "object", "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}}}
    value: Any = {"l": 5}
    for side in "lr" * 20:
        value = {side: value}
    (problem,) = schemas.violations(tree, value)
    assert problem.code == "wrong_type"


def test_a_value_nested_too_deeply_is_rejected() -> None:
    value: Any = 1
    for _ in range(70):
        value = [value]
    assert codes(of(AnswerType.SCHEMA, schema=True), value) == [("", "too_long")]


@pytest.mark.parametrize(
    "schema", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"properties": {"a": {"$ref": "#"}}}]
)
def test_schemas_that_refer_to_themselves_are_followed_once(schema: Any) -> None:
    schemas.require_usable(schema)
    assert codes(of(AnswerType.SCHEMA, schema=schema), {"a": {"a": 1}}) == []


@pytest.mark.rule("DATA-9")
def test_hostile_patterns_cost_milliseconds() -> None:
    for pattern in ("(a+)+$", "(a|a)*b", "^(([a-z])+.)+[A-Z]([a-z])+$"):
        question = of(AnswerType.SCHEMA, schema={"pattern": pattern})
        schemas.require_usable(question.json_schema)
        started = time.thread_time()
        codes(question, "a" * 50_000 + "!")
        assert time.thread_time() - started < 2.0, pattern


def test_a_chain_of_references_that_is_too_long_is_rejected() -> None:
    defs: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(1_500)}
    schema: Any = {"$ref": "#/$defs/d0", "$defs": {**defs, "d1500": {"type": "string"}}}
    with pytest.raises(InvalidSchemaError, match="multiply"):
        schemas.require_usable(schema)


def test_references_are_followed_into_arrays_and_those_in_annotations_may_dangle() -> None:
    schema: Any = {
        "properties": {"a": {"$ref": "#/anyOf/0"}},
        "anyOf": [{"type": ["string", "object"]}, True],
        "x-note": [{"$ref": "#/anyOf/9"}, {"$ref": "#/a/b"}],
    }
    schemas.require_usable(schema)
    assert schemas.violations(schema, {"a": "text"}) == ()
    assert [p.pointer for p in schemas.violations(schema, {"a": 1})] == ["/a"]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_outside_json_is_not_an_answer(number: float) -> None:
    (problem,) = schemas.violations({"type": "number"}, number)
    assert problem.code == "wrong_type"


def test_a_problem_within_an_answer_has_its_location() -> None:
    schema: JsonValue = {
        "properties": {
            "servers": {"type": "array", "items": {"properties": {"port": {"type": "integer"}}}},
            "name": {"type": "string"},
        },
        "required": ["name", "zone"],
    }
    question = Question(id="q", text="?", answer_type=AnswerType.SCHEMA, json_schema=schema)
    unfit = check_answer(question, {"servers": [{"port": "1"}, {"port": "1"}], "name": 2})
    assert isinstance(unfit, Invalid)
    assert {problem.pointer: problem.message for problem in unfit.problems} == {
        "/servers/0/port": "servers[0].port must be a whole number.",
        "/servers/1/port": "servers[1].port must be a whole number.",
        "/name": "name must be text.",
        "/zone": 'The answer has no "zone", which is required.',
    }


def test_lists_of_different_lengths_differ() -> None:
    assert not json_equal([1], [1, 2])
    assert not json_equal([1, 2], [1])


INVISIBLE = [
    "\u200b",
    "\u2060",
    "\u3164",
    "\u200e",
    "\ufe0f",
    "\u00ad",
    "\U000e0041",
    "\u2800",
    " \u200d\n",
]


@pytest.mark.rule("FORM-11")
@pytest.mark.parametrize("text", INVISIBLE)
def test_a_text_that_draws_nothing_is_blank(text: str) -> None:
    other = of(AnswerType.SELECT, "a").model_copy(update={"other": True, "notes": True})
    refused = check_other(other, text, None)
    assert isinstance(refused, Invalid)
    assert [(each.pointer, each.code) for each in refused.problems] == [("/text", "empty")]
    assert check_with_note(other, "a", text) == Accepted("a")
    assert isinstance(check_text(text), Invalid)
    assert check_text(f"a{text}") == Accepted(f"a{text}"), "it is kept beside something"


@pytest.mark.rule("FORM-11")
def test_the_invisible_answer_from_the_field_is_refused() -> None:
    found = read_case("invisible-answer")["input"]
    ask = ask_from_call(found["ask"]["name"], found["ask"]["arguments"])
    refused = apply_action(ask, Other(text=found["action"]["text"]), at=1, by=None)
    assert isinstance(refused, Refused)
    assert [each.message for each in refused.problems] == [
        "The text is blank. Type something first."
    ]


@pytest.mark.rule("FORM-11")
@pytest.mark.parametrize("text", INVISIBLE)
def test_a_message_to_the_agent_that_draws_nothing_is_none(text: str) -> None:
    ask = ask_from_call("ask_user", {"question": "?"})
    done = apply_action(ask, Reply(text=text), at=1, by=None)
    assert isinstance(done, Change)
    assert done.ask.walk.reply is None
    field = Field("a", "A", None, required=True, kind=FieldKind.TEXT)
    assert isinstance(value_from_entries([field], {"a": text}), tuple)
