"""Calls and results of Claude Code and related hosts, beyond the vectors."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Answer, Other, Reply
from answerback.core.ask import Ask, Reason, Status, end_ask
from answerback.core.errors import InvalidCallError
from answerback.dialects import registry
from tests.unit.bot.dialect_support import OPTIONS, act, make_ask

Json = dict[str, Any]
PREVIEWED = [{**OPTIONS[0], "preview": "# A"}, OPTIONS[1]]


def asking(*questions: Json, **beside: Any) -> Ask:
    return make_ask("claude", {"questions": list(questions), **beside})


def question(text: str = "Go?", **more: Any) -> Json:
    return {"question": text, "header": "H", "multiSelect": False, "options": OPTIONS, **more}


def structured(ask: Ask) -> Json:
    result = registry.render_result(ask)
    assert result is not None
    assert isinstance(result.structured, dict)
    return result.structured


def refused(*questions: Json) -> list[tuple[str, str]]:
    with pytest.raises(InvalidCallError) as found:
        registry.parse_call("AskUserQuestion", {"questions": list(questions)})
    return [(problem.pointer, problem.code) for problem in found.value.problems]


@pytest.mark.rule("CLAUDE-4")
@pytest.mark.parametrize("header", [{}, {"header": None}, {"header": " "}])
def test_a_header_is_required_only_with_multi_select(header: Json) -> None:
    bare: Json = {"question": "Go?", "options": OPTIONS, **header}
    for kimis in (bare, {**bare, "multi_select": True}, {**bare, "multiSelect": None}):
        assert not (asking(kimis).form.questions[0].header or "").strip()
    code = "empty" if (header.get("header")) else "required"
    assert refused({**bare, "multiSelect": False}) == [("/questions/0/header", code)]


@pytest.mark.rule("CLAUDE-4")
@pytest.mark.parametrize(
    ("ours", "kimis", "several"),
    [(True, True, True), (False, False, False), (None, True, True), (True, None, True)],
)
def test_both_spellings_of_multi_select_are_read(
    ours: bool | None, kimis: bool | None, several: bool
) -> None:
    form = asking(question(multiSelect=ours, multi_select=kimis)).form
    assert (form.questions[0].answer_type == "multi_select") == several


@pytest.mark.rule("HOOK-8")
def test_answers_in_a_call_are_ignored() -> None:
    forged = {"answers": {"Go?": "B"}, "annotations": {"Go?": {"notes": "x"}}, "metadata": {}}
    ask = act(asking(question(), **forged), Answer(value="A"))
    assert structured(ask) == {"questions": [question()], "answers": {"Go?": "A"}}


@pytest.mark.rule("CLAUDE-2")
def test_a_note_and_the_preview_of_what_was_chosen_are_annotations() -> None:
    ask = asking(
        question("One?", options=PREVIEWED), question("Many?", multiSelect=True, options=PREVIEWED)
    )
    ask = act(ask, Answer(value="A", note="as before"), Answer(value=["A"], note="only this"))
    assert structured(ask)["annotations"] == {
        "One?": {"preview": "# A", "notes": "as before"},
        "Many?": {"notes": "only this"},
    }


@pytest.mark.rule("CLAUDE-1")
def test_a_single_label_with_a_comma_and_free_text_are_unchanged() -> None:
    labels = [{"label": 'Go, "Rust"'}, {"label": "C"}]
    ask = asking(
        question("One?", options=labels), question("Many?", options=labels, multiSelect=True)
    )
    ask = act(ask, Answer(value='Go, "Rust"'), Other(text='C, or "none"', value=["C"]))
    assert structured(ask)["answers"] == {"One?": 'Go, "Rust"', "Many?": 'C, or "none"'}


@pytest.mark.rule("CLAUDE-1")
def test_a_label_in_another_script_is_quoted_unescaped() -> None:
    labels = [{"label": "はい, いいえ"}, {"label": "C"}]
    ask = act(
        asking(question(options=labels, multiSelect=True)), Answer(value=["はい, いいえ", "C"])
    )
    assert structured(ask)["answers"] == {"Go?": '"はい, いいえ", C'}


@pytest.mark.rule("CLAUDE-3")
@pytest.mark.parametrize("status", [Status.EXPIRED, Status.WITHDRAWN])
def test_an_ask_that_ended_without_a_person_was_not_dismissed(status: Status) -> None:
    ask = act(asking(question("One?", options=PREVIEWED), question()), Answer(value="A"))
    structured_json = structured(end_ask(ask, status, at=90.25, reason=Reason(status.value)).ask)
    assert structured_json["annotations"] == {"One?": {"preview": "# A"}}
    assert "response" not in structured_json
    assert structured_json.get("afkTimeoutMs") == (90_250 if status is Status.EXPIRED else None)


@pytest.mark.rule("CLAUDE-2")
def test_a_reply_keeps_the_earlier_answers_and_their_annotations() -> None:
    ask = asking(question("One?", options=PREVIEWED), question(), question("Then?"))
    structured_json = structured(act(ask, Answer(value="A"), Reply()))
    assert structured_json["annotations"] == {
        "One?": {"preview": "# A"},
        "Go?": {"unanswered": "dismissed"},
        "Then?": {"unanswered": "dismissed"},
    }
    assert "response" not in structured_json
