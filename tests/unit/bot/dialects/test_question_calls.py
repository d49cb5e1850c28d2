"""Wrong calls whose words matter to the model: of `question` without questions, and ids that imitate an outcome."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.errors import InvalidCallError
from answerback.dialects import registry


@pytest.mark.rule("DIALECT-15")
@pytest.mark.parametrize("arguments", [{}, {"questions": None}, {"questions": []}])
def test_a_question_call_without_questions_gets_the_promised_result(
    arguments: dict[str, Any],
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("question", arguments)
    result = registry.render_refusal(refused.value)
    assert (result.content, result.is_error) == ("Error: No questions provided", False)


@pytest.mark.rule("DIALECT-15")
@pytest.mark.parametrize(
    ("questions", "actual"), [("one, two", "a string"), (True, "true or false"), (7, "a number")]
)
def test_questions_of_another_type_are_not_called_missing(questions: Any, actual: str) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("question", {"questions": questions})
    result = registry.render_refusal(refused.value)
    assert result.is_error
    assert result.content.startswith(f"questions must be an array of questions, not {actual}.")


@pytest.mark.rule("FORM-2")
def test_no_question_of_a_result_keyed_by_id_can_imitate_a_cancelled_call() -> None:
    """Boolean and schema questions `cancelled` and `answered` would give the result of a Reply."""
    questions: list[JsonValue] = [
        {"id": "cancelled", "text": "Stop?", "answer_type": "boolean"},
        {"id": "answered", "text": "What?", "answer_type": "schema", "schema": {}},
    ]
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", {"questions": questions})
    (problem,) = refused.value.problems
    assert (problem.pointer, problem.code) == ("/questions/0/id", "reserved_id")


def test_an_unknown_answer_type_is_the_only_mistake_that_it_makes() -> None:
    question: JsonValue = {
        "id": "a",
        "text": "A?",
        "answer_type": "colour",
        "options": [],
        "schema": {},
    }
    with pytest.raises(InvalidCallError) as caught:
        registry.parse_call("ask_user", {"questions": [question]})
    assert [each.pointer for each in caught.value.problems] == ["/questions/0/answer_type"]


OPTIONS: list[JsonValue] = [
    {"value": "a", "label": "A"},
    {"value": "b", "label": "B (recommended)"},
]


@pytest.mark.rule("DIALECT-15")
@pytest.mark.parametrize(("name", "other"), [("question", True), ("questionnaire", False)])
def test_only_a_questionnaire_can_leave_out_other(name: str, other: bool) -> None:
    asks: JsonValue = [{"id": "q", "prompt": "?", "options": [*OPTIONS], "allowOther": False}]
    [question] = registry.parse_call(name, {"questions": asks}).form.questions
    assert question.other is other


LABELS: list[JsonValue] = [{"label": "A"}, {"label": "B (Recommended)"}]
TEXTS: list[JsonValue] = ["A", "B (Recommended)"]
RECOMMENDING: dict[str, tuple[str, dict[str, JsonValue]]] = {
    "claude": ("AskUserQuestion", {"questions": [{"question": "?", "header": "H", "options": LABELS}]}),
    "question": ("question", {"questions": [{"id": "q", "prompt": "?", "options": [*OPTIONS]}]}),
    "gemini": ("ask_user", {"questions": [{"question": "?", "type": "choice", "options": LABELS}]}),
    "copilot": ("ask_user", {"question": "?", "choices": TEXTS}),
    "vscode": ("askQuestions", {"questions": [{"header": "H", "question": "?", "options": LABELS}]}),
    "cline": ("ask_question", {"question": "?", "options": TEXTS}),
    "codex": ("request_user_input", {"questions": [{"id": "q", "question": "?", "options": LABELS}]}),
    "ask_user": (
        "ask_user", {"questions": [{"id": "q", "text": "?", "answer_type": "select", "options": TEXTS}]}
    ),
    "single": ("ask_user", {"question": "?", "answer_type": "select", "options": TEXTS}),
}  # fmt: skip


@pytest.mark.rule("DIALECT-23")
@pytest.mark.parametrize("dialect", RECOMMENDING)
def test_a_recommended_option_is_the_default_in_every_dialect(dialect: str) -> None:
    parsed = registry.parse_call(*RECOMMENDING[dialect])
    [question] = parsed.form.questions
    assert parsed.dialect == dialect
    assert (question.has_default, question.default) == (True, question.options[1].value)


@pytest.mark.rule("DIALECT-23")
def test_a_default_that_is_given_stands_and_a_permission_has_none() -> None:
    name, call = RECOMMENDING["single"]
    [question] = registry.parse_call(name, {**call, "default": "A"}).form.questions
    assert question.default == "A"
    options: JsonValue = [{"optionId": "o", "name": "Yes (Recommended)", "kind": "allow_once"}]
    tool_call: JsonValue = {"title": "ls", "kind": "execute", "rawInput": {"command": "ls"}}
    approval: dict[str, JsonValue] = {"toolCall": tool_call, "options": options}
    [question] = registry.parse_call("session/request_permission", approval).form.questions
    assert not question.has_default


@pytest.mark.rule("HOST-4")
def test_the_context_of_a_whole_call_is_shown_at_each_of_its_questions() -> None:
    asks: JsonValue = [
        {"question": f"{n}?", "header": "H", "options": LABELS, "description": f"About {n}"}
        for n in "ab"
    ]
    call: dict[str, JsonValue] = {"questions": asks, "context": "Before the release"}
    form = registry.parse_call("ask_user_question", call).form
    assert [question.context for question in form.questions] == [
        "Before the release\n\nAbout a",
        "Before the release\n\nAbout b",
    ]


SERVER: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"port": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["port", "name"],
}


@pytest.mark.rule("FORM-6")
@pytest.mark.parametrize(
    ("default", "pointer"),
    [("8080", "/default"), ([], "/default"), ({"port": "x"}, "/default/port")],
)
def test_a_default_of_the_wrong_type_for_a_schema_is_a_mistake(
    default: JsonValue, pointer: str
) -> None:
    question: JsonValue = {
        "id": "s",
        "text": "?",
        "answer_type": "schema",
        "schema": SERVER,
        "default": default,
    }
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("ask_user", {"questions": [question]})
    [problem] = refused.value.problems
    assert (problem.pointer, problem.code) == (f"/questions/0{pointer}", "default_type")


@pytest.mark.rule("FORM-6")
@pytest.mark.parametrize(
    ("schema", "default", "has"),
    [
        (SERVER, {"port": 1}, True),
        (SERVER, None, False),
        ({"type": ["integer", "null"]}, None, True),
        ({"type": "integer", "minimum": 5}, 1, True),
    ],
)
def test_an_incomplete_default_is_what_people_complete(
    schema: JsonValue, default: JsonValue, has: bool
) -> None:
    question: JsonValue = {
        "id": "s",
        "text": "?",
        "answer_type": "schema",
        "schema": schema,
        "default": default,
    }
    [read] = registry.parse_call("ask_user", {"questions": [question]}).form.questions
    assert (read.has_default, read.default) == (has, default)


FORMED: dict[str, JsonValue] = {"header": "H", "options": LABELS, "multiSelect": False}


@pytest.mark.rule("DIALECT-2")
@pytest.mark.parametrize(
    ("name", "call", "messages"),
    [
        ("ask_user", {"questions": [FORMED]}, ["questions[0].question is missing: it must be a string."]),
        (
            "ask_user",
            {"text": "Q?", "answer_type": "text"},
            [
                'The call has an unknown field "text" (did you mean "question"?); allowed are: '
                "answer_type, context, default, options, question.",
                "question is missing: it must be a string.",
            ],
        ),
        (
            "ask_user",
            {"questions": [{"id": "a", "question": "Q?", "answer_type": "text"}]},
            [
                'questions[0] has an unknown field "question" (did you mean "text"?); allowed are: '
                "answer_type, context, default, id, options, schema, text, when.",
                "questions[0].text is missing: it must be a string.",
            ],
        ),
    ],
)  # fmt: skip
def test_a_model_is_told_the_field_that_it_meant(
    name: str, call: dict[str, JsonValue], messages: list[str]
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call(name, call)
    assert [each.message for each in refused.value.problems] == messages
