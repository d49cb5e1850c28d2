"""The hosts' dialects one by one, beyond the vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from answerback.core.actions import Answer, Other, Reply
from answerback.core.ask import Change, Reason, Status, apply_action, end_ask
from answerback.core.errors import InvalidCallError
from answerback.core.form import AnswerType
from answerback.core.walker import Source
from answerback.dialects import registry
from answerback.dialects.registry import render_interim_result
from tests.unit.bot.dialect_support import (
    CALLS,
    OPTIONS,
    act,
    ask_from_call,
    detected_dialect,
    form,
    make_ask,
    only_question,
    problem_codes,
    result,
    without_answer,
)

TITLED = {"questions": [{"title": "Colour?", "options": ["Blue", "Green"]}, {"title": "More?"}]}
FORM = {"message": "How?", "requestedSchema": {"properties": {"n": {"type": "integer"}}}}
RECOMMENDED = [{"label": "A"}, {"label": "B (Recommended)"}, {"label": "C (Recommended)"}]


# --- codex -----------------------------------------------------------------------------------------


@pytest.mark.rule("CODEX-1")
def test_codex_offers_free_text_by_default_but_its_app_server_does_not() -> None:
    question = {"question": "A?", "options": OPTIONS}
    assert only_question("request_user_input", question).other
    assert not only_question("item/tool/requestUserInput", question).other
    assert not only_question("request_user_input", {**question, "isOther": False}).other
    assert not only_question("request_user_input", {"question": "A?", "isOther": True}).other


@pytest.mark.rule("HOST-1")
def test_codex_numbers_questions_without_ids() -> None:
    questions = [
        {"question": "A?"},
        {"id": "own", "question": "B?"},
        {"id": None, "question": "C?"},
    ]
    read = form("request_user_input", {"questions": questions})
    assert [question.id for question in read.questions] == ["q1", "own", "q3"]
    assert problem_codes(
        "request_user_input", {"questions": [{"question": "?"}, {"id": "q1"}]}
    ) == [
        ("/questions/1/id", "duplicate_id"),
        ("/questions/1/question", "required"),
    ]
    assert problem_codes("request_user_input", {"questions": [{"id": " ", "question": "?"}]}) == [
        ("/questions/0/id", "empty")
    ]


@pytest.mark.rule("CODEX-4")
def test_codex_says_what_to_ask_instead_of_a_secret() -> None:
    arguments: Any = {"questions": [{"id": "a", "question": "Token?", "isSecret": True}]}
    with pytest.raises(InvalidCallError) as refused:
        registry.parse_call("request_user_input", arguments)
    assert "ask whether it has been set up" in refused.value.problems[0].message


@pytest.mark.rule("CODEX-5")
def test_the_asynchronous_tool_takes_free_text_notes_and_blank_answers() -> None:
    ask = ask_from_call("request_user_input_async", TITLED)
    other = act(ask, Other(text="Red"), Answer(value=" "))
    assert result(other) == (
        {"accepted": True, "answers": [["Red"], []]},
        "Colour?\nRed\n\nMore?\n(no answer)",
    )
    recorded = act(ask, Answer(value="Green", note="dark"), Answer(value="no"))
    assert result(recorded)[1] == "Colour?\nGreen\nuser_note: dark\n\nMore?\nno"


@pytest.mark.rule("CODEX-5")
def test_the_asynchronous_tool_ends_without_answers_as_claudes_does() -> None:
    ask = act(ask_from_call("request_user_input_async", TITLED), Answer(value="Blue"))
    answers = {"accepted": True, "answers": [["Blue"], []], "cancelled": True}
    assert result(act(ask, Reply(text="later"))) == (
        {**answers, "reply": "later"},
        "[cancelled by user]\nlater",
    )
    assert result(without_answer(ask, Status.WITHDRAWN)) == (
        {**answers, "reason": "withdrawn"},
        "[no answer: withdrawn]",
    )


def test_problems_in_asynchronous_calls_have_their_locations() -> None:
    questions = [{"options": ["a", "a"]}, {"title": "?", "options": [1]}]
    assert problem_codes("request_user_input_async", {"questions": questions}) == [
        ("/questions/0/options/1", "duplicate_option"),
        ("/questions/0/title", "required"),
        ("/questions/1/options/0", "wrong_type"),
    ]


# --- opencode --------------------------------------------------------------------------------------


@pytest.mark.rule("OPENCODE-1")
def test_opencode_requires_options_if_free_text_is_not_allowed() -> None:
    question = {"question": "A?", "options": [], "custom": False}
    assert problem_codes("question", {"questions": [question]}) == [
        ("/questions/0/options", "options_required")
    ]


def test_opencode_has_no_recommendation_in_a_multiple_choice() -> None:
    question = {"question": "A?", "options": RECOMMENDED, "multiple": True}
    assert not only_question("question", question).has_default


@pytest.mark.rule("OPENCODE-2")
def test_opencode_writes_unanswered_for_an_empty_answer() -> None:
    ask = ask_from_call("question", {"questions": [{"question": "A?", "options": []}]})
    received = 'User has answered your questions: "A?"="Unanswered". '
    for nothing in (act(ask, Answer(value="  ")), act(ask, Reply())):
        structured, content = result(nothing)
        assert structured == {"answers": [[]]}
        assert content.startswith(received)


# --- gemini ----------------------------------------------------------------------------------------


@pytest.mark.rule("GEMINI-1")
def test_gemini_decodes_an_escaped_line_break_and_shows_the_placeholder() -> None:
    question = only_question(
        "ask_user", {"question": "A?\\nB?", "type": "text", "placeholder": "a short one"}
    )
    assert (question.text, question.context) == ("A?\nB?", "a short one")
    blank: Any = {"questions": [{"question": " \\n", "type": "text"}]}
    assert problem_codes("ask_user", blank) == [("/questions/0/question", "empty")]


@pytest.mark.rule("GEMINI-1")
@pytest.mark.parametrize("kind", ["text", "yesno"])
def test_gemini_ignores_options_of_other_types(kind: str) -> None:
    question = only_question(
        "ask_user", {"question": "A?", "type": kind, "options": "none", "multiSelect": 1}
    )
    assert [option.value for option in question.options] == (
        ["Yes", "No"] if kind == "yesno" else []
    )


@pytest.mark.rule("GEMINI-2")
def test_gemini_joins_labels_and_free_text_and_trims_the_text() -> None:
    question = {"question": "A?", "type": "choice", "multiSelect": True, "options": OPTIONS}
    ask = ask_from_call("ask_user", {"questions": [question]})
    assert result(act(ask, Other(text=" mine ", value=["B", "A"])))[0] == {
        "answers": {"0": "A, B, mine"}
    }


# --- copilot ---------------------------------------------------------------------------------------


@pytest.mark.rule("DIALECT-1")
@pytest.mark.parametrize(
    ("name", "arguments", "dialect"),
    [
        ("ask_user", {"question": "A?", "choices": []}, "copilot"),
        ("ask_user", {"question": "A?", "allowFreeform": False}, "copilot"),
        ("ask_user", {"question": "A?", "choices": None}, "single"),
        ("ask_user", {"question": "A?", "choices": ["a"], "answer_type": "text"}, "single"),
        ("ask_user", {"question": "A?", "choices": ["a"], "questions": []}, "ask_user"),
        ("ask_user", {"requestedSchema": {}, "questions": []}, "copilot"),
        ("ask_user", {"questions": [{"question": "A?", "type": None}]}, "ask_user_form"),
        ("ask_user", {"questions": [{"question": "A?", "type": ""}]}, "gemini"),
        ("user_input.requested", {"question": "A?"}, "copilot"),
        ("question", {"questions": [{"question": "A?", "prompt": None}]}, "opencode"),
        ("question", {"questions": [{"question": "A?", "prompt": "B?"}]}, "question"),
        ("question", {"questions": [{"id": "a"}]}, "question"),
        ("vscode/askQuestions", {}, "vscode"),
    ],
)
def test_the_table_decides_the_dialect(name: str, arguments: dict[str, Any], dialect: str) -> None:
    assert detected_dialect(name, arguments) == dialect


@pytest.mark.rule("COPILOT-1")
def test_copilot_gets_a_text_for_a_reply_without_one() -> None:
    structured, content = result(act(make_ask("copilot"), Reply()))
    assert structured == {"answer": "[cancelled by user]", "wasFreeform": True}
    assert content == "User responded: [cancelled by user]"


@pytest.mark.rule("COPILOT-2")
def test_copilots_form_never_declines() -> None:
    ask = ask_from_call("ask_user", FORM)
    cancel = ({"action": "cancel"}, '{"action": "cancel"}')
    assert result(act(ask, Reply(text="no"))) == cancel
    assert result(without_answer(ask, Status.EXPIRED)) == cancel
    assert result(without_answer(ask, Status.WITHDRAWN)) == cancel


@pytest.mark.rule("COPILOT-2")
def test_copilots_form_is_an_object_even_without_a_type() -> None:
    ask = ask_from_call("ask_user", FORM)
    assert not isinstance(apply_action(ask, Answer(value="x"), at=1, by=None), Change)
    assert result(act(ask, Answer(value={"n": 1})))[0] == {
        "action": "accept",
        "content": {"n": 1},
    }


def test_problems_in_copilot_calls_have_their_locations() -> None:
    assert problem_codes("ask_user", {"requestedSchema": {"type": "array"}}) == [
        ("/requestedSchema/type", "unknown_value"),
        ("/message", "required"),
    ]
    assert problem_codes("ask_user", {"requestedSchema": "x", "message": "m"}) == [
        ("/requestedSchema", "wrong_type")
    ]
    assert problem_codes("ask_user", {"question": "A?", "choices": "a", "allowFreeform": 1}) == [
        ("/choices", "wrong_type"),
        ("/allowFreeform", "wrong_type"),
    ]


# --- vscode ----------------------------------------------------------------------------------------


@pytest.mark.rule("VSCODE-1")
def test_vscode_requires_a_header_and_uses_it_as_the_id() -> None:
    assert problem_codes("askQuestions", {"questions": [{"question": "?", "header": " "}, {}]}) == [
        ("/questions/0/header", "empty"),
        ("/questions/1/header", "required"),
        ("/questions/1/question", "required"),
    ]
    assert only_question("askQuestions", {"question": "?", "header": "Name"}).id == "Name"


def test_vscode_asks_for_free_text_if_there_are_no_options() -> None:
    question = {"question": "?", "header": "h", "options": [], "allowFreeformInput": False}
    assert only_question("askQuestions", question).answer_type is AnswerType.TEXT


@pytest.mark.rule("VSCODE-1")
def test_vscode_takes_one_option_with_free_text_and_the_first_recommended_one() -> None:
    one = {"question": "?", "header": "h", "options": [{"label": "x", "recommended": True}]}
    assert only_question("askQuestions", one).default == "x"
    several = [
        {"label": "a", "recommended": False},
        *({"label": w, "recommended": True} for w in "bc"),
    ]
    assert only_question("askQuestions", {**one, "options": several}).default == "b"
    assert not only_question("askQuestions", {**one, "options": [{"label": "x"}]}).has_default


@pytest.mark.rule("VSCODE-2")
def test_vscode_treats_a_blank_answer_as_skipped() -> None:
    ask = ask_from_call("askQuestions", {"questions": [{"question": "?", "header": "h"}]})
    skipped: Any = {"selected": [], "freeText": None, "skipped": True}
    assert result(act(ask, Answer(value=" ")))[0] == {"answers": {"h": skipped}}


# --- cline -----------------------------------------------------------------------------------------


@pytest.mark.rule("CLINE-1")
@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({"options": None}, []),
        ({"options": []}, []),
        ({"options": " "}, []),
        ({"options": "[]", "follow_up": [{"text": "a"}]}, ["a"]),
        ({"options": ["b"], "follow_up": [{"text": "a"}]}, ["b"]),
        ({"options": '["\\u00e4", "b"]'}, ["ä", "b"]),
    ],
)
def test_cline_finds_its_options(arguments: dict[str, Any], options: list[str]) -> None:
    (question,) = form("ask_followup_question", {"question": "?", **arguments}).questions
    assert [option.value for option in question.options] == options
    assert question.answer_type is (AnswerType.SELECT if options else AnswerType.TEXT)
    assert question.other is bool(options)


@pytest.mark.rule("CLINE-1")
def test_several_questions_of_antigravity_are_answered_one_below_the_other() -> None:
    asks = [
        {"question": "Which?", "options": ["a", "b"], "is_multi_select": True},
        {"question": "Why?"},
    ]
    ask = ask_from_call("ask_question", {"questions": asks})
    ask = act(ask, Other(text="c", value=["a", "b"]))
    ended = end_ask(ask, Status.EXPIRED, at=2, reason=Reason.EXPIRED).ask
    assert result(ended)[1] == "Which?\na, b, c\n\n[no answer: expired]"
    assert result(act(ask, Answer(value="So")))[1] == "Which?\na, b, c\n\nWhy?\nSo"


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ({"options": "a, b"}, [("/options", "wrong_type")]),
        ({"options": "[" * 100_000}, [("/options", "wrong_type")]),
        ({"options": '{"a": 1}'}, [("/options", "wrong_type")]),
        ({"options": 5}, [("/options", "wrong_type")]),
        (
            {"options": '["a", "a", 1]'},
            [("/options/1", "duplicate_option"), ("/options/2", "wrong_type")],
        ),
        ({"options": '["\\ud800"]'}, [("/options/0", "wrong_type")]),
        ({"follow_up": "a"}, [("/follow_up", "wrong_type")]),
        (
            {"follow_up": [1, {"text": "b"}, {"text": "b"}, {}]},
            [
                ("/follow_up/0", "wrong_type"),
                ("/follow_up/2/text", "duplicate_option"),
                ("/follow_up/3/text", "required"),
            ],
        ),
    ],
)
def test_cline_reports_which_option_is_invalid(
    arguments: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    assert problem_codes("ask_question", {"question": "?", **arguments}) == problems


# --- hosts of the table ----------------------------------------------------------------------------


@pytest.mark.rule("MORE-2")
@pytest.mark.parametrize("dialect", ["openclaw", "deepagents", "auggie", "continue"])
def test_no_sentence_claims_that_the_user_gave_a_default(dialect: str) -> None:
    ask = make_ask(dialect)
    while ask.open:
        change = apply_action(ask, Answer(value="A"), at=1, by=None, source=Source.DEFAULT)
        assert isinstance(change, Change)
        ask = change.ask
    assert result(ask)[1].count("(default: nobody answered in time)") == 1


@pytest.mark.rule("MORE-3", "DIALECT-6")
@pytest.mark.parametrize("dialect", ["auggie", "continue", "hermes"])
def test_without_any_answer_an_expired_ask_says_so(dialect: str) -> None:
    ended = end_ask(make_ask(dialect), Status.EXPIRED, at=2, reason=Reason.EXPIRED).ask
    assert "[no answer: expired]" in result(ended)[1]


@pytest.mark.rule("MORE-1", "DIALECT-6")
def test_an_ask_that_expires_half_way_keeps_its_answers() -> None:
    structured: dict[str, Any] = {
        "openclaw": {
            "status": "no_answer",
            "reason": "expired",
            "answers": {"answers": {"a": ["A"]}},
        },
        "deepagents": {
            "status": "cancelled",
            "answers": ["A", "[no answer: expired]"],
            "reason": "expired",
        },
        "cursor": {
            "rejected": {"reason": "[no answer: expired]"},
            "reason": "expired",
            "success": {
                "answers": [{"questionId": "a", "selectedOptionIds": ["A"], "freeformText": ""}]
            },
        },
        "droid": {"cancelled": True, "answers": [], "reason": "expired"},
    }
    for dialect, expected in structured.items():
        ask = act(make_ask(dialect), Answer(value="A"))
        ended = end_ask(ask, Status.EXPIRED, at=2, reason=Reason.EXPIRED).ask
        assert result(ended)[0] == expected


@pytest.mark.rule("MORE-4")
def test_cursors_asynchronous_calls_are_accepted_at_once() -> None:
    name, arguments = CALLS["cursor"]
    for flag in ("run_async", "runAsync"):
        sent = {**arguments, flag: True}
        assert registry.parse_call(name, sent).is_async
        ask = ask_from_call(name, sent)
        request = ask.request.model_copy(update={"mode": "async"})
        interim = render_interim_result(replace(ask, request=request))
        assert interim is not None
        assert interim.structured == {"async": {}}
    assert not registry.parse_call(name, arguments).is_async


@pytest.mark.rule("MORE-4", "SUBMIT-16")
def test_kimis_questions_in_the_background_are_asynchronous() -> None:
    name, arguments = CALLS["claude"]
    assert registry.parse_call(name, {**arguments, "background": True}).is_async
    assert not registry.parse_call(name, {**arguments, "background": False}).is_async
