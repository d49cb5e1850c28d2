"""Every kind of modal and the home tab, as JSON that can be pasted into Block Kit Builder.

The files are in tests/snapshots/slack/test_block_kit; https://app.slack.com/block-kit-builder shows them.
`pytest --snapshot-update` rewrites them.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from slack_sdk.models.views import View as SdkView
from syrupy.assertion import SnapshotAssertion

from answerback.core import ask as asks
from answerback.core.actions import Answer, Back, Other
from answerback.core.ask import Ask, Thread
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Person, Source
from answerback.ports.store_values import Page
from answerback.ports.surface import Rejected, RejectReason
from answerback.presentation.form_spec import Entry
from answerback_chat.control_codec import Control, Verb
from answerback_slack import inbox_view, modals, private_notes
from answerback_slack.blocks import Block
from answerback_slack.render import render
from answerback_testing.example_asks import with_values
from tests.fakes.slack.checks import check_message, check_view
from tests.unit.adapters.slack.asks import after, ask_of, single_question_ask
from tests.unit.adapters.snapshots import InFolder

LABELS = Labels()
ENVIRONMENTS = (Option(value="staging", label="staging"), Option(value="prod", label="production"))
DESCRIBED = tuple(
    Option(
        value=o.value, label=o.label, description=f"Deploys to {o.label}.", preview="# Plan\n* 1"
    )
    for o in ENVIRONMENTS
)
LONG = tuple(
    Option(value=f"v{n}", label=f"Choice {n} " + "with a long explanation of what it means " * 3)
    for n in range(3)
)
REGIONS = tuple(Option(value=f"r{n}", label=f"region-{n}") for n in range(130))
CONTACT = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "maxLength": 40},
        "mail": {"type": "string", "format": "email", "title": "E-mail"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9},
        "plan": {"enum": ["free", "team"], "default": "team"},
        "days": {"type": "array", "items": {"enum": ["Mo", "Tu", "We"]}},
        "from": {"type": "string", "format": "date"},
        "terms": {"type": "boolean"},
    },
    "required": ["name", "terms"],
}
SELECT, MULTI = AnswerType.SELECT, AnswerType.MULTI_SELECT


CASES: dict[str, Ask] = {
    "boolean-fresh": single_question_ask(
        AnswerType.BOOLEAN, context="The table has forty million rows."
    ),
    "select-radio-descriptions": single_question_ask(
        SELECT, options=DESCRIBED, header="Target", other=True
    ),
    "select-long-texts": single_question_ask(SELECT, options=LONG),
    "multi-select-modal": single_question_ask(
        MULTI, options=tuple(o.model_copy(update={"label": o.label * 9}) for o in REGIONS)
    ),
    "text-default": single_question_ask(AnswerType.TEXT, default="main", has_default=True),
    "schema-fresh": single_question_ask(AnswerType.SCHEMA, json_schema=CONTACT),
    "schema-json-default": single_question_ask(
        AnswerType.SCHEMA, json_schema={"type": "array"}, default=[1, 2], has_default=True
    ),
}


def three() -> Ask:
    """Apply?, which environment?, a note: with a review."""
    questions = (
        Question(id="apply", text="Apply the migration?", answer_type=AnswerType.BOOLEAN),
        Question(id="env", text="Where?", answer_type=SELECT, options=ENVIRONMENTS, other=True),
        Question(id="note", text="A note for the log?", answer_type=AnswerType.TEXT),
    )
    return ask_of(Form(questions=questions, review=True))


ANSWERS = (Answer(value=True), Other(text="the *blue* cluster"), Answer(value="after the backup"))
CASES["walk-back-prefill-other"] = after(three(), *ANSWERS[:2], Back())
MODALS: dict[str, tuple[str, Verb]] = {
    "text": ("text-default", Verb.WRITE),
    "other": ("walk-back-prefill-other", Verb.OTHER),
    "reply": ("boolean-fresh", Verb.REPLY),
    "schema-native": ("schema-fresh", Verb.FILL),
    "schema-json": ("schema-json-default", Verb.FILL),
    "choose": ("multi-select-modal", Verb.CHOOSE),
    "preview": ("select-radio-descriptions", Verb.PREVIEW),
    "in-full": ("select-long-texts", Verb.SHOW_IN_FULL),
}


@pytest.fixture
def as_json(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(InFolder)


@pytest.mark.parametrize("name", MODALS)
def test_modal(name: str, as_json: SnapshotAssertion) -> None:
    case, verb = MODALS[name]
    ask = CASES[case]
    control = Control(ask.id, ask.revision, verb, "0" if verb is Verb.PREVIEW else "")
    view = modals.build_modal(view_of(ask), control, LABELS, '["C1", "1.0", null]')
    assert view is not None
    read = json.loads(json.dumps(view))
    assert check_view(read) == []
    assert read == as_json


EVE = Person(surface="slack", user_id="U0EVE", name="Eve")
REPLY = Control("ask_1", 1, Verb.REPLY)


def texts_of(modal: Block) -> list[str]:
    """The title of a modal, and the texts in it."""
    read = json.loads(json.dumps(modal))
    parts = [block.get("text") or block["elements"][0] for block in read["blocks"]]
    return [part["text"] for part in (read["title"], *parts)]


@pytest.mark.rule("SURFACE-10")
@pytest.mark.parametrize(
    ("verb", "title"),
    [
        (Verb.REPLY, LABELS.reply_title),
        (Verb.ASK_BACK, LABELS.ask_back),
        (Verb.OTHER, LABELS.other),
        (Verb.NOTE, LABELS.answer_with_note),
        (Verb.FILL, LABELS.fill_in),
        (Verb.WRITE, LABELS.answer),
    ],
)
def test_a_refused_modal_is_titled_as_what_was_pressed_and_gives_back_what_was_typed(
    verb: Verb, title: str
) -> None:
    entry = Control("ask_1", 1, verb).entry
    made = modals.rejected_submission_modal(entry, "Bob was {reason} faster.", "my *text*", LABELS)
    assert texts_of(made) == [
        title,
        "Your message was not sent: Bob was {reason} faster.",
        LABELS.entered,
        "my *text*",
    ]


@pytest.mark.rule("SURFACE-10")
def test_a_refused_choice_has_no_text_to_give_back() -> None:
    made = modals.rejected_submission_modal(Entry.CHOICE, "Bob was faster.", "", LABELS)
    assert texts_of(made) == [LABELS.choose, "Bob was faster."]


@pytest.mark.rule("WHO-1")
def test_no_person_is_shown_as_an_id() -> None:
    nameless = Person(surface="slack", user_id="U0ADA")
    ask = with_values(single_question_ask(AnswerType.BOOLEAN), responders=("U0BOB", "@S0OPS"))
    change = asks.apply_action(ask, Answer(value=True), at=1, by=nameless)
    assert isinstance(change, asks.Change)
    note = private_notes.rejection_mrkdwn(Rejected(RejectReason.ENDED, change.ask), EVE, LABELS)
    refused = private_notes.rejection_mrkdwn(Rejected(RejectReason.NOT_ALLOWED, ask), EVE, LABELS)
    message = render(view_of(change.ask), LABELS)
    modal = modals.rejected_submission_modal(Entry.REPLY, refused, "what was typed", LABELS)
    for shown in (note, message.text, json.dumps(message.blocks)):
        assert "<@U0ADA>" in shown
        assert "U0ADA" not in shown.replace("<@U0ADA>", "")
    assert "<@U0BOB>, <!subteam^S0OPS>" in json.dumps(modal)
    assert check_view(json.loads(json.dumps(modal)), foreign=False) == []


def test_home(as_json: SnapshotAssertion) -> None:
    url = "https://acme.slack.com/archives/C1/p1700000000000100"
    asks = [
        with_values(
            single_question_ask(AnswerType.BOOLEAN, text="Apply *it* to <!channel>?"),
            thread=Thread(url=url),
        ),
        with_values(single_question_ask(AnswerType.TEXT), expires_at=1_700_003_600.0),
    ]
    done = after(single_question_ask(AnswerType.BOOLEAN), Answer(value=True))
    view = inbox_view.build_home_view(Page(tuple(asks), "cursor"), [done], LABELS, first=False)
    read = json.loads(json.dumps(view))
    assert check_view(read) == []
    SdkView(**read).validate_json()
    assert read == as_json


def test_a_long_review_of_answers_that_nobody_gave_has_no_menu_to_edit_them() -> None:
    questions = tuple(
        Question(id=f"q{n}", text="?", answer_type=AnswerType.TEXT) for n in range(20)
    )
    ask = after(ask_of(Form(questions=questions, review=True)), *[Answer(value="x")] * 20)
    given = tuple(replace(each, source=Source.REMEMBERED) for each in ask.walk.answers)
    message = render(view_of(replace(ask, walk=replace(ask.walk, answers=given))), LABELS)
    assert check_message({"text": message.text, "blocks": message.blocks}) == []
    assert "static_select" not in json.dumps(message.blocks)


def test_only_what_a_person_answered_is_edited_in_the_review() -> None:
    ask = after(three(), *ANSWERS)
    first, *rest = ask.walk.answers
    remembered = replace(first, source=Source.REMEMBERED)
    ask = replace(ask, walk=replace(ask.walk, answers=(remembered, *rest)))
    sections = [each for each in render(view_of(ask), LABELS).blocks if each["type"] == "section"]
    assert ["accessory" in each for each in sections] == [False, True, True]
