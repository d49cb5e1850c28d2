"""The stored form of an ask, which replicas of earlier versions read and write, too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic_core import from_json

from answerback.core.asides import QuestionOpening
from answerback.core.ask import AbandonedMessage, Destination, Thread
from answerback.core.escalation import as_still_open, undo_move
from answerback.core.giving_up import TriedAgain
from answerback.core.handing_over import apply_hand_over
from answerback.core.person import Person
from answerback.core.placement import PlaceBefore
from answerback.core.request import Request
from answerback_storage import rows
from answerback_storage.stored_ask import STORED_NAMES
from answerback_testing.example_asks import new_ask, with_values

ANN = Person(surface="chat", user_id="ann", name="Ann")
BY_ANN = {"surface": "chat", "user_id": "ann", "name": "Ann"}
THREAD = {"channel": "C1", "id": "t1"}
AS_FIRST_STORED: dict[str, Any] = {
    "created_at": 1_000.0,
    "updated_at": 1_002.0,
    "destination": {"surface": "chat", "user": "bob"},
    "responders": ["ann", "bob"],
    "confirmers": ["eve"],
    "confirmers_elsewhere": ["mail:gus"],
    "handed_over": {"by": BY_ANN, "to": {"surface": "chat", "user_id": "bob", "name": "Bob"}},
    "acted_by": BY_ANN,
    "acted_revision": 2,
    "reminded_from": 2.0,
    "first_seen": 1_001.0,
    "left": {
        "destination": {"surface": "chat", "user": "ann"},
        "message": {"id": "m1"},
        "since": 1_001.0,
        "thread": THREAD,
    },
    "before": {
        "destination": {"surface": "chat", "user": "ann"},
        "message": {"id": "m1"},
        "thread": THREAD,
        "responders": ["ann"],
        "confirmers": ["eve"],
        "confirmers_elsewhere": ["mail:gus"],
        "seen": True,
        "seen_since": 1_001.0,
        "first_seen": None,
        "left": None,
        "revision": 1,
        "opened": {"shown": 1_001.0},
        "by": BY_ANN,
    },
    "walk": {"at": 0, "phase": "question"},
}
"""The JSON that an earlier version stored for this ask."""
ASKED = new_ask(
    to=Destination(surface="chat", user="ann"),
    responders=("ann",),
    confirmers=("eve",),
    confirmers_elsewhere=("mail:gus",),
    message={"id": "m1"},
    thread=Thread(channel="C1", id="t1"),
    was_visible=True,
    seen_since=1_001.0,
    opening=QuestionOpening(shown=1_001.0),
)
RENAMED_VALUES = {
    **dict.fromkeys(("agent_left", "unread_by_agent", "was_visible"), True),
    **dict.fromkeys(("hand_over_failed", "awaits_inquiry"), True),
    "last_actor": ANN,
    "opening": QuestionOpening(shown=1_001.0),
    "old_message": AbandonedMessage(destination=Destination(surface="chat"), message={"id": "m0"}),
    "place_before": PlaceBefore(placement=ASKED.placement, revision=1),
    "recipient_ids": ("ann",),
    "retry_request": TriedAgain(at=3.0, by=ANN, text="Once more."),
}
"""Values of renamed fields that are no numbers."""
HANDED_OVER = apply_hand_over(ASKED, ("bob",), at=1_002.0, by=ANN, name="Bob").ask


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return value


@pytest.mark.rule("DATA-23")
def test_the_state_is_stored_in_the_form_of_earlier_versions() -> None:
    state = from_json(rows.dump_state(HANDED_OVER))
    assert without_nulls(state) == without_nulls(AS_FIRST_STORED)
    assert state["before"].keys() >= AS_FIRST_STORED["before"].keys(), "all of these are required"


@pytest.mark.rule("DATA-23")
def test_an_ask_that_an_earlier_version_moved_is_read_and_returns_to_where_it_was() -> None:
    text = rows.dump(AS_FIRST_STORED)
    ask = rows.ask_from_row((0, "ask_1", 2, 0, None, None, text), HANDED_OVER.request)
    assert ask == HANDED_OVER
    returned = undo_move(ask, 1_003.0, "nobody is there").ask
    assert returned.placement == replace(ASKED.placement, shown_revision=0)
    assert as_still_open(ask) == replace(
        HANDED_OVER, placement=ASKED.placement, revision=1, opening=ASKED.opening
    )


@pytest.mark.rule("DATA-23")
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_place_where_nothing_can_be_posted_any_more_is_stored_as_such(*, is_closed: bool) -> None:
    place = PlaceBefore(placement=ASKED.placement, revision=1, is_closed=is_closed)
    ask = with_values(ASKED, place_before=place)
    state = rows.dump_state(ask)
    assert ("is_closed" in from_json(state)["before"]) is is_closed, "earlier versions know it not"
    row = (1, ask.id, ask.revision, 0, rows.dump(ask.placement.message), None, state)
    assert rows.ask_from_row(row, ask.request).placement.place_before == place


@pytest.mark.rule("DATA-23")
@pytest.mark.parametrize(("name", "stored"), STORED_NAMES.items())
def test_a_renamed_field_keeps_the_name_that_it_was_first_stored_with(
    name: str, stored: str
) -> None:
    ask = with_values(new_ask(), **{name: RENAMED_VALUES.get(name, 7)})
    state = from_json(rows.dump_state(ask))
    assert stored in state
    assert name not in state
    row = (1, ask.id, ask.revision, 0, None, None, rows.dump_state(ask).encode())
    assert rows.ask_from_row(row, ask.request) == ask


@pytest.mark.rule("DATA-23")
def test_a_renamed_field_of_a_request_keeps_its_name_too() -> None:
    stored = {"ceiling": ["ann"], "leased": True, "carrier": "codex", "join": "join:1"}
    elsewhere = {"destination": {"surface": "web"}, "responders": ["ann"], "ceiling": ["bob"]}
    values = {
        "allowed_recipients": ("ann",),
        "ends_with_caller": True,
        "hook": "codex",
        "repeat_key": "join:1",
        "other_accounts": (elsewhere,),
    }
    request = new_ask(request=values).request
    text = rows.dump_request(request)
    written = from_json(text)
    assert {key: written[key] for key in stored} == stored
    assert written["other_accounts"][0]["ceiling"] == ["bob"]
    assert not written.keys() & (values.keys() - {"other_accounts"})
    assert Request.model_validate_json(text) == request
    assert request.other_accounts[0].allowed_recipients == ("bob",)
