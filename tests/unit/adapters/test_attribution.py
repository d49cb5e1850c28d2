"""Lines about people: how much they show, in which order, and how they show unknown names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import (
    ANYONE,
    DEFAULT_ASKER,
    Ask,
    Destination,
    Outcome,
    Reason,
    Status,
    end_ask,
)
from answerback.core.form import AnswerType, Form, Question
from answerback.core.giving_up import TriedAgain
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.presentation import attribution
from answerback.presentation.attribution import AttributionFormat
from answerback_discord import render as discord
from answerback_slack import render as slack
from tests.limit_edges import edge
from tests.unit.adapters.slack.asks import after, ask_of
from tests.unit.adapters.web.test_render_and_parse import shown as web_page

LABELS = Labels()
MARKS = AttributionFormat(
    str, lambda who: None if who.startswith("U") else who, lambda p: p.name or "?", str
)
QUESTIONS = tuple(
    Question(id=f"q{n}", text=f"Question {n}?", answer_type=AnswerType.BOOLEAN) for n in range(8)
)
MINUTE = 60


def answered(*who: tuple[str, float], ask: Ask | None = None) -> Ask:
    """Return an ask whose first questions these people answered, each a number of seconds after its creation."""
    ask = ask or ask_of(Form(questions=QUESTIONS))
    for name, at in who:
        person = Person(surface="slack", user_id=f"U0{name.upper()}", name=name)
        before = replace(ask, updated_at=ask.created_at + at - 1)  # `after` acts a second later
        ask = after(before, Answer(value=True), by=person)
    return ask


@pytest.mark.rule("SURFACE-17")
@pytest.mark.parametrize(
    ("responders", "closes_at", "said"),
    [
        ((), None, ""),
        ((), 9.0, "closes 9.0"),
        ((ANYONE,), None, "Anyone with access can answer"),
        (("ada", "@ops"), 9.0, "For ada, @ops · closes 9.0"),
        (("U1", "U2"), None, "For the people who were asked (2)"),
        (("ada", "U2", "U3"), None, "For ada and 2 more"),
    ],
)
def test_who_may_answer(responders: tuple[str, ...], closes_at: float | None, said: str) -> None:
    assert attribution.audience_line(responders, closes_at, LABELS, MARKS) == said


@edge("MAX_NAMED")
def test_a_line_names_a_few_and_counts_the_others() -> None:
    named = tuple(f"p{n}" for n in range(6))
    assert attribution.audience_line(named[:5], None, LABELS, MARKS) == "For p0, p1, p2, p3, p4"
    assert (
        attribution.audience_line(named, None, LABELS, MARKS) == "For p0, p1, p2, p3, p4 and 1 more"
    )
    six = answered(*((name, 1.0) for name in named))
    assert attribution.answered_by_line(view_of(six), LABELS, MARKS).endswith(" and 1 more")


@edge("MAX_LABEL_UNITS")
def test_a_long_label_is_shortened() -> None:
    long = Labels(for_anyone="w" * 301)
    assert len(attribution.audience_line((ANYONE,), None, long, MARKS)) == 300
    assert (
        len(attribution.audience_line((ANYONE,), None, Labels(for_anyone="w" * 300), MARKS)) == 300
    )


@pytest.mark.rule("WHO-5")
def test_answers_of_one_person_are_merged_into_a_time_span() -> None:
    ask = answered(("ada", 10), ("ada", 20))
    start = ask.created_at
    assert (
        attribution.answered_by_line(view_of(ask), LABELS, MARKS)
        == f"Answered by ada, {start + 20}"
    )
    ask = answered(("bob", 30), ("ada", 10 + 5 * MINUTE), ask=ask)
    assert attribution.answered_by_line(view_of(ask), LABELS, MARKS) == (
        f"Answered by ada, {start + 10} – {start + 310} · bob, {start + 30}"
    )


@pytest.mark.rule("WHO-5")
def test_the_answered_by_line_does_not_repeat_the_ending() -> None:
    form = Form(questions=QUESTIONS[:2])
    alone = answered(("ada", 10), ("ada", 20), ask=ask_of(form))
    assert attribution.answered_by_line(view_of(alone), LABELS, MARKS) == ""
    slow = answered(("ada", 10), ("ada", 10 + MINUTE), ask=ask_of(form))
    assert attribution.answered_by_line(view_of(slow), LABELS, MARKS) != ""
    both = answered(("ada", 10), ("bob", 20), ask=ask_of(form))
    assert "ada" in attribution.answered_by_line(view_of(both), LABELS, MARKS)
    expired = end_ask(answered(("ada", 10)), Status.EXPIRED, at=99, reason=Reason.EXPIRED).ask
    assert "ada" in attribution.answered_by_line(view_of(expired), LABELS, MARKS)


def test_answers_without_times_are_shown_without_times() -> None:
    ask = answered(("ada", 10))
    walk = replace(ask.walk, answers=tuple(replace(given, at=None) for given in ask.walk.answers))
    assert (
        attribution.answered_by_line(view_of(replace(ask, walk=walk)), LABELS, MARKS)
        == "Answered by ada"
    )


@pytest.mark.rule("SURFACE-17")
def test_a_direct_message_does_not_say_who_it_is_for() -> None:
    direct = Destination(surface="slack", user="U0ADA")
    for responders in (("U0ADA",), (ANYONE,)):
        ask = ask_of(Form(questions=QUESTIONS), destination=direct, responders=responders)
        assert view_of(ask).responders == ()
    two = ask_of(Form(questions=QUESTIONS), destination=direct, responders=("U0ADA", "U0BOB"))
    assert view_of(two).responders == ("U0ADA", "U0BOB")


@pytest.mark.rule("SURFACE-17", "WHO-1")
def test_unknown_ids_are_counted_and_names_are_inert() -> None:
    evil = "web:<!channel> @everyone <script>*x*\u202e"
    ask = ask_of(Form(questions=QUESTIONS), responders=("U0ADA", evil), expires_at=1_700_009_000.0)
    view = view_of(ask)
    blocks = json.dumps(slack.render(view, LABELS).blocks, ensure_ascii=False)
    assert "U0ADA" not in blocks
    assert "<!channel>" not in blocks
    assert "<!date^1700009000^" in blocks
    message = json.dumps(discord.message(view, LABELS), ensure_ascii=False)
    assert "U0ADA" not in message
    assert "<t:1700009000:f>" in message
    page = web_page(ask)
    assert "<script>*x*" not in page.markup
    for shown in (blocks, message, page.markup):
        assert "\u202e" not in shown
        assert LABELS.and_more.format(count=1) in shown


@pytest.mark.rule("LATE-11")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"unread_by_agent": True}, ""),
        ({"unread_by_agent": True, "agent_left": True}, "the agent has not read this yet"),
        ({"read_by_agent_at": 100.0}, "Codex got this answer at 00:01 UTC"),
        ({"read_by_agent_at": 50_000.0}, "Codex got this answer after 13 h"),
        ({"read_by_agent_at": 100.0, "host": DEFAULT_ASKER}, "The assistant got this answer at 00:01 UTC"),
        ({"read_by_agent_at": 100.0, "status": Status.TURN_ENDED}, "Codex was told at 00:01 UTC"),
        ({"read_by_agent_at": 100.0, "status": Status.EXPIRED}, ""),
        ({"read_by_agent_at": 100.0, "status": Status.EXPIRED, "tried": True}, "Codex was told at 00:01 UTC"),
        ({"read_by_agent_at": 100.0, "erased": True}, ""),
    ],
)  # fmt: skip
def test_an_ended_ask_says_whether_its_agent_has_the_answer(
    changes: dict[str, object], said: str
) -> None:
    outcome = Outcome(status=Status(str(changes.pop("status", "answered"))), at=10.0)
    tried = TriedAgain(at=20.0, by=None) if changes.pop("tried", False) else None
    fields: dict[str, Any] = {
        "host": "Codex",
        "outcome": outcome,
        "retry_request": tried,
        **changes,
    }
    view = view_of(ask_of(Form(questions=QUESTIONS[:1])))._replace(**fields)
    assert attribution.collected_line(view, LABELS, MARKS) == said
