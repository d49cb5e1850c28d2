"""MCP elicitations beyond the vectors: odd defaults, null for missing values, links, unknown modes."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types._v2026_07_28 import (
    EnumSchema,
    LegacyTitledEnumSchema,
    TitledMultiSelectEnumSchema,
    TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
)
from pydantic import BaseModel

from answerback.core.actions import Answer, Reply
from answerback.core.answers import Accepted, Invalid, check_answer
from answerback.core.ask import Reason, Status, end_ask
from answerback.core.errors import InvalidCallError
from answerback.core.form import AnswerType, Question
from answerback.dialects import registry
from tests.unit.bot.dialect_support import act, make_ask

Json = dict[str, Any]
NAME = "elicitation/create"


def read(required: list[str] | None = None, **properties: Any) -> Question:
    """Return the question of a form with these properties."""
    schema: Json = {"type": "object", "properties": properties, "required": required}
    call: Json = {"message": "?", "requestedSchema": schema}
    (question,) = registry.parse_call(NAME, call)[1].questions
    return question


def refused(name: str = NAME, **arguments: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidCallError) as found:
        registry.parse_call(name, arguments)
    return [(problem.pointer, problem.code) for problem in found.value.problems]


BOTH = [{"const": "p", "title": "Production"}, {"const": "s", "title": "Staging"}]
TITLED = [{"const": "p", "title": "Production"}, {"const": "s", "title": None}]


ENUMS: list[tuple[type[BaseModel], Json, Any]] = [
    (UntitledSingleSelectEnumSchema, {"type": "string", "enum": ["p", "s"]}, "s"),
    (TitledSingleSelectEnumSchema, {"type": "string", "oneOf": BOTH}, "s"),
    (LegacyTitledEnumSchema, {"type": "string", "enum": ["p", "s"], "enumNames": ["P", "S"]}, "s"),
    (
        UntitledMultiSelectEnumSchema,
        {"type": "array", "items": {"type": "string", "enum": ["p", "s"]}, "minItems": 1},
        ["s", "p"],
    ),
    (
        TitledMultiSelectEnumSchema,
        {"type": "array", "items": {"anyOf": BOTH}, "maxItems": 2},
        ["s"],
    ),
]


@pytest.mark.rule("ELICIT-1")
@pytest.mark.parametrize(("model", "field", "default"), ENUMS, ids=[m.__name__ for m, *_ in ENUMS])
def test_every_form_of_an_enum_in_the_newest_revision_is_asked_with_its_default(
    model: type[BaseModel], field: Json, default: Any
) -> None:
    field = {**field, "title": "Where", "description": "It goes there.", "default": default}
    made = model.model_validate(field)
    assert made.model_dump(mode="json", by_alias=True, exclude_none=True) == field
    free = {"type": "string"}
    question = read(["n"], n=field, more=free)
    assert question.json_schema == {
        "type": "object",
        "properties": {"n": field, "more": free},
        "required": ["n"],
    }
    assert question.default == {"n": default}
    assert check_answer(question, {"n": default}) == Accepted({"n": default})
    wrongs: list[Any] = ["x", ["x"], None, 3]
    for wrong in wrongs:
        assert isinstance(check_answer(question, {"n": wrong}), Invalid)


def test_the_forms_of_an_enum_are_those_of_the_sdk() -> None:
    assert {*get_args(EnumSchema)} == {model for model, *_ in ENUMS}


@pytest.mark.rule("ELICIT-1")
@pytest.mark.parametrize(
    ("field", "misfit", "fit"),
    [
        ({"type": "string", "maxLength": 2}, "abc", "ab"),
        ({"type": "string", "format": "email"}, "nobody", "a@b.example"),
        ({"type": "integer", "minimum": 3}, 2, 3),
        ({"type": "number"}, "3", 3.5),
        ({"type": "boolean"}, "yes", False),
        ({"enum": ["a"]}, "b", "a"),
        ({"type": "string", "enum": ["1"], "enumNames": ["One"]}, "One", "1"),
        ({"type": "string", "oneOf": TITLED}, "Production", "p"),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 1}, [], ["a"]),
        ({"type": "array", "items": {"anyOf": TITLED}}, ["p", "x"], ["s"]),
    ],
)
def test_a_default_is_offered_if_it_is_valid_for_its_field(
    field: Json, misfit: Any, fit: Any
) -> None:
    dropped = read(n={**field, "default": misfit}, other={"type": "string"})
    assert (dropped.has_default, dropped.default) == (False, None)
    assert isinstance(dropped.json_schema, dict)
    assert "default" not in str(dropped.json_schema)  # no surface offers it either
    assert read(n={**field, "default": fit}).default == {"n": fit}


def test_null_for_a_keyword_counts_as_missing_at_any_level() -> None:
    question = read(
        one={"type": "string", "title": None, "oneOf": TITLED, "format": None},
        many={"type": "array", "items": {"type": None, "anyOf": TITLED}, "maxItems": None},
    )
    titled = [TITLED[0], {"const": "s"}]
    assert question.json_schema == {
        "type": "object",
        "properties": {
            "one": {"type": "string", "oneOf": titled},
            "many": {"type": "array", "items": {"anyOf": titled}},
        },
    }


@pytest.mark.rule("ELICIT-1")
@given(st.dictionaries(st.sampled_from("abcd"), st.none() | st.just("x") | st.just(3), max_size=4))
def test_no_null_is_ever_an_answer(value: dict[str, Any]) -> None:
    text = {"type": "string"}
    question = read(["a"], a=text, b=text, c=text)
    checked = check_answer(question, value)
    if isinstance(checked, Invalid):
        assert value.get("a") is None or 3 in value.values()
    else:
        assert checked.value == {key: each for key, each in value.items() if each is not None}


def test_a_value_that_is_not_an_object_is_reported() -> None:
    checked = check_answer(read(a={"type": "string"}), None)
    assert isinstance(checked, Invalid)
    assert [problem.code for problem in checked.problems] == ["wrong_type"]


LINK = {"mode": "url", "message": "Sign in", "url": "http://localhost:3000/a?b=c#d"}


@pytest.mark.rule("ELICIT-2")
def test_a_link_is_shown_in_full_and_declined_by_no_and_by_a_reply() -> None:
    ask = make_ask("elicitation", LINK)
    (question,) = ask.form.questions
    assert (question.context, question.answer_type) == (LINK["url"], AnswerType.BOOLEAN)
    assert not question.has_default
    answers = [
        act(ask, Answer(value=True)),
        act(ask, Answer(value=False)),
        act(ask, Reply(text="no")),
    ]
    answers.append(end_ask(ask, Status.EXPIRED, at=1, reason=Reason.EXPIRED).ask)
    results = [registry.render_result(answer) for answer in answers]
    actions = [result.structured for result in results if result is not None]
    assert actions == [{"action": word} for word in ("accept", "decline", "decline", "cancel")]


@pytest.mark.rule("ELICIT-2")
@pytest.mark.parametrize(
    "url", ["ftp://a.example/", "//a.example/", "https://", "https://[", "http:a", "data:text/html,x"]
)  # fmt: skip
def test_only_web_addresses_are_accepted_as_links(url: str) -> None:
    assert refused(**{**LINK, "url": url}) == [("/url", "unknown_value")]


def test_missing_parts_of_a_link_are_reported() -> None:
    assert refused(mode="url") == [("/message", "required"), ("/url", "required")]
    assert refused(mode="url", message="x", url=3) == [("/url", "wrong_type")]


@pytest.mark.parametrize("mode", ["form", None, "openai/form", "openaiForm"])
def test_every_form_mode_is_read_as_a_form(mode: str | None) -> None:
    for name in (NAME, "mcpServer/elicitation/request", "elicitation.requested"):
        schema: Json = {"type": "object", "properties": {"a": {"type": "string"}}}
        call: Json = {"mode": mode, "message": "?", "requestedSchema": schema}
        assert registry.parse_call(name, call)[1].questions[0].id == "content"


@pytest.mark.rule("ELICIT-3")
def test_an_unknown_mode_is_the_only_problem_reported() -> None:
    assert refused(mode="openai/userVerification", message=3) == [("/mode", "unknown_value")]
    assert refused(mode=3, message=3) == [("/mode", "wrong_type")]
