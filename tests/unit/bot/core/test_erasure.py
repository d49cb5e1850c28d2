"""Whom an erased ask still names: nobody by an id that reveals a person, and everybody that an edit needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.ask import AbandonedMessage, Ask, ConfirmerCopy, Destination, Outcome, Status
from answerback.core.erasure import erase_ask
from answerback.core.giving_up import TriedAgain
from answerback.core.grants import GrantNote
from answerback.core.walker import Person
from answerback_testing.example_asks import new_ask

SLACK = Person(surface="slack", user_id="U1", name="Ann")
WEB = Person(surface="web", user_id="ann@example.org", name="Ann")


def erased(by: Person) -> Ask:
    """Return an erased ask that names a person wherever an ended ask can."""
    place = Destination(surface=by.surface, user=by.user_id)
    ask = new_ask(
        destination=place,
        responders=(by.user_id,),
        confirmers=(by.user_id,),
        confirmers_elsewhere=(f"{by.surface}:{by.user_id}",),
        copies=(ConfirmerCopy(user=by.user_id), ConfirmerCopy(user="ann@", surface="web")),
        unreachable_accounts=1,
        recipient_ids=(by.user_id,),
        unreachable=(place,),
        last_actor=by,
        outcome=Outcome(status=Status.ANSWERED, at=2.0, ended_by=by),
        retry_request=TriedAgain(at=3.0, by=by, text="Once more."),
        grant=GrantNote(id="g", by=by, uses=3, until=9.0, revoked_at=4.0, revoked_by=by),
        old_message=AbandonedMessage(
            destination=place, message={"id": "17.1"}, thread=None, since=1.0
        ),
    )
    return erase_ask(ask, 5.0, {"slack"})


@pytest.mark.rule("API-18")
def test_no_id_is_left_that_reveals_a_person() -> None:
    assert WEB.user_id not in repr(erased(WEB))
    assert "Ann" not in repr(erased(WEB))
    assert "ann@" not in repr(erased(SLACK))


@pytest.mark.rule("API-18")
def test_opaque_ids_stay_where_messages_are_edited_and_in_who_did_what() -> None:
    ask = erased(SLACK)
    nameless = replace(SLACK, name=None)
    assert ask.placement.destination.user == "U1"
    assert ask.placement.old_message is not None
    assert ask.placement.old_message.destination.user == "U1"
    assert ask.outcome is not None
    assert ask.outcome.ended_by == nameless
    assert ask.retry_request == TriedAgain(at=3.0, by=nameless, text=None)
    assert ask.grant is not None
    assert (ask.grant.by, ask.grant.revoked_by) == (nameless, nameless)
    assert ask.copies == (ConfirmerCopy(user="U1"),)
    assert (ask.placement.confirmers_elsewhere, ask.unreachable_accounts) == ((), 0)
    assert (
        ask.placement.responders,
        ask.placement.confirmers,
        ask.schedule.recipient_ids,
        ask.last_actor,
    ) == (
        (),
        (),
        (),
        None,
    )
