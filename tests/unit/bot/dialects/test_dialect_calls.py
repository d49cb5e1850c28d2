"""Which calls the dialects accept: the tools as defined, what models really send, and where problems are reported."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.errors import InvalidCallError
from answerback.dialects import installed, registry
from tests.unit.bot.dialect_support import OPTIONS, make_ask


@pytest.mark.rule("DIALECT-17")
def test_an_elicitation_is_prefilled_with_its_defaults() -> None:
    question = make_ask("elicitation").question
    assert question is not None
    assert (question.default, question.has_default) == ({"n": 2}, True)


@pytest.mark.rule("DIALECT-11")
def test_the_first_option_of_a_single_choice_is_its_default_in_a_form_by_position() -> None:
    call: dict[str, Any] = {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}
    questions: list[JsonValue] = [call, {**call, "multiSelect": True}]
    _, form, *_ = registry.parse_call("ask_user", {"questions": questions})
    assert [(q.has_default, q.default) for q in form.questions] == [(True, "A"), (False, None)]


@pytest.mark.rule("DIALECT-12", "HOST-2")
def test_a_long_header_is_shortened_instead_of_rejected() -> None:
    questions: list[Any] = [{"question": "a?", "header": "h" * 5_000, "options": OPTIONS}]
    _, form, *_ = registry.parse_call("AskUserQuestion", {"questions": questions})
    assert form.questions[0].header == "h" * 1_000


def test_too_many_questions_are_reported_even_in_the_dialect_with_a_result_for_none() -> None:
    each = {"id": "a", "prompt": "?", "options": [{"value": "x", "label": "X"}]}
    questions: list[Any] = [each | {"id": f"q{n}"} for n in range(101)]
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("question", {"questions": questions})
    assert "at most 100" in registry.render_refusal(refused.value).content


def test_null_for_an_optional_field_counts_as_missing() -> None:
    question = {
        "id": "a",
        "text": "a?",
        "answer_type": "text",
        "context": None,
        "options": None,
        "schema": None,
    }
    _, form, *_ = registry.parse_call(
        "ask_user", {"questions": [{**question, "default": None, "when": None}]}
    )
    assert not form.questions[0].has_default


@pytest.mark.rule("ERROR-1", "FORM-2", "FORM-7")
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("ask", {}, [("/name", "unknown_value")]),
        ("ask_user", {}, [("/questions", "required")]),
        ("ask_user", {"questions": {}}, [("/questions", "wrong_type")]),
        ("ask_user", {"questions": ["a"]}, [("/questions/0", "wrong_type")]),
        ("ask_user", {"questions": [{}] * 101}, [("/questions", "too_many")]),
        ("ask_user", {"question": "a\n"}, [("/question", "newline")]),
        (
            "ask_user",
            {"question": "a", "answer_type": "schema"},
            [("/answer_type", "unknown_value")],
        ),
        ("ask_user", {"question": "x" * 20_001}, [("/question", "too_long")]),
        ("ask_user", {"question": "\ud800"}, [("/question", "wrong_type")]),
        ("ask_user", {"question": "a", "defualt": "x"}, [("/defualt", "unknown_value")]),
        ("tool_question", {"tool": " "}, [("/tool", "empty"), ("/question", "required")]),
        (
            "tool_question",
            {
                "tool": "t",
                "question": {
                    "id": "a",
                    "text": "a",
                    "answer_type": "text",
                    "exclusive": 1,
                    "persistence": "day",
                },
            },
            [("/question/exclusive", "wrong_type"), ("/question/persistence", "unknown_value")],
        ),
        (
            "AskUserQuestion",
            {"questions": [{"question": "a?", "header": "h", "options": OPTIONS}] * 2},
            [("/questions/1/question", "duplicate_question")],
        ),
        (
            "AskUserQuestion",
            {"questions": [{"header": "h", "options": OPTIONS}]},
            [("/questions/0/question", "required")],
        ),
        (
            "AskUserQuestion",
            {
                "questions": [{"question": "a?", "header": "h", "options": OPTIONS}],
                "beside": {"x": ["half \ud800"]},
            },
            [("", "wrong_type")],
        ),
        ("elicitation/create", {"message": "a"}, [("/requestedSchema", "schema_required")]),
        (
            "elicitation/create",
            {
                "message": "a",
                "mode": "telepathy",
                "requestedSchema": {"type": "object", "properties": {}},
            },
            [("/mode", "unknown_value")],
        ),
        (
            "question",
            {
                "questions": [
                    {
                        "id": "a",
                        "prompt": "?",
                        "options": [{"value": "x", "label": "X"}, {"value": "x", "label": "Y"}],
                    }
                ]
            },
            [("/questions/0/options/1/value", "duplicate_option")],
        ),
        (
            "ask_user",
            {
                "questions": [
                    {
                        "id": "a",
                        "text": "?",
                        "answer_type": "multi_select",
                        "options": ["x", "x", 3, " "],
                    }
                ]
            },
            [
                ("/questions/0/options/1", "duplicate_option"),
                ("/questions/0/options/2", "wrong_type"),
                ("/questions/0/options/3", "empty"),
            ],
        ),
    ],
)
def test_an_invalid_call_reports_every_location(
    name: str, arguments: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(name, arguments)
    assert [(p.pointer, p.code) for p in refused.value.problems] == expected
    result = registry.render_refusal(refused.value)
    assert result.content
    assert result.is_error or name == "question"


def _typed(**question: Any) -> dict[str, Any]:
    base = {"id": "b", "text": "?", "answer_type": "text", **question}
    return {"questions": [{"id": "a", "text": "?", "answer_type": "boolean"}, base]}


def _labelled(*options: Any) -> dict[str, Any]:
    return {"questions": [{"question": "?", "options": list(options)}]}


def _elicited(schema: Any) -> dict[str, Any]:
    return {"message": "?", "requestedSchema": schema}


def _flat(**properties: Any) -> dict[str, Any]:
    return _elicited({"type": "object", "properties": properties})


@pytest.mark.rule("ERROR-1")
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("ask_user", _typed(when="a"), [("/questions/1/when", "wrong_type")]),
        ("ask_user", _typed(when={"question_id": "a"}), [("/questions/1/when/equals", "required")]),
        (
            "ask_user",
            _typed(when={"equals": True}),
            [("/questions/1/when/question_id", "required")],
        ),
        (
            "ask_user",
            _typed(when={"question_id": "a", "equals": 1}),
            [("/questions/1/when/equals", "unsatisfiable_when")],
        ),
        (
            "ask_user",
            _typed(answer_type="schema", schema={}, default="\ud800"),
            [("/questions/1/default", "default_type")],
        ),
        (
            "ask_user",
            _typed(answer_type="multi_select", options=["x"], default=["y"]),
            [("/questions/1/default", "default_not_in_options")],
        ),
        (
            "ask_user",
            _typed(answer_type="schema", schema={}, **{"\ud800": 1}),
            [("/questions/1", "wrong_type")],
        ),
        (
            "ask_user",
            _labelled(3, {"label": " "}),
            [("/questions/0/options/0", "wrong_type"), ("/questions/0/options/1/label", "empty")],
        ),
        (
            "ask_user",
            _labelled({"label": "A"}, {"label": "A"}),
            [("/questions/0/options/1/label", "duplicate_option")],
        ),
        (
            "ask_user",
            {"questions": [{"question": "?"}, 3]},
            [("/questions/0/options", "required"), ("/questions/1", "wrong_type")],
        ),
        ("AskUserQuestion", {"questions": [3]}, [("/questions/0", "wrong_type")]),
        ("question", {"questions": [3]}, [("/questions/0", "wrong_type")]),
        (
            "question",
            {"questions": [{"prompt": "?"}]},
            [("/questions/0/id", "required"), ("/questions/0/options", "required")],
        ),
        (
            "question",
            {"questions": [{"question": " ", "options": []}]},
            [("/questions/0/question", "empty")],
        ),
        (
            "ask_user",
            {"questions": [{"question": 1, "type": "yesno"}]},
            [("/questions/0/question", "wrong_type")],
        ),
        (
            "question",
            {"questions": [{"id": "a", "prompt": "?", "options": [1, {"value": "x"}]}] * 2},
            [
                ("/questions/0/options/0", "wrong_type"),
                ("/questions/0/options/1/label", "required"),
                ("/questions/1/id", "duplicate_id"),
                ("/questions/1/options/0", "wrong_type"),
                ("/questions/1/options/1/label", "required"),
            ],
        ),
        ("tool_question", {"tool": "t", "question": "q"}, [("/question", "wrong_type")]),
        ("elicitation/create", _elicited("x"), [("/requestedSchema", "wrong_type")]),
        (
            "elicitation/create",
            _elicited({"type": "array"}),
            [("/requestedSchema/type", "unknown_value")],
        ),
        (
            "elicitation/create",
            _elicited({"type": "object", "properties": 1}),
            [("/requestedSchema", "invalid_schema")],
        ),
        ("elicitation/create", _flat(a=1), [("/requestedSchema", "invalid_schema")]),
        (
            "elicitation/create",
            _flat(a={"type": "integer", "minimum": "x"}),
            [("/requestedSchema", "invalid_schema")],
        ),
    ],
)
def test_a_problem_inside_a_question_has_its_location(
    name: str, arguments: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(name, arguments)
    assert [(p.pointer, p.code) for p in refused.value.problems] == expected


@pytest.mark.rule("DIALECT-17")
def test_an_elicitation_may_have_single_and_multiple_choices_with_titles() -> None:
    titled = [{"const": "p", "title": "Production"}, {"const": "s", "title": "Staging"}]
    call = _flat(
        one={"oneOf": titled},
        many={"type": "array", "items": {"anyOf": titled}},
        plain={"enum": ["a"]},
    )
    _, form, *_ = registry.parse_call("elicitation/create", call)
    assert form.questions[0].has_default is False


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "id",
                    "text",
                    "questions",
                    "question",
                    "options",
                    "label",
                    "answer_type",
                    "when",
                    "schema",
                    "x",
                    "header",
                    "type",
                    "title",
                    "isSecret",
                    "recommended",
                    "multiSelect",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@pytest.mark.rule("DIALECT-4")
@given(
    st.sampled_from(installed.tool_names()),
    st.dictionaries(
        st.sampled_from(
            [
                "questions",
                "question",
                "message",
                "options",
                "choices",
                "follow_up",
                "requestedSchema",
            ]
        ),
        JSON,
    ),
)
def test_no_arguments_make_a_dialect_raise_any_other_error(
    name: str, arguments: dict[str, Any]
) -> None:
    try:
        _, form, *_ = registry.parse_call(name, arguments)
    except InvalidCallError as error:
        found = error
    else:
        assert form.questions
        return
    assert found.problems
    assert registry.render_refusal(found).content
