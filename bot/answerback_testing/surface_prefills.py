"""Contract tests of what Back prefills: everything that was answered is shown, and sent again unless it is changed."""

from __future__ import annotations

from typing import Final

import pytest
from pydantic import JsonValue

from answerback.core.actions import Action, Answer, Other
from answerback.core.form import AnswerType, Form, NoteReach, Option, OptionKind, Question
from answerback.core.labels import Labels
from answerback.core.walker import GivenAnswer
from answerback.ports.surface import Acted
from answerback_testing.simulated_people import (
    Capability,
    HasNotes,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_clicks import actor_of, create_viewed_ask, wait_for_steps
from answerback_testing.surface_questions import GO
from answerback_testing.surface_walks import strip_whitespace

LABELS: Final = Labels()
_OPTIONS: Final = tuple(Option(value=v, label=f"Option {v}") for v in "abc")
_BESIDE: Final = Question(
    id="beside",
    text="Which languages?",
    answer_type=AnswerType.MULTI_SELECT,
    options=_OPTIONS,
    other=True,
    other_beside=True,
)
_INSTEAD: Final = _BESIDE.model_copy(update={"other_beside": False, "notes": True})
_MANY: Final = _BESIDE.model_copy(
    update={"options": tuple(Option(value=f"o{n}", label=f"Option {n}") for n in range(120))}
)
_ONE: Final = _INSTEAD.model_copy(update={"answer_type": AnswerType.SELECT})
_DESCRIBED: Final = _ONE.model_copy(
    update={"options": tuple(o.model_copy(update={"description": "Why not"}) for o in _OPTIONS)}
)

_DECISION: Final = _ONE.model_copy(
    update={
        "other": False,
        "options": (
            Option(value="allow", label="Allow once", kind=OptionKind.ALLOW_ONCE),
            Option(value="deny", label="Deny", kind=OptionKind.DENY),
        ),
    }
)
_NULLABLE: Final = Question(
    id="name",
    text="Which name?",
    answer_type=AnswerType.SCHEMA,
    json_schema={"type": ["string", "null"], "default": "main"},
)
_NULLABLE_FIELD: Final = _NULLABLE.model_copy(
    update={
        "json_schema": {
            "type": "object",
            "properties": {"name": {"type": ["string", "null"], "default": "main"}},
        }
    }
)
_NULLABLE_JSON: Final = _NULLABLE.model_copy(
    update={"json_schema": {"anyOf": [{"type": "array"}, {"type": "null"}], "default": ["main"]}}
)

_JSON: Final = _NULLABLE.model_copy(
    update={"json_schema": {"type": "array", "items": {"type": "string"}}}
)
_TEXT: Final = Question(id="text", text="What for?", answer_type=AnswerType.TEXT)
_FIELDS: Final = Question(
    id="fields",
    text="Where to?",
    answer_type=AnswerType.SCHEMA,
    json_schema={
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 200},
            "count": {"type": "integer", "minimum": 1},
            "sure": {"type": "boolean"},
            "colour": {"enum": ["red", "green"]},
            "days": {"type": "array", "items": {"enum": ["Mon", "Tue", "Wed"]}},
        },
        "required": ["name"],
    },
)
_ROWS: Final = _FIELDS.model_copy(
    update={
        "json_schema": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "title": "Name"},
                    "tls": {"type": "boolean", "title": "TLS"},
                },
            },
        }
    }
)

FULL_ANSWERS: Final = (
    (_BESIDE, Other(text="Zig", value=["a", "b"])),
    (_BESIDE, Other(text="Zig")),
    (_MANY, Other(text="Zig", value=["o3", "o110"])),
    (_INSTEAD, Other(text="Zig")),
    (_INSTEAD, Answer(value=["b", "c"], note="not yet")),
    (_ONE, Other(text="Zig")),
    (_ONE, Answer(value="b", note="not yet")),
    (_DESCRIBED, Other(text="Zig")),
    (_DESCRIBED, Answer(value="b", note="not yet")),
    (_NULLABLE, Answer(value=None)),
    (_NULLABLE_FIELD, Answer(value={"name": None})),
    (_NULLABLE_JSON, Answer(value=None)),
    (_TEXT, Answer(value="two\nlines")),
    (_TEXT, Answer(value="\n".join(f"  line {n} " * 4 for n in range(110)))),
    (_FIELDS, Answer(value={"name": "a", "count": 2, "sure": False, "colour": "green"})),
    (_FIELDS, Answer(value={"name": " b ", "days": ["Mon", "Wed"], "colour": "red"})),
    (_FIELDS, Answer(value={"name": "c", "beyond the fields": [1, None]})),
    (_ROWS, Answer(value=[{"name": "a", "tls": True}, {"name": "b"}])),
)
"""Questions, and answers with text or a note, of a form, or with null in place of a default."""


class PrefillsContract:
    """Contract of Back: the values that people see and send after it."""

    @pytest.mark.rule("WALK-3")
    @pytest.mark.parametrize(
        ("question", "action"),
        FULL_ANSWERS,
        ids=[
            f"{q.answer_type}-{len(q.options)}-{type(a).__name__}-{i}"
            for i, (q, a) in enumerate(FULL_ANSWERS)
        ],
    )
    async def test_after_back_ticks_text_and_note_are_sent_again_unless_changed(
        self, stage: Stage, ada: SimulatedPerson, question: Question, action: Action
    ) -> None:
        harness = stage.harness
        form = Form(questions=(question, GO))
        ask = await harness.create_ask(form, stage.place, (ada.user_id,))
        acted = await harness.service.act(ask.id, action, actor_of(stage, ada))
        assert isinstance(acted, Acted)
        (before,) = acted.ask.walk.answers
        await ada.look_at(await harness.wait_until_shown(ask.id))
        await ada.go_back()
        back = await harness.wait_until_shown(ask.id)
        assert back.walk.answers == ()
        await ada.look_at(back)
        seen = strip_whitespace(await ada.read_all_text())
        for text in filter(None, (before.other_text, before.note)):
            assert strip_whitespace(text) in seen
        await ada.answer_as_prefilled(question)
        again = await harness.wait_until_shown(ask.id)
        assert [_content(given) for given in again.walk.answers] == [_content(before)]

    @pytest.mark.rule("SURFACE-7")
    async def test_a_json_editor_starts_with_nothing_that_nobody_has_said(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        for default in (None, ["main"]):
            question = _JSON if default is None else _JSON.with_default([*default])
            form = Form(questions=(question,))
            ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
            await ada.look_at(await stage.harness.wait_until_shown(ask.id))
            assert await ada.read_prefill(question) == default

    @pytest.mark.rule("WEB-26")
    async def test_an_answer_of_rows_is_read_with_a_line_for_each(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        ask = await create_viewed_ask(stage, [_ROWS, GO], ada)
        rows: JsonValue = [{"name": "a", "tls": True}, {"name": "b", "tls": False}]
        actor = actor_of(stage, ada)
        assert isinstance(await stage.harness.service.act(ask.id, Answer(value=rows), actor), Acted)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        assert _shows_rows(await ada.read_all_text())
        assert isinstance(await stage.harness.service.act(ask.id, Answer(value=True), actor), Acted)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        assert _shows_rows(await ada.read_all_text())

    @requires_capability(Capability.NOTES)
    @pytest.mark.rule("ACT-8", "WALK-10")
    async def test_a_note_never_goes_with_what_somebody_else_ticked(
        self, stage: Stage, ada: HasNotes, bob: HasNotes
    ) -> None:
        who = (ada.user_id, bob.user_id)
        form = Form(questions=(_INSTEAD, GO))
        ask = await stage.harness.create_ask(form, stage.place, who)
        await ada.look_at(ask)
        await ada.begin_note(_INSTEAD, ["b", "c"])
        await bob.look_at(await stage.harness.wait_until_shown(ask.id))
        await bob.begin_note(_INSTEAD, ["a"])
        await ada.finish_note("not yet")
        stored = await stage.harness.wait_until_shown(ask.id)
        given = [_content(each) for each in stored.walk.answers]
        assert given in ([], [(["b", "c"], False, "not yet")])

    @requires_capability(Capability.NOTES)
    @pytest.mark.rule("ACT-8", "WALK-3")
    @pytest.mark.parametrize(
        ("question", "value"),
        [(_ONE, "b"), (_DESCRIBED, "b"), (_INSTEAD, ["b", "c"])],
        ids=["one", "described", "several"],
    )
    async def test_a_note_goes_with_a_choice(
        self, stage: Stage, ada: HasNotes, question: Question, value: JsonValue
    ) -> None:
        ask = await create_viewed_ask(stage, [question, GO], ada)
        for after, note in ((1, "not yet"), (3, "not *now*")):
            await ada.begin_note(question, value)
            await ada.finish_note(note)
            answered = await wait_for_steps(stage, ask, ada, after=after)
            [given] = answered.walk.answers
            assert _content(given) == (value, False, note)
            assert note in await ada.read_all_text()
            await ada.go_back()
            await wait_for_steps(stage, ask, ada, after=after + 1)

    @requires_capability(Capability.NOTES)
    @pytest.mark.rule("APPROVAL-13")
    @pytest.mark.parametrize("reach", NoteReach)
    async def test_people_read_where_the_words_of_a_decision_stay_before_they_send_them(
        self, stage: Stage, ada: HasNotes, reach: NoteReach
    ) -> None:
        question = _DECISION.model_copy(update={"note_reach": reach})
        ask = await create_viewed_ask(stage, [question, GO], ada)
        await ada.begin_note(question, "allow")
        read = strip_whitespace(await ada.read_note_form())
        for each in set(NoteReach) - {NoteReach.ALWAYS}:
            assert (strip_whitespace(LABELS.hint_of_note(each)) in read) is (each is reach)
        await ada.finish_note("not yet")
        [given] = (await wait_for_steps(stage, ask, ada, after=1)).walk.answers
        assert _content(given) == ("allow", False, "not yet")


def _shows_rows(text: str) -> bool:
    seen = strip_whitespace(text)
    return all(strip_whitespace(row) in seen for row in ("Name: a, TLS: Yes", "Name: b, TLS: No"))


def _content(given: GivenAnswer) -> tuple[object, bool, str | None]:
    return given.value, given.other, given.note
