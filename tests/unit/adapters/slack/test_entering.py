"""Modal input: no long text is cut, errors are shown at their field, unusual values are typed as text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.actions import Answer, Back
from answerback.core.ask import Ask, Destination
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, Form
from answerback.core.intents import RequestedAction
from answerback.core.schema_field_values import FieldEntry
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback_chat.control_codec import Control, Verb
from answerback_slack import modals
from answerback_slack.parse import Submission
from tests import matrix
from tests.fakes.slack.checks import check_view
from tests.fakes.slack.state import initial
from tests.fakes.slack.visible_message import controls_of
from tests.unit.adapters.slack.asks import after, ask_of, big_texts, single_question_ask
from tests.unit.adapters.slack.rig import LABELS, MODES, Rig, rig, run_app, workspace
from tests.unit.adapters.slack.sendable import opened_modal, options

NOTE = {"id": "note", "text": "A note?", "answer_type": "text"}


@pytest.mark.rule("SURFACE-8")
@given(big_texts(29_000) | st.just(""))
def test_a_text_that_is_submitted_as_it_opens_is_unchanged(text: str) -> None:
    ask = single_question_ask(AnswerType.TEXT, default=text, has_default=True)
    assert submitted_as_it_opens(ask, Verb.WRITE) == Answer(value=text)


@pytest.mark.rule("SURFACE-8")
@pytest.mark.parametrize("text", ["😀" * 20_000, "👨\u200d👩\u200d👧\u200d👦" * 2_600])
def test_a_text_that_no_modal_can_hold_stays_if_nothing_is_entered(text: str) -> None:
    ask = single_question_ask(AnswerType.TEXT, default=text, has_default=True)
    assert submitted_as_it_opens(ask, Verb.WRITE) == Answer(value=text)
    (block,) = (each for each in opened_modal(ask, Verb.WRITE)["blocks"] if each["type"] == "input")
    assert "initial_value" not in block["element"]
    assert block["hint"]["text"] == LABELS.keeps_text


def submitted_as_it_opens(ask: Ask, verb: Verb) -> RequestedAction | dict[str, str] | None:
    """Return the request of the modal that a control opens, if it is submitted unchanged."""
    control = Control(ask.id, ask.revision, verb)
    view = opened_modal(ask, verb)
    assert check_view(view) == []
    values: dict[str, FieldEntry] = {}
    for each in (c for block in view["blocks"] for c in controls_of(block)):
        entry = next((v for k, v in initial(each).items() if k != "type"), None)
        if isinstance(entry, dict):
            entry = [int(entry["value"])]
        elif isinstance(entry, list):
            entry = [int(option["value"]) for option in entry]
        values[each.block_id] = str(entry) if isinstance(entry, int) else entry
    submission = submitted(control, values)
    return modals.parse_submission(submission, view_of(ask), LABELS)


def submitted(control: Control, values: dict[str, FieldEntry]) -> Submission:
    return Submission(control, Person(surface="slack", user_id="U1"), "1", None, values)


def form_ask(schema: JsonValue, value: JsonValue = None) -> Ask:
    return single_question_ask(
        AnswerType.SCHEMA, json_schema=schema, default=value, has_default=value is not None
    )


def object_of(**properties: Any) -> dict[str, JsonValue]:
    return {"type": "object", "properties": properties, "required": list(properties)}


CASES: list[tuple[dict[str, JsonValue], JsonValue]] = [
    (object_of(n={"type": "number", "minimum": 0.5, "maximum": 10}), {"n": 2.5}),
    (object_of(n={"type": "number"}), {"n": 1e300}),
    (object_of(n={"type": "integer", "maximum": 5}), {"n": 7}),
    (object_of(d={"type": "string", "format": "date"}), {"d": "2026-02-28"}),
    (object_of(d={"type": "string"}), {"d": "two\nlines"}),
    (object_of(t={"type": "string", "format": "date-time"}), {"t": "1815-12-10T00:00:00Z"}),
    (object_of(t={"type": "string", "format": "date-time"}), {"t": "2026-02-28T10:00:00.5+01:00"}),
    (object_of(u={"type": "string", "format": "uri"}), {"u": "https://example.com/"}),
    (object_of(b={"type": "boolean"}), {"b": False}),
    (object_of(c={"enum": [f"value {n}" for n in range(250)]}), {"c": "value 249"}),
    (object_of(c={"enum": ["x" * 90, "y" * 90]}), {"c": "y" * 90}),
    (object_of(**{" ": {"enum": ["", " "], "title": " "}}), {" ": " "}),
    (
        object_of(c={"type": "array", "items": {"enum": list("abcdefghijklm")}, "maxItems": 3}),
        {"c": ["a", "m"]},
    ),
]


@pytest.mark.rule("SURFACE-8")
@pytest.mark.parametrize(("schema", "value"), CASES)
def test_a_form_that_is_submitted_as_it_opens_returns_its_prefill(
    schema: JsonValue, value: JsonValue
) -> None:
    found = submitted_as_it_opens(form_ask(schema, value), Verb.FILL)
    if value == {"n": 7}:
        assert isinstance(found, dict)  # beyond its own maximum: reported, and not changed
    else:
        assert found == Answer(value=value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (object_of(n={"type": "integer", "maximum": 10**400}), None),
        (object_of(n={"type": "number", "minimum": -(10**400)}), {"n": 0.5}),
        (object_of(n={"type": "integer"}), {"n": 5.5}),
        (object_of(n={"type": "integer", "minimum": 9}), {"n": 5.0}),
        (object_of(d={"type": "string", "format": "date"}), {"d": "soon"}),
        (object_of(t={"type": "string", "format": "date-time"}), {"t": "soon"}),
        (object_of(s={"type": "string", "maxLength": 2}), {"s": "abcdefgh"}),
        (object_of(s={"type": "string", "minLength": 9}), {"s": "abcdefgh"}),
        (object_of(s={"type": "string", "minLength": 3, "maxLength": 4}), {"s": "\U0001f600" * 3}),
    ],
    ids=str,
)
def test_a_form_opens_with_any_prefill(schema: JsonValue, value: JsonValue) -> None:
    view = opened_modal(form_ask(schema, value), Verb.FILL)
    assert check_view(view) == []
    [control] = [c for block in view["blocks"] for c in controls_of(block)]
    assert control.block_id == "field.0"
    if isinstance(value, dict):
        [start] = value.values()
        shown = str(initial(control)["value"])
        assert shown == start if isinstance(start, str) else float(shown) == start
        least = control.element.get("min_length", 0)
        assert not isinstance(start, str) or len(start) >= least


def test_a_value_that_no_input_can_hold_is_edited_as_json() -> None:
    long = {"type": "array", "items": {"enum": [f"v{n}" for n in range(150)]}}
    many = object_of(**{f"f{n}": {"type": "string"} for n in range(60)})
    cases: list[tuple[JsonValue, JsonValue]] = [
        (object_of(a=long), None),
        (many, None),
        (object_of(a={"type": "string"}), {"a": "x" * 3001}),
        (object_of(a={"type": "string"}), {"a": "x", "more": 1}),
        ({"type": "array"}, None),
    ]
    for schema, value in cases:
        view = opened_modal(form_ask(schema, value), Verb.FILL)
        [control, *_] = [c for block in view["blocks"] for c in controls_of(block)]
        assert control.label.startswith(LABELS.json_label)


def test_errors_are_shown_at_their_field() -> None:
    ask = form_ask(object_of(a={"type": "string"}, b={"type": "string"}))
    problems = [
        Problem(pointer="/value/b", code="x", message="b is wrong"),
        Problem(pointer="/value", code="x", message="all is wrong"),
    ]
    submission = submitted(Control(ask.id, ask.revision, Verb.FILL), {})
    assert modals.errors_by_block(submission, ask, problems, LABELS) == {
        "field.1": "b is wrong",
        "field.0": "all is wrong",
    }


@pytest.mark.parametrize("verb", [Verb.NOTE, Verb.CHOOSE])
def test_errors_of_a_choice_are_shown_at_its_options(verb: Verb) -> None:
    ask = single_question_ask(AnswerType.SELECT, options=options(2), notes=True)
    control = Control(ask.id, ask.revision, verb)
    problem = Problem(pointer="/value", code="x", message="it is gone")
    menu = Control(ask.id, ask.revision, Verb.CHOOSE, "0").encode()
    found = modals.errors_by_block(submitted(control, {}), ask, [problem], LABELS)
    assert found == {menu: "it is gone"}


def test_a_note_too_long_to_open_beside_many_options_starts_empty() -> None:
    many = options(150, "漢" * 70)
    ask = single_question_ask(AnswerType.SELECT, options=many, notes=True)
    for length, kept in ((10, True), (29_000, False)):
        given = after(two_of(ask), Answer(value="v1", note="漢" * length), Back())
        view = opened_modal(given, Verb.NOTE)
        assert check_view(view) == []
        notes = [
            initial(each).get("value")
            for block in view["blocks"]
            for each in controls_of(block)
            if each.kind == "plain_text_input"
        ]
        assert notes == ["漢" * length if kept else None]


def two_of(ask: Ask) -> Ask:
    """An ask with the same question twice."""
    [question] = ask.form.questions
    return ask_of(Form(questions=(question, question.model_copy(update={"id": "r"}))))


pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, request.param) as made:
        yield made


@pytest.mark.rule("SURFACE-16", "SLACK-4")
async def test_a_modal_that_cannot_be_saved_stays_open_with_what_was_typed(up: Rig) -> None:
    ask = await up.submit(NOTE)
    await up.ada.click(up.live(ask), LABELS.answer)
    view = await up.ada.sees_modal()
    await up.app.store.close()
    ack = await up.ada.submit({LABELS.other_label: "kept"})
    await up.app.store.open()
    assert ack.body == {"response_action": "errors", "errors": {"text.0": LABELS.try_again}}
    assert up.ada.modal is view
    assert (await up.ada.submit()).ok
    assert (await up.shown(ask)).walk.answers[0].value == "kept"


async def test_a_default_too_long_for_a_modal_can_be_submitted_unchanged(up: Rig) -> None:
    ask = await up.submit({**NOTE, "default": "word " * 10_000})
    await up.ada.click(up.live(ask), LABELS.submit)
    assert (await up.shown(ask)).walk.answers[0].value == "word " * 10_000


@pytest.mark.parametrize("typed", ["7", "{"])
@pytest.mark.parametrize(
    ("schema", "start"),
    [
        ({"type": "string"}, "x" * 2_000 + "\n" + "y" * 2_000),
        ({"type": "array", "items": {"type": "string"}}, ["word " * 9] * 99),
    ],
)
async def test_errors_in_a_long_json_text_are_shown_at_its_first_input(
    up: Rig, schema: JsonValue, start: JsonValue, typed: str
) -> None:
    ask = await up.submit({**NOTE, "answer_type": "schema", "schema": schema, "default": start})
    await up.ada.click(up.live(ask), LABELS.fill_in)
    view = await up.ada.sees_modal()
    inputs = [c for c in up.ada.sees(view).controls if c.kind == "plain_text_input"]
    assert len(inputs) > 1
    changed: dict[str, object] = dict.fromkeys((each.label for each in inputs), "")
    changed[inputs[0].label] = typed
    refused = await up.ada.submit(changed)
    assert refused.body is not None
    assert list(refused.body["errors"]) == [inputs[0].block_id]


AT = {"at": {"type": "string", "format": "date-time"}}
WHEN = {"id": "when", "text": "When?", "answer_type": "schema"}


@pytest.mark.parametrize("start", ["2026-05-31T14:30", "2026-05-31"])
@pytest.mark.parametrize("typed", ["20260531", "2026", "²", "9" * 20])
async def test_digits_typed_for_a_date_time_are_an_error_at_the_field(
    up: Rig, start: str, typed: str
) -> None:
    ask = await up.submit(WHEN | {"schema": object_of(**AT), "default": {"at": start}})
    await up.ada.click(up.live(ask), LABELS.fill_in)
    await up.ada.sees_modal()
    refused = await up.ada.submit({"at": typed})
    assert refused.body is not None
    assert refused.body["response_action"] == "errors"
    assert "date and time with its zone" in refused.body["errors"]["field.0"]
    assert (await up.ada.submit({"at": "2026-05-31T14:30:00Z"})).ok
    assert (await up.shown(ask)).walk.answers[0].value == {"at": "2026-05-31T14:30:00Z"}


@pytest.mark.parametrize("before", [None, {"at": "2026-05-31T14:30:00Z"}])
@pytest.mark.parametrize(
    ("picked", "value"),
    [("1780000000", "2026-05-28T20:26:40Z"), ("²", None), ("9" * 20, None), ("9" * 5_000, None)],
)
def test_a_picked_date_time_is_valid_or_an_error(
    before: JsonValue, picked: str, value: str | None
) -> None:
    ask = form_ask(object_of(**AT), before)
    submission = submitted(Control(ask.id, ask.revision, Verb.FILL), {"field.0": picked})
    found = modals.parse_submission(submission, view_of(ask), LABELS)
    if value is not None:
        assert found == Answer(value={"at": value})
    else:
        assert isinstance(found, dict)
        assert list(found) == ["field.0"]


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ({"channel": "C0123"}, None),
        ({"channel": "C0123", "thread": "1716400000.000100"}, None),
        ({"user": "U0123"}, None),
        ({"channel": "#general"}, "not the channel's name"),
        ({"channel": "C0123", "thread": "yesterday"}, "ts of its first message"),
        ({"user": "ada"}, "member id"),
    ],
)
async def test_destinations_are_checked_before_anybody_is_asked(
    up: Rig, place: dict[str, str], wrong: str | None
) -> None:
    problem = up.app.surface.destination_problem(Destination(surface="slack", **place))
    assert (problem is None) if wrong is None else (wrong in (problem or ""))


async def test_a_surface_whose_token_slack_rejects_is_unready(tmp_path: Path) -> None:
    async with workspace() as (slack, _, _):
        slack.revoked = True
        async with run_app(slack, tmp_path / "db", "http") as app:
            assert "token_revoked" in (app.surface.unready_reason() or "")
            place = Destination(surface="slack", channel="D0ADA")
            assert app.surface.default_responders(place) == ("anyone",)
            assert app.surface.default_responders(Destination(surface="slack", channel="C1")) == ()
