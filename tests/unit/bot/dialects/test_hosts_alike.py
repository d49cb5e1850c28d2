"""Properties that the dialects of all hosts share, and a result for every walk through a form of any dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.core.actions import Action, Answer, Back, Other, Reply
from answerback.core.ask import Change, Reason, Status, apply_action, end_ask
from answerback.core.form import AnswerType, Persistence
from answerback.dialects import registry
from answerback_testing.dialect_contract import check_that_no_answer_is_lost
from tests import vectors
from tests.unit.bot.dialect_support import (
    CALLS,
    OPTIONS,
    act,
    ask_from_call,
    form,
    make_ask,
    only_question,
    result,
    without_answer,
)

HOSTS = ["codex", "opencode", "gemini", "copilot", "vscode", "cline"]
RECOMMENDED = [{"label": "A"}, {"label": "B (Recommended)"}, {"label": "C (Recommended)"}]


@pytest.mark.rule("HOST-1")
@pytest.mark.parametrize("dialect", HOSTS)
def test_only_people_answer_and_nothing_is_remembered_or_reviewed(dialect: str) -> None:
    read = make_ask(dialect).form
    assert not read.review
    assert all(q.exclusive and q.persistence is Persistence.NONE for q in read.questions)


@pytest.mark.rule("HOST-2")
@pytest.mark.parametrize("name", ["request_user_input", "question", "ask_user"])
@pytest.mark.parametrize(
    ("header", "shown"), [("h" * 2_000, "h" * 1_000), (" ", None), (None, None), (5, None)]
)
def test_a_header_is_shortened_and_may_be_missing(
    name: str, header: Any, shown: str | None
) -> None:
    question = {"question": "A?", "header": header, "options": OPTIONS, "type": "choice"}
    assert only_question(name, question).header == shown


@pytest.mark.rule("CODEX-1")
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("request_user_input", [AnswerType.SELECT, AnswerType.TEXT, AnswerType.TEXT]),
        ("vscode_askQuestions", [AnswerType.SELECT, AnswerType.TEXT, AnswerType.TEXT]),
    ],
)
def test_missing_or_null_options_make_a_text_question(name: str, kinds: list[AnswerType]) -> None:
    options = [OPTIONS, None, []]
    questions = [
        {"question": "?", "header": f"{i}", "options": each, "description": None}
        for i, each in enumerate(options)
    ]
    assert [q.answer_type for q in form(name, {"questions": questions}).questions] == kinds


@pytest.mark.rule("CODEX-1")
@pytest.mark.parametrize("name", ["request_user_input", "question"])
def test_the_first_option_labelled_recommended_is_the_default(name: str) -> None:
    question = only_question(name, {"question": "A?", "options": RECOMMENDED})
    assert (question.default, question.has_default) == ("B (Recommended)", True)
    assert not only_question(name, {"question": "A?", "options": OPTIONS}).has_default


@pytest.mark.rule("WALK-10")
@pytest.mark.parametrize(
    ("dialect", "together"),
    [
        ("opencode", {"answers": [["A"], ["B", "mine, own"]]}),
        (
            "vscode",
            {
                "answers": {
                    "a": {"selected": ["A"], "freeText": None, "skipped": False},
                    "b": {"selected": ["B"], "freeText": "mine, own", "skipped": False},
                }
            },
        ),
    ],
)
def test_free_text_is_added_to_the_ticked_options(dialect: str, together: Any) -> None:
    ask = act(make_ask(dialect), Answer(value="A"), Other(text="mine, own", value=["B"]))
    assert result(ask)[0] == together


MARKED = "[no answer: expired]"
EXPIRED: dict[str, Any] = {
    "codex": {
        "answers": {"a": {"answers": ["A"]}, "b": {"answers": [MARKED]}},
        "reason": "expired",
    },
    "opencode": {"answers": [["A"], []], "reason": "expired"},
    "gemini": {"answers": {"0": "A"}, "cancelled": True, "reason": "expired"},
    "copilot": {"answer": MARKED, "wasFreeform": True, "reason": "expired"},
    "vscode": {
        "answers": {
            "a": {"selected": ["A"], "freeText": None, "skipped": False},
            "b": {"selected": [], "freeText": None, "skipped": True},
        },
        "reason": "expired",
    },
    "cline": MARKED,
}


@pytest.mark.rule("HOST-3")
@pytest.mark.parametrize("dialect", HOSTS)
def test_an_expired_ask_reads_as_a_reply_without_text_and_gives_the_reason(dialect: str) -> None:
    ask = make_ask(dialect)
    if len(ask.form.questions) > 1:
        ask = act(ask, Answer(value="A"))
    expired, _ = result(without_answer(ask, Status.EXPIRED))
    assert expired == EXPIRED[dialect]
    withdrawn, _ = result(without_answer(ask, Status.WITHDRAWN))
    assert json.dumps(withdrawn) == json.dumps(expired).replace("expired", "withdrawn")
    replied, _ = result(act(ask, Reply()))
    plain = json.loads(json.dumps(expired).replace(MARKED, "[cancelled by user]"))
    if isinstance(plain, dict):
        del plain["reason"]
    assert replied == plain


ACTIONS: st.SearchStrategy[Action] = st.one_of(
    st.builds(Answer, value=st.sampled_from(["A", "B", "", ["A"], [], {"n": 1}])),
    st.builds(Answer, value=st.just("A"), note=st.sampled_from(["why", " "])),
    st.builds(Other, text=st.text(max_size=3), value=st.sampled_from([None, ["B"]])),
    st.just(Back()),
    st.builds(Reply, text=st.none() | st.text(max_size=3)),
)


@pytest.mark.rule("DIALECT-4")
@given(st.sampled_from([*CALLS]), st.lists(ACTIONS, max_size=8), st.sampled_from(Status))
def test_every_end_of_a_walk_has_a_result(
    dialect: str, actions: list[Action], status: Status
) -> None:
    ask = make_ask(dialect)
    for action in actions:
        change = apply_action(ask, action, at=1, by=None)
        ask = change.ask if isinstance(change, Change) else ask
        if not ask.open:
            break
    if ask.open:
        closing = status if status in {Status.EXPIRED, Status.WITHDRAWN} else Status.FAILED
        reason = Reason.BACKEND_ERROR if closing is Status.FAILED else Reason(closing.value)
        ask = end_ask(ask, closing, at=1, reason=reason).ask
    found = registry.render_result(ask)
    assert found is not None
    assert found.content.strip() or ask.status is Status.ANSWERED
    assert json.loads(json.dumps(found.structured)) == found.structured


@pytest.mark.rule("HOST-1")
@pytest.mark.parametrize(
    "name", ["ask-user", "AskQuestion", "clarify", "droid.ask_user", "question"]
)
def test_a_question_that_is_the_call_itself_has_a_result(name: str) -> None:
    ask = ask_from_call(name, {"question": "Go?", "options": []})
    assert "Yes, today" in result(act(ask, Answer(value="Yes, today")))[1]
    for ended in (act(ask, Reply(text="Later")), without_answer(ask, Status.EXPIRED)):
        assert result(ended)[1]


@pytest.mark.rule("DIALECT-6")
@pytest.mark.parametrize("cases_of", vectors.ALL, ids=lambda each: str(each.dialect))
def test_no_answer_is_lost(cases_of: vectors.Vectors) -> None:
    cases = json.loads(cases_of.path.read_text("utf-8"))
    check_that_no_answer_is_lost([case for case in cases if "call" in case])
