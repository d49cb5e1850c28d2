"""Controls refer to options and answers by index, which is resolved against the current ask."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.actions import Action, Answer, Back, Edit
from answerback.core.intents import (
    Choose,
    EditAt,
    Intent,
    ShownRevision,
    TypedText,
    Unclear,
    UnresolvedAction,
    resolve_action,
)
from answerback.core.labels import Labels
from answerback.ports.surface import Acted, Rejected, RejectReason
from tests.service_support import actor, ask_user, boolean
from tests.unit.bot.conftest import Parts

LABELS = Labels()
CHOOSE_FIRST = ("choose_first", LABELS.choose_first.format(submit=LABELS.submit))
NO_LINE = ("not_editable", LABELS.not_found)
SELECT: dict[str, JsonValue] = {
    "id": "s",
    "text": "Which?",
    "answer_type": "select",
    "options": ["A", "B"],
}
MULTI: dict[str, JsonValue] = {**SELECT, "id": "m", "answer_type": "multi_select"}
TEXT: dict[str, JsonValue] = {
    "id": "t",
    "text": "Why?",
    "answer_type": "text",
    "default": "No reason",
}


@pytest.mark.parametrize(
    ("question", "wanted", "found"),
    [
        (SELECT, Choose((1,)), Answer(value="B")),
        (SELECT, Choose(None), CHOOSE_FIRST),
        (SELECT, Choose((2,)), CHOOSE_FIRST),
        (SELECT, Choose((0, 1)), CHOOSE_FIRST),
        (MULTI, Choose((0, 1)), Answer(value=["A", "B"])),
        (MULTI, Choose(()), Answer(value=[])),
        (MULTI, Choose(None), CHOOSE_FIRST),
        (TEXT, Choose(None), Answer(value="No reason")),
        (TEXT, EditAt(0), NO_LINE),
        (TEXT, EditAt(None), NO_LINE),
    ],
)
async def test_option_indexes_are_resolved_against_the_open_question(
    parts: Parts,
    question: dict[str, JsonValue],
    wanted: UnresolvedAction,
    found: Action | tuple[str, str],
) -> None:
    ask = (await parts.service().submit(ask_user(question))).ask
    result = resolve_action(wanted, ask, Intent(ask.id, None), LABELS)
    problem = result.problem if isinstance(result, Unclear) else None
    assert ((problem.code, problem.message) if problem else result) == found


@pytest.mark.parametrize(("at", "code"), [(1.0, "too_early"), (3.0, "unclear_text")])
async def test_text_that_is_no_answer_says_why(parts: Parts, at: float, code: str) -> None:
    ask = (await parts.service().submit(ask_user(SELECT))).ask
    typed = Intent(ask.id, None, at=at, shown=ShownRevision(ask.revision, 2.0))
    result = resolve_action(TypedText("something else"), ask, typed, LABELS)
    assert isinstance(result, Unclear)
    assert (result.problem.code, result.early) == (code, code == "too_early")


async def test_in_a_review_answers_are_edited_by_index_and_nothing_can_be_chosen(
    parts: Parts,
) -> None:
    service = parts.service()
    questions: list[JsonValue] = [
        {"id": name, "prompt": f"{name}?", "options": [{"value": "v", "label": "V"}]}
        for name in ("a", "b")
    ]
    arguments: JsonValue = {"questions": [*questions]}
    ask = (await service.submit(ask_user(name="question", arguments=arguments))).ask
    for _ in questions:
        result = await service.apply(Intent(ask.id, Choose((0,))), actor())
        assert isinstance(result, Acted)
        ask = result.ask
    assert resolve_action(EditAt(1), ask, Intent(ask.id, None), LABELS) == Edit(question_id="b")
    nothing = resolve_action(Choose((0,)), ask, Intent(ask.id, None), LABELS)
    assert isinstance(nothing, Unclear)
    assert (nothing.problem.code, nothing.problem.message) == (
        "no_open_question",
        LABELS.not_found,
    )


@pytest.mark.rule("ACT-7")
async def test_an_intent_counts_once_at_its_revision_and_on_its_surface(parts: Parts) -> None:
    service = parts.service()
    ask = (await service.submit(ask_user(boolean("a"), boolean("b")))).ask
    intent = Intent(ask.id, Answer(value=True), 1, delivery="click-1")
    elsewhere = await service.apply(intent._replace(surface="web"), actor())
    assert elsewhere == Rejected(RejectReason.NOT_FOUND)
    acted = await service.apply(intent._replace(surface="chat"), actor())
    assert isinstance(acted, Acted)
    assert await service.apply(intent, actor()) == Acted(acted.ask, repeated=True)
    late = await service.apply(Intent(ask.id, Back(), 1), actor())
    assert isinstance(late, Rejected)
    assert late.why is RejectReason.STALE
