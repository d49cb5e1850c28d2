"""Sentences about people and endings, on every surface."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from answerback.core import ask as asks
from answerback.core.actions import Answer, Reply
from answerback.core.ask import Ask, Change, Destination, Escalation, Status
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback.core.view import view_of
from answerback.core.walker import Source
from answerback.dialects import registry
from answerback.ports.surface import Rejected, RejectReason
from answerback.presentation import wording
from answerback_discord import private_notes as discord_notes
from answerback_discord import render as discord
from answerback_slack import people_text
from answerback_slack import private_notes as slack_notes
from answerback_slack import render as slack
from answerback_slack.fallback_text import fallback_text
from answerback_testing.example_asks import with_values
from answerback_web import inbox_view
from answerback_web import render as web
from tests.unit.adapters.slack.asks import ask_of

LABELS = Labels()
ADA = Person(surface="slack", user_id="U0ADA", name="Ada")
EVIL = Person(surface="web", user_id="{who}", name="{who} {name} {how}")
READER = Person(surface="slack", user_id="U0BOB", name="bob")


def form(count: int = 1) -> Form:
    kind = AnswerType.BOOLEAN
    questions = (
        Question(id=f"q{n}", text=f"Q{n}?", answer_type=kind, default=True, has_default=True)
        for n in range(count)
    )
    return Form(questions=tuple(questions))


def answered(ask: Ask, by: Person | None, source: Source = Source.HUMAN) -> Ask:
    change = asks.apply_action(ask, Answer(value=True), at=1, by=by, source=source)
    assert isinstance(change, Change)
    return change.ask


def shown_everywhere(ask: Ask) -> list[str]:
    view = view_of(ask)
    page = web.ask_page(ask, LABELS)
    [row] = inbox_view.inbox_page([ask], LABELS, now=2, after=None, first=True).items
    return [
        fallback_text(view, LABELS),
        json.dumps(slack.render(view, LABELS).blocks),
        json.dumps(discord.message(view, LABELS)),
        people_text.ending_mrkdwn(view, LABELS),
        str(page.ended),
        str(row.ended),
    ]


@pytest.mark.rule("SURFACE-5")
@pytest.mark.parametrize(
    ("people", "heading"),
    [(0, LABELS.defaults_used), (1, LABELS.defaults_used_rest)],
)
def test_defaults_taken_at_a_deadline_are_headed_as_such(people: int, heading: str) -> None:
    ask = ask_of(form(2))
    for number in range(2):
        human = number < people
        source = Source.HUMAN if human else Source.DEFAULT
        ask = answered(ask, ADA if human else None, source)
    assert ask.status is Status.ANSWERED
    assert wording.ending_status(view_of(ask)) is Status.EXPIRED
    for text in shown_everywhere(ask):
        assert heading in text
    assert web.ask_page(ask, LABELS).outcome == "expired"


@pytest.mark.rule("SURFACE-5")
def test_an_answer_of_a_person_is_headed_as_an_answer() -> None:
    ask = answered(ask_of(form()), ADA)
    assert wording.ending_status(view_of(ask)) is Status.ANSWERED
    for text in shown_everywhere(ask):
        assert "Defaults used" not in text


@pytest.mark.rule("TEXT-1")
def test_placeholders_in_a_name_stay_what_they_are() -> None:
    ask = with_values(answered(ask_of(form(2)), EVIL), responders=("U0ADA",))
    late = Rejected(RejectReason.STALE, ask)
    note = slack_notes.rejection_mrkdwn(late, READER, LABELS)
    assert note.startswith("{who} {name} {how} was faster")
    assert "<@U0ADA>" not in note
    shown = json.dumps(discord_notes.rejection_note(late, LABELS, "7"))
    assert "{who} {name} {how} was faster" in shown
    done = answered(ask, EVIL)
    ended = slack_notes.rejection_mrkdwn(Rejected(RejectReason.ENDED, done), READER, LABELS)
    assert "Answered by {who} {name} {how}" in ended
    closed = asks.apply_action(ask_of(form()), Reply(text=None), at=1, by=EVIL)
    assert isinstance(closed, Change)
    for text in shown_everywhere(closed.ask):
        plain = text.replace("<bdi>", "").replace("</bdi>", "")  # the page isolates names
        assert "{who} {name} {how} closed the form without a message" in plain


@pytest.mark.rule("SURFACE-9")
def test_a_question_that_moved_says_to_whom() -> None:
    ask = with_values(ask_of(form()), responders=("U0CAROL", *(f"U{n}" for n in range(10))))
    refused = Rejected(RejectReason.NOT_ALLOWED, ask)
    assert slack_notes.rejection_mrkdwn(refused, READER, LABELS).startswith("Only <@U0CAROL>, ")
    assert ", … may answer here" in slack_notes.rejection_mrkdwn(refused, READER, LABELS)
    to = Destination(surface="slack", user="U0CAROL")
    request = ask.request.model_copy(update={"escalation": Escalation(after=1, to=to)})
    moved = replace(
        ask,
        request=request,
        schedule=replace(ask.schedule, escalated=True),
        placement=replace(ask.placement, responders=("U0CAROL",)),
    )
    refused = Rejected(RejectReason.NOT_ALLOWED, moved)
    note = slack_notes.rejection_mrkdwn(refused, READER, LABELS)
    assert note == "This question has moved to <@U0CAROL>. Nothing was changed."


@pytest.mark.rule("OPENCODE-2", "COPILOT-1")
@pytest.mark.parametrize(
    ("dialect", "content"),
    [
        ("opencode", 'These answers to your questions are not all from the user: "Q0?"="True" (default: nobody'),
        ("copilot", "Not answered by the user (default: nobody answered in time): True"),
    ],
)  # fmt: skip
def test_a_hosts_words_never_claim_an_answer_that_nobody_gave(dialect: str, content: str) -> None:
    ask = ask_of(form())
    ask = replace(ask, request=ask.request.model_copy(update={"dialect": dialect}))
    result = registry.render_result(answered(ask, None, Source.DEFAULT))
    assert result is not None
    assert result.content.startswith(content)


@pytest.mark.rule("INBOX-1")
def test_an_empty_inbox_names_a_bounded_number_of_places() -> None:
    ask = ask_of(form())
    asks = [
        replace(
            ask,
            placement=replace(
                ask.placement, destination=Destination(surface="chat", channel=f"C{n}")
            ),
        )
        for n in range(100)
    ]

    def text(count: int) -> str:
        return wording.empty_inbox(
            asks[:count], LABELS, str, lambda to: f"<{to.channel}" + "{where}>"
        )

    assert text(0) == LABELS.inbox_empty
    assert text(1).endswith("(1): <C0{where}>")
    assert text(10).endswith("(10): " + ", ".join(f"<C{n}" + "{where}>" for n in range(10)))
    assert text(11).endswith("<C9{where}>, …")
    assert "(99)" in text(99)
    assert "(100+)" in text(100)
