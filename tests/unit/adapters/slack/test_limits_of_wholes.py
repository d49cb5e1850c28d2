"""Slack's limits of whole messages and modals, and of times, each at its edge.

The numbers are those of the fake's own table, `tests/fakes/slack/rules.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from answerback.core import ask as asks
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Reason, Status
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.view import View, view_of
from answerback.core.walker import Person
from answerback.ports.surface import Rejected, RejectReason
from answerback.presentation.form_spec import Entry
from answerback_chat.control_codec import Verb
from answerback_slack import blocks, fallback_text, modals, people_text, private_notes
from answerback_slack.http_endpoint import HttpEndpoint
from answerback_slack.interactions import Ack
from answerback_slack.render import RESERVED, STYLE, render
from tests.fakes.slack import rules
from tests.fakes.slack.checks import check_message, check_view, elements_of
from tests.fakes.slack.schema import units
from tests.limit_edges import edge
from tests.unit.adapters.slack.asks import after, ask_of, single_question_ask
from tests.unit.adapters.slack.sendable import (
    LABELS,
    MULTI,
    TEXT,
    as_sent,
    is_accepted,
    opened_modal,
    schema_ask,
)

pytestmark = pytest.mark.rule("SLACK-5")


# --- whole messages and modals --------------------------------------------------------------------


@edge("MESSAGE_TEXT")
def test_the_fallback_text() -> None:
    question = Question(id="q", text="", answer_type=TEXT)
    around = len(fallback_text.fallback_text(view_of(asked(question)), LABELS)) + len("\n")
    for length, full in ((4_000, True), (4_001, False)):
        text = "x" * (length - around)
        asked_so = asked(question.model_copy(update={"text": text}))
        shown = fallback_text.fallback_text(view_of(asked_so), LABELS)
        assert shown.endswith(text) == full
        assert check_message({"text": shown}, update=True) == []


def asked(question: Question) -> Ask:
    return ask_of(Form(questions=(question,)))


@edge("BLOCKS_TEXT")
def test_the_total_text_of_a_message() -> None:
    assert STYLE.budget + RESERVED == 12_000
    assert is_accepted(*blocks.sections("x" * 12_000))
    for length in (11_000, 40_000):
        made = (Option(value="v", label="x", description="y" * length),)
        ask = single_question_ask(MULTI, options=made, text="x" * 20_000, context="x" * 20_000)
        assert is_accepted(*render(view_of(ask), LABELS).blocks)


@edge("MODAL_BYTES")
def test_a_rejected_submission_is_given_back_as_far_as_a_view_holds_it() -> None:
    def notice(last: int) -> Any:
        typed = "x" * 3_000 * 80 + "y" * last
        return as_sent(modals.rejected_submission_modal(Entry.REPLY, "Why", typed, LABELS))

    least = rules.VIEW_BYTES - len(json.dumps(notice(1))) + 1
    assert 0 < least < 3_000
    full, cut = notice(least), notice(least + 1)
    assert len(json.dumps(full)) == rules.VIEW_BYTES
    assert full["blocks"][-1]["text"]["text"] == "y" * least
    assert [view["blocks"][-1]["type"] for view in (full, cut)] == ["section", "context"]
    assert check_view(full, foreign=False) == check_view(cut, foreign=False) == []


# --- people's names and agents' labels, which escaping lengthens ------------------------------------

LONG = ("x" * 1_000, "&" * 1_000, "<!channel>" * 100, "\U0001f469" * 1_000)


def endings(label: str) -> list[View]:
    """Asks of a tool with this name, ended in every way that mentions the name."""
    question = Question(id="q", text="?", answer_type=AnswerType.BOOLEAN)
    ask = ask_of(Form(questions=(question,), tool=label))
    made = [asks.end_ask(ask, Status.WITHDRAWN, at=1, reason=Reason.WITHDRAWN, message=label).ask]
    made += [after(ask, Answer(value=True), by=Person(surface="web", user_id="u", name=label))]
    return [view_of(each) for each in made]


def test_an_ending_fits_a_message_whoever_asked() -> None:
    for label in LONG:
        for view in endings(label):
            message = render(view, LABELS)
            assert is_accepted(*message.blocks, text=message.text)
            assert is_accepted(text=people_text.ending_mrkdwn(view, LABELS) + "x" * 200)


def ending_sentence(label: str) -> str:
    """Return the end of an ask that this agent withdrew, without the mark before it and the time after it."""
    [view, _] = endings(label)
    return people_text.ending_mrkdwn(view, LABELS).removeprefix("↩ ").partition(" · ")[0]


def test_an_ending() -> None:
    before = len("Withdrawn by ")
    assert ending_sentence("x" * (300 - before)) == "Withdrawn by " + "x" * (300 - before)
    shortened = ending_sentence("x" * (301 - before))
    assert (units(shortened), shortened[-1]) == (300, "…")
    assert 300 - len("&amp;") < units(ending_sentence("&" * 1_000)) <= 300


def test_a_reminder_is_a_single_message_whoever_asked() -> None:
    for label in LONG:
        ask = single_question_ask(AnswerType.BOOLEAN, text="?")
        ask = ask_of(ask.form.model_copy(update={"tool": label}))
        ask = replace(ask, placement=replace(ask.placement, responders=("@S0" + "X" * 29,) * 99))
        url = f"https://example.slack.com/archives/{'x' * 120}"
        message = private_notes.reminder(ask, 0, url, LABELS)
        assert is_accepted(*message.blocks, text=message.text)


def test_a_note_fits_a_paragraph_whoever_asked() -> None:
    reader = Person(surface="slack", user_id="U0EVE")
    for label in LONG:
        ask = ask_of(
            single_question_ask(AnswerType.BOOLEAN).form.model_copy(update={"tool": label})
        )
        ended = asks.end_ask(ask, Status.WITHDRAWN, at=1, reason=Reason.WITHDRAWN).ask
        assert (
            units(
                private_notes.rejection_mrkdwn(Rejected(RejectReason.ENDED, ended), reader, LABELS)
            )
            <= 3_000
        )


# --- times ---------------------------------------------------------------------------------------


@edge("FIRST_MOMENT", "LAST_MOMENT")
def test_the_range_of_the_datetimepicker() -> None:
    for seconds, picked in (
        (999_999_999, False),
        (1_000_000_000, True),
        (9_999_999_999, True),
        (10_000_000_000, False),
    ):
        start = datetime.fromtimestamp(seconds, UTC).isoformat()
        field = {"type": "string", "format": "date-time", "default": start}
        view = opened_modal(schema_ask({"a": field}), Verb.FILL)
        [element] = elements_of(view["blocks"])
        assert (element["type"] == "datetimepicker") == picked
        assert check_view(view, foreign=False) == []


async def _unexpected(_payload: Mapping[str, Any]) -> Ack:
    raise AssertionError("nothing is handed on here")


@edge("SIGNATURE_SECONDS")
def test_the_age_of_a_request() -> None:
    now = 1_700_000_000
    front = HttpEndpoint("secret", _unexpected, _unexpected, now=lambda: float(now))
    for age, refused in ((-301, True), (-300, False), (300, False), (301, True)):
        stamp = str(now - age)
        made = hmac.new(b"secret", b"v0:" + stamp.encode() + b":{}", hashlib.sha256).hexdigest()
        assert (front.rejection_reason(b"{}", stamp, f"v0={made}") is not None) == refused


@edge("SIGNATURE_SECONDS")
def test_a_signature_is_remembered_for_as_long_as_it_is_valid() -> None:
    """A signature from a clock that is five minutes ahead is valid for ten."""
    now = [1_700_000_000.0]
    front = HttpEndpoint("secret", _unexpected, _unexpected, now=lambda: now[0])
    front._seen |= {"first": now[0]}
    for later, kept in ((600, True), (601, False)):
        now[0] = 1_700_000_000.0 + later
        front._forget_oldest()
        assert ("first" in front._seen) == kept
