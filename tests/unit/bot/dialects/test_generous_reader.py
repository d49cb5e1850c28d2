"""Calls that are not in their strict form: what is read, what is not, and that no value is ever touched."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.errors import InvalidCallError
from answerback.dialects import generous_reader, installed, registry
from tests.unit.bot.dialect_support import CALLS, OPTIONS
from tests.unit.cases import case_call, read_case

ASKED = {"question": "Q?", "header": "H", "options": OPTIONS, "multiSelect": False}
TYPED = {"id": "a", "text": "A?", "answer_type": "select", "options": ["x", "y"]}


def read(name: str, arguments: dict[str, Any], dialect: str | None = None) -> tuple[Any, list[str]]:
    """Return the arguments as read, and where they were repaired."""
    found = generous_reader.read_call(name, arguments, dialect)
    return found.arguments, [*found.repaired]


@pytest.mark.rule("DIALECT-21")
@pytest.mark.parametrize(
    ("case", "repaired", "options"),
    [
        ("follow-up-as-json-text", ("/follow_up",), ["Yes", "No"]),
        ("follow-up-one-object", ("/follow_up",), ["Yes"]),
        ("follow-up-strings", ("/follow_up/0", "/follow_up/1"), ["Yes", "No"]),
        ("questions-as-json-text-claude", ("/questions",), ["North", "South"]),
    ],
)
def test_calls_from_the_field_are_read(
    case: str, repaired: tuple[str, ...], options: list[str]
) -> None:
    call = case_call(case)
    parsed = registry.parse_call(call["name"], call["arguments"])
    assert parsed.repaired == repaired
    (question,) = parsed.form.questions
    assert [option.value for option in question.options] == options


@pytest.mark.rule("DIALECT-21")
@pytest.mark.parametrize(
    ("name", "sent", "strict", "repaired"),
    [
        ("AskUserQuestion", {"questions": ASKED}, {"questions": [ASKED]}, ["/questions"]),
        (
            "AskUserQuestion",
            {"questions": json.dumps(ASKED)},
            {"questions": [ASKED]},
            ["/questions"],
        ),
        (
            "AskUserQuestion",
            {"questions": [json.dumps(ASKED)]},
            {"questions": [ASKED]},
            ["/questions/0"],
        ),
        (
            "AskUserQuestion",
            {"questions": [{**ASKED, "multiSelect": " True", "options": json.dumps(OPTIONS)}]},
            {"questions": [{**ASKED, "multiSelect": True}]},
            ["/questions/0/options", "/questions/0/multiSelect"],
        ),
        (
            "AskUserQuestion",
            {"questions": [{**ASKED, "options": ["A", json.dumps(OPTIONS[1])]}]},
            {"questions": [{**ASKED, "options": [{"label": "A"}, OPTIONS[1]]}]},
            ["/questions/0/options/0", "/questions/0/options/1"],
        ),
        (
            "ask_user",
            {"questions": [{**TYPED, "options": [{"label": "x", "description": None}, "y"]}]},
            {"questions": [TYPED]},
            ["/questions/0/options/0"],
        ),
        (
            "ask_user",
            {"question": "Q?", "answer_type": "select", "options": {"label": "x"}},
            {"question": "Q?", "answer_type": "select", "options": ["x"]},
            ["/options", "/options/0"],
        ),
        (
            "ask_user",
            {
                "questions": [
                    TYPED,
                    {**TYPED, "id": "b", "when": '{"question_id": "a", "equals": "x"}'},
                ]
            },
            {
                "questions": [
                    TYPED,
                    {**TYPED, "id": "b", "when": {"question_id": "a", "equals": "x"}},
                ]
            },
            ["/questions/1/when"],
        ),
        (
            "ask_user",
            {"question": "Q?", "choices": '["a", "b"]', "allowFreeform": "false"},
            {"question": "Q?", "choices": ["a", "b"], "allowFreeform": False},
            ["/choices", "/allowFreeform"],
        ),
        (
            "question",
            {"questions": [{"id": "a", "prompt": "Q?", "options": ["x"]}]},
            {"questions": [{"id": "a", "prompt": "Q?", "options": [{"value": "x", "label": "x"}]}]},
            ["/questions/0/options/0"],
        ),
        (
            "tool_question",
            {"tool": "t", "question": json.dumps({**TYPED, "exclusive": True})},
            {"tool": "t", "question": {**TYPED, "exclusive": True}},
            ["/question"],
        ),
        (
            "tool_question",
            {"tool": "t", "question": {**TYPED, "exclusive": "true", "options": '["x", "y"]'}},
            {"tool": "t", "question": {**TYPED, "options": ["x", "y"], "exclusive": True}},
            ["/question/options", "/question/exclusive"],
        ),
        (
            "askQuestions",
            {"questions": [{**ASKED, "options": [{"label": "A", "recommended": "true"}, "B"]}]},
            {
                "questions": [
                    {**ASKED, "options": [{"label": "A", "recommended": True}, {"label": "B"}]}
                ]
            },
            ["/questions/0/options/0/recommended", "/questions/0/options/1"],
        ),
        (
            "request_user_input_async",
            {"questions": [{"title": "T?", "options": [{"label": "a"}]}]},
            {"questions": [{"title": "T?", "options": ["a"]}]},
            ["/questions/0/options/0"],
        ),
    ],
)
def test_a_call_with_one_reading_gets_its_strict_form(
    name: str, sent: Any, strict: Any, repaired: list[str]
) -> None:
    before = copy.deepcopy(sent)
    assert read(name, sent) == (strict, repaired)
    assert sent == before
    assert read(name, strict) == (strict, [])
    parsed = registry.parse_call(name, sent)
    assert parsed[:2] == registry.parse_call(name, strict)[:2]
    assert parsed.arguments == strict


@pytest.mark.rule("DIALECT-1", "DIALECT-21")
def test_the_dialect_is_chosen_by_the_call_as_it_was_read() -> None:
    sent = json.dumps([{"question": "Q?", "type": "yesno"}])
    assert registry.parse_call("ask_user", {"questions": sent}).dialect == "gemini"
    assert registry.parse_call("ask_user", {"questions": [json.loads(sent)[0]]}).repaired == ()


WRONG = "wrong_type"
SELECT = {"question": "Q?", "answer_type": "select"}


def claude(**fields: Any) -> dict[str, Any]:
    """Return a question of AskUserQuestion with other fields."""
    return {"questions": [{**ASKED, **fields}]}


@pytest.mark.rule("DIALECT-22")
@pytest.mark.parametrize(
    ("name", "arguments", "pointer", "code"),
    [
        ("AskUserQuestion", {"questions": "Where to?"}, "/questions", WRONG),
        ("AskUserQuestion", {"questions": "[{"}, "/questions", WRONG),
        ("AskUserQuestion", {"questions": json.dumps(json.dumps([ASKED]))}, "/questions", WRONG),
        ("AskUserQuestion", {"questions": '[{"text": "a", "text": "b"}]'}, "/questions", WRONG),
        ("AskUserQuestion", {"questions": "[NaN]"}, "/questions", WRONG),
        ("AskUserQuestion", {"questions": "[" * 100 + "]" * 100}, "/questions", WRONG),
        ("AskUserQuestion", {"questions": {}}, "/questions", WRONG),
        ("AskUserQuestion", {"questions": {"a": ASKED}}, "/questions", WRONG),
        ("AskUserQuestion", {"questions": []}, "/questions", "too_few"),
        ("AskUserQuestion", {"questions": "[]"}, "/questions", "too_few"),
        ("AskUserQuestion", {"questions": ["Where to?"]}, "/questions/0", WRONG),
        ("AskUserQuestion", claude(options="a,b"), "/questions/0/options", WRONG),
        *(
            (
                "ask_user_question",
                {"questions": [{"question": "?", "kind": "number", "max": n}]},
                "/questions/0/max",
                WRONG,
            )
            for n in ("007", "-01", "1e3", "1.", "+1", "٣", "NaN")
        ),
        ("AskUserQuestion", claude(multiSelect="yes"), "/questions/0/multiSelect", WRONG),
        ("AskUserQuestion", claude(multiSelect=1), "/questions/0/multiSelect", WRONG),
        ("AskUserQuestion", claude(question=3), "/questions/0/question", WRONG),
        ("AskUserQuestion", claude(question=["a"]), "/questions/0/question", WRONG),
        ("ask_user", {**SELECT, "options": {"a": "A", "b": "B"}}, "/options", WRONG),
        (
            "ask_user",
            {**SELECT, "options": [{"label": "a", "description": "b"}]},
            "/options/0",
            WRONG,
        ),
        ("ask_user", {**SELECT, "options": [{"label": 3}]}, "/options/0", WRONG),
        ("ask_user", {"question": "Q?", "options": '["a"]'}, "/options", "options_forbidden"),
        ("ask_user", {"questions": [{**TYPED, "when": "a"}]}, "/questions/0/when", WRONG),
        ("tool_question", {"tool": "t", "question": "{}"}, "/question", WRONG),
        (
            "elicitation/create",
            {"message": "?", "requestedSchema": "{}"},
            "/requestedSchema",
            WRONG,
        ),
    ],
)
def test_what_is_ambiguous_stays_a_mistake(
    name: str, arguments: dict[str, Any], pointer: str, code: str
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(name, arguments)
    first = refused.value.problems[0]
    assert (first.pointer, first.code) == (pointer, code)
    assert code != "options_forbidden" or "answer_type" in first.message


@pytest.mark.rule("ERROR-1", "DIALECT-21")
def test_the_places_of_mistakes_are_in_the_call_as_it_was_read() -> None:
    sent = json.dumps([{**ASKED, "options": [OPTIONS[0], {"label": " "}]}])
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("AskUserQuestion", {"questions": sent})
    assert [p.pointer for p in refused.value.problems] == ["/questions/0/options/1/label"]


# --- any call: generously and strictly, it is the same ask ------------------------------------------

LOOKALIKES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(["true", "2", '["a"]', '{"label": "x"}', '{"question": "Q?"}', "[]"]),
    st.lists(st.sampled_from(["true", '{"label": "x"}']), max_size=2),
    st.just({"label": "x"}),
    st.booleans(),
    st.none(),
)
"""Values that would be read otherwise in a place that is not a value's."""


def written(data: st.DataObject, key: str, value: Any) -> Any:
    """Return a part of a strict call in one of the forms in which models send it."""
    drawn = data.draw
    if isinstance(value, bool):
        return json.dumps(value) if drawn(st.booleans()) else value
    if key in {"options", "choices"}:
        value = [_option(data, each) for each in value]
    elif key == "questions":
        value = [{k: written(data, k, v) for k, v in each.items()} for each in value]
        value = [json.dumps(each) if drawn(st.booleans()) else each for each in value]
    elif key == "when":
        return json.dumps(value) if drawn(st.booleans()) else value
    else:
        return value
    if len(value) == 1 and isinstance(value[0], dict) and drawn(st.booleans()):
        value = value[0]
    return json.dumps(value) if drawn(st.booleans()) else value


def _option(data: st.DataObject, option: Any) -> Any:
    if isinstance(option, str):
        return {"label": option} if data.draw(st.booleans()) else option
    bare = len(option) == 1 or {*option.values()} == {option["label"]}
    return option["label"] if bare and data.draw(st.booleans()) else option


STRICT: dict[str, tuple[str, dict[str, Any]]] = {
    **{key: call for key, call in CALLS.items() if key not in {"elicitation", "approval"}},
    "labels": ("ask_user", {"questions": [{"question": "Q?", "options": [{"label": "a"}, {"label": "b"}]}]}),
    "one": ("ask_user", {"questions": [TYPED]}),
    "gated": ("ask_user", {"questions": [TYPED, {**TYPED, "id": "b", "when": {"question_id": "a", "equals": "x"}}]}),
}  # fmt: skip


@pytest.mark.rule("DIALECT-21")
@given(st.data(), st.sampled_from(sorted(STRICT)))
def test_whatever_is_read_generously_gives_the_same_ask_as_its_strict_form(
    data: st.DataObject, key: str
) -> None:
    name, strict = STRICT[key]
    sent = {field: written(data, field, value) for field, value in strict.items()}
    parsed, expected = registry.parse_call(name, sent), registry.parse_call(name, strict)
    assert parsed[:3] == expected[:3]
    assert (parsed.repaired == ()) == (sent == strict)
    assert expected.repaired == ()


@pytest.mark.rule("DIALECT-22")
@given(
    value=LOOKALIKES,
    name=st.sampled_from([*installed.tool_names(), "unknown"]),
    dialect=st.none() | st.sampled_from(list(CALLS)),
)
def test_no_value_is_ever_touched(value: JsonValue, name: str, dialect: str | None) -> None:
    values: dict[str, JsonValue] = {
        "default": value,
        "defaultAnswer": value,
        "defaultValue": value,
        "schema": {"enum": [value], "const": value, "default": value},
        "text": value,
        "metadata": {"options": value, "questions": value, "multiSelect": value},
        "answers": value,
    }
    call: dict[str, JsonValue] = {
        **values,
        "requestedSchema": {"properties": {"options": {"enum": [value], "default": value}}},
        "tool_input": {"questions": value, "options": value, "required": value},
        "args": value,
        "permissions": value,
        "questions": [{**values, "question": "Q?", "when": {"question_id": "a", "equals": value}}],
    }
    assert read(name, call, dialect) == (call, [])


def test_a_call_that_may_hold_json_in_a_string_is_parsed_in_a_thread() -> None:
    assert not registry.is_quick_to_parse({"questions": " [1]"})
    assert not registry.is_quick_to_parse({"questions": ["{}"]})
    assert registry.is_quick_to_parse({"question": "Which [one]?"})


VALUED = [{"value": "a", "label": "Option A"}, {"value": "b", "label": "Option B"}]
PROMPTED = {"id": "q", "prompt": "Which?", "options": VALUED}


@pytest.mark.rule("DIALECT-21")
@pytest.mark.parametrize(
    ("name", "bare", "dialect"),
    [
        ("AskUserQuestion", ASKED, "claude"),
        ("ask_user_question", ASKED, "claude"),
        ("request_user_input", {"id": "q", "question": "Q?", "options": OPTIONS}, "codex"),
        ("question", PROMPTED, "question"),
        ("askQuestions", {"header": "H", "question": "Q?"}, "vscode"),
        ("ask_user", TYPED, "ask_user"),
    ],
)
def test_a_bare_question_is_a_list_of_one(name: str, bare: dict[str, Any], dialect: str) -> None:
    parsed = registry.parse_call(name, bare)
    strict = registry.parse_call(name, {"questions": [bare]})
    assert (parsed.dialect, parsed.form) == (dialect, strict.form)
    assert parsed.arguments == {"questions": [bare]}
    assert parsed.repaired == ("/questions",)
    assert read(name, {**bare, "background": True})[0]["background"] is True


@pytest.mark.rule("DIALECT-21")
@pytest.mark.parametrize(
    "call",
    [
        ("ask_user", {"question": "Q?"}),
        ("clarify", {"question": "Q?"}),
        ("question", {"question": "Q?", "options": OPTIONS}),
        ("ask_question", {"question": "Q?"}),
    ],
)
def test_a_dialect_of_one_question_reads_it_as_ever(call: tuple[str, dict[str, Any]]) -> None:
    assert registry.parse_call(*call).repaired == ()


@pytest.mark.rule("DIALECT-21")
@pytest.mark.parametrize(
    "follow_up",
    [
        {"1": "Yes", "2": "No"},
        {"suggest": ["Yes", "No"]},
        {"a": {"text": "Yes"}, "b": {"text": "No"}},
        '{"suggest": [{"text": "Yes"}, {"text": "No"}]}',
    ],
)
def test_suggestions_in_an_object_are_read(follow_up: Any) -> None:
    sent = {"question": "Go?", "follow_up": follow_up}
    parsed = registry.parse_call("ask_followup_question", sent)
    assert [option.label for option in parsed.form.questions[0].options] == ["Yes", "No"]
    assert "/follow_up" in parsed.repaired


@pytest.mark.rule("DIALECT-22")
@pytest.mark.parametrize("follow_up", [{}, {"a": "Yes", "b": ["No"]}, {"a": 1}])
def test_an_object_of_anything_else_is_no_list_of_suggestions(follow_up: Any) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_followup_question", {"question": "Go?", "follow_up": follow_up})
    assert [each.code for each in refused.value.problems] == [WRONG]


@pytest.mark.rule("DIALECT-21")
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("ask_user", {"questions": [{**TYPED, "options": VALUED}]}),
        ("ask_user", {"question": "Q?", "answer_type": "select", "options": VALUED}),
        ("ask_question", {"question": "Q?", "options": VALUED}),
        ("question", {"questions": [PROMPTED]}),
    ],
)
def test_an_option_may_say_what_comes_back_and_what_people_see(name: str, call: Any) -> None:
    [question] = registry.parse_call(name, call).form.questions
    shown = [(option.value, option.label) for option in question.options]
    assert shown == [("a", "Option A"), ("b", "Option B")]


@pytest.mark.rule("DIALECT-22")
def test_an_option_with_a_misspelt_field_is_a_mistake() -> None:
    option: dict[str, JsonValue] = {**VALUED[0], "labe": "x"}
    call: dict[str, JsonValue] = {"question": "Q?", "answer_type": "select", "options": [option]}
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", call)
    assert [each.pointer for each in refused.value.problems] == ["/options/0/labe"]


@pytest.mark.rule("CLINE-1")
@pytest.mark.parametrize("shape", ["a", "b"])
def test_antigravitys_questions_are_asked_as_multiple_choices(shape: str) -> None:
    call = read_case("antigravity-ask-question")["input"][shape]
    [question] = registry.parse_call(call["name"], call["arguments"]).form.questions
    assert question.answer_type == "multi_select"
    assert [option.label for option in question.options] == ["unit", "types", "lint"]
