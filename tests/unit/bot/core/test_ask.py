"""The ask: who acted, whom it waits for, and when its next timed step is due, also after the clock was set back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.actions import Answer, EndTurn, Reply
from answerback.core.ask import (
    AbandonedMessage,
    Ask,
    Change,
    Destination,
    Escalation,
    Reason,
    Status,
    apply_action,
    end_ask,
)
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import Form
from answerback.core.grants import GrantNote
from answerback.core.walker import Person, Source
from answerback_testing.example_asks import FORM, new_ask

ANN, BEN = (Person(surface="slack", user_id=name) for name in ("U1", "U2"))
ELSEWHERE = Escalation(after=50.0, to=Destination(surface="web"))
LEFT = AbandonedMessage(destination=Destination(surface="slack", channel="C1"), message={"ts": "1"})


def after(ask: Ask, action: Answer | EndTurn | Reply, by: Person | None, source: Source) -> Ask:
    change = apply_action(ask, action, at=1_100.0, by=by, source=source)
    assert isinstance(change, Change)
    return change.ask


def test_what_no_person_did_changes_nothing_about_who_acted_last() -> None:
    by_ann = after(new_ask(), Answer(value=True), ANN, Source.HUMAN)
    assert (by_ann.last_actor, by_ann.last_action_revision) == (ANN, 2)
    configured = after(by_ann, Answer(value="prod"), None, Source.CONFIG)
    assert configured.revision == 3
    assert (configured.last_actor, configured.last_action_revision) == (ANN, 2)
    by_ben = after(configured, Answer(value="because"), BEN, Source.HUMAN)
    assert (by_ben.last_actor, by_ben.last_action_revision) == (BEN, 4)


@pytest.mark.parametrize(
    ("action", "status"), [(Reply(text="No."), Status.CANCELLED), (EndTurn(), Status.TURN_ENDED)]
)
def test_what_a_person_cancelled_says_so(action: EndTurn | Reply, status: Status) -> None:
    outcome = after(new_ask(), action, ANN, Source.HUMAN).outcome
    assert outcome is not None
    assert (outcome.status, outcome.reason, outcome.ended_by) == (status, Reason.USER, ANN)


def test_an_answer_that_waits_for_confirmation_waits_for_those_who_may_confirm() -> None:
    form = Form(questions=FORM.questions[:1], confirmation=ConfirmationRule(due=1))
    ask = new_ask(form=form, confirmers=("U2",))
    assert (ask.waits_for, ask.actors) == (("U1", "@S9"), ("U1", "@S9"))
    confirming = after(ask, Answer(value=True), ANN, Source.HUMAN)
    assert confirming.confirming
    assert (confirming.waits_for, confirming.actors) == (("U2",), ("U1", "@S9", "U2"))
    assert replace(
        confirming, placement=replace(confirming.placement, confirmers=())
    ).waits_for == ("U1", "@S9")


@pytest.mark.parametrize(
    ("ask", "due"),
    [
        (new_ask(), None),
        (new_ask(expires_at=1_200.0), 1_200.0),
        (new_ask(awaits_inquiry=True), 1_000.0),
        (new_ask(wait_seconds=60.0), 1_060.0),
        (new_ask(wait_seconds=60.0, clock_set_back=10.0), 1_050.0),
        (new_ask(request={"remind_after": (30.0, 90.0)}), 1_030.0),
        (new_ask(request={"remind_after": (30.0, 90.0)}, reminders_done=1), 1_090.0),
        (new_ask(request={"remind_after": (30.0, 90.0)}, reminders_done=2), None),
        (new_ask(request={"remind_after": (30.0,)}, clock_set_back=10.0), 1_020.0),
        (new_ask(request={"escalation": ELSEWHERE}), 1_050.0),
        (new_ask(request={"escalation": ELSEWHERE}, clock_set_back=10.0), 1_040.0),
        (new_ask(request={"escalation": ELSEWHERE}, escalated=True), None),
        (new_ask(request={"escalation": ELSEWHERE}, old_message=LEFT), None),
        (
            new_ask(request={"escalation": ELSEWHERE}, old_message=replace(LEFT, until=1_001.0)),
            1_050.0,
        ),
        (new_ask(request={"escalation": ELSEWHERE}, expires_at=1_049.0), 1_049.0),
    ],
)
def test_the_next_timed_step(ask: Ask, due: float | None) -> None:
    assert ask.next_due() == due
    ended = end_ask(ask, Status.WITHDRAWN, at=1_001.0, reason=Reason.WITHDRAWN).ask
    assert ended.next_due() is None


def test_an_ended_ask_is_posted_only_if_a_grant_allowed_it_and_it_is_not_erased() -> None:
    ended = end_ask(new_ask(), Status.WITHDRAWN, at=1_001.0, reason=Reason.WITHDRAWN).ask
    made = GrantNote(id="grant_1", by=ANN, uses=3, until=2_000.0)
    allowed = replace(ended, grant=replace(made, number=1))
    assert new_ask().is_to_post
    assert not ended.is_to_post
    assert not replace(ended, grant=made).is_to_post, "it was made here"
    assert allowed.is_to_post
    assert not replace(allowed, erased_at=1_002.0).is_to_post
