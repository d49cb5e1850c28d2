"""Long lists, modals and "Show in full", as the JSON sent to Discord; it can be pasted into any message previewer."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from answerback.core.actions import Action, Answer, Back, EndTurn, Other, Reply
from answerback.core.ask import Ask, Status
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback_chat.control_codec import Verb
from answerback_discord import form_inputs, long_lists, modals, show_in_full
from answerback_discord.option_controls import ListState
from tests.fakes.discord.rules import check_callback, check_modal
from tests.unit.adapters.discord.examples import after, ask_of, ended, options, question
from tests.unit.adapters.snapshots import InFolder

LABELS = Labels()
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": {"type": "string", "title": "Title"},
        "severity": {"enum": ["low", "high"]},
        "teams": {"type": "array", "items": {"enum": ["api", "web", "data"]}},
        "urgent": {"type": "boolean"},
        "since": {"type": "string", "format": "date"},
        "count": {"type": "integer", "minimum": 1},
    },
}
TREE: dict[str, Any] = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}

KINDS: dict[str, tuple[Question, Answer]] = {
    "boolean": (question(AnswerType.BOOLEAN), Answer(value=True)),
    "select-buttons": (question(AnswerType.SELECT, options=options(3)), Answer(value="v2")),
    "select-described": (
        question(AnswerType.SELECT, options=options(3, description="What {n} does.")),
        Answer(value="v2"),
    ),
    "select-menu": (question(AnswerType.SELECT, options=options(12)), Answer(value="v2")),
    "select-paged": (question(AnswerType.SELECT, options=options(60)), Answer(value="v40")),
    "select-long": (
        question(AnswerType.SELECT, options=options(4, label="{n} is *long* " * 20)),
        Answer(value="v2"),
    ),
    "multi_select": (
        question(AnswerType.MULTI_SELECT, options=options(6)),
        Answer(value=["v1", "v4"]),
    ),
    "multi_select-paged": (
        question(AnswerType.MULTI_SELECT, options=options(60)),
        Answer(value=["v1", "v40"]),
    ),
    "text": (question(AnswerType.TEXT), Answer(value="Because.\nAnd *so* on.")),
    "schema-flat": (
        question(AnswerType.SCHEMA, json_schema=SCHEMA),
        Answer(value={"title": "Slow", "severity": "high"}),
    ),
    "schema-json": (question(AnswerType.SCHEMA, json_schema=TREE), Answer(value=[[1], [2, 3]])),
}


@pytest.fixture
def shot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(InFolder)


def states(kind: str) -> dict[str, Ask]:
    """One question of a kind between two others, in every state in which it can be shown."""
    asked, answer = KINDS[kind]
    first = question(AnswerType.BOOLEAN, id="first", text="Shall we begin?")
    last = question(AnswerType.TEXT, id="last", text="Anything else?")

    def form(**change: Any) -> Form:
        return Form(
            questions=(first, asked.model_copy(update={"context": "Some context.", **change}), last)
        )

    def walked(*actions: Action, **change: Any) -> Ask:
        return after(ask_of(form(**change)), Answer(value=True), *actions)

    found = {
        "fresh": walked(),
        "default": walked(default=answer.value, has_default=True),
        "prefill": walked(answer, Back()),
        "alone": ask_of(Form(questions=(asked,))),
        "answered": walked(answer, Answer(value="")),
        "cancelled": walked(Reply(text="Not *now*.")),
        "turn_ended": walked(EndTurn()),
        "expired": ended(walked(), Status.EXPIRED),
        "withdrawn": ended(walked(), Status.WITHDRAWN),
        "failed": ended(walked(), Status.FAILED),
    }
    if asked.options:
        found["other"] = walked(other=True)
        found["other-prefill"] = walked(Other(text="My own words"), Back(), other=True)
    return found


@pytest.mark.rule("DISCORD-2")
def test_a_list_that_was_turned_ticked_and_searched(shot: SnapshotAssertion) -> None:
    view = view_of(states("multi_select-paged")["fresh"])
    for name, look in {
        "second-page": ListState(page=1, chosen=(2, 30)),
        "found": ListState(chosen=(2, 30), found=(30, 31)),
    }.items():
        message = long_lists.render_option_list(view, LABELS, look)
        assert check_callback({"type": 4, "data": message}) == []
        assert message == shot(name=f"list.{name}")


@pytest.mark.parametrize("kind", ["text", "schema-flat", "schema-json"])
def test_the_modals(kind: str, shot: SnapshotAssertion) -> None:
    view = view_of(states(kind)["prefill"])
    for verb in (Verb.WRITE, Verb.FILL, Verb.REPLY):
        sheet = form_inputs.modal_spec(view, verb, LABELS)
        for page in range(len(sheet.pages()) if sheet else 0):
            assert sheet is not None
            data = modals.modal(view, sheet, verb, page, {}, "00000000", LABELS)
            assert check_modal(data) == []
            assert data == shot(name=f"modal.{kind}.{verb}.{page}")


def test_everything_in_full(shot: SnapshotAssertion) -> None:
    view = view_of(states("select-long")["fresh"])
    assert show_in_full.page(view, Verb.SHOW_IN_FULL, 0, LABELS) == shot(name="full")
