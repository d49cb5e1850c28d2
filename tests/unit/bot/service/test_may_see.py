"""Who may see an ask: each rule for any ask and anybody, and the same answer wherever asks are read."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.core.actions import Answer
from answerback.core.ask import (
    ANYONE,
    Ask,
    Change,
    Destination,
    Reason,
    Status,
    apply_action,
    end_ask,
)
from answerback.core.people import People
from answerback.core.person import Person
from answerback.ports.surface import Actor
from answerback.service.may_see import Viewer, actor_with, is_named, may_see, was_asked
from answerback_testing.example_asks import new_ask

PEOPLE: Final = People({"ann": ("chat:ann", "chat:ann2", "web:ann"), "bob": ("chat:bob",)})
ACCOUNTS: Final = tuple(
    Person(surface=surface, user_id=name)
    for surface in ("chat", "web", "mail")
    for name in ("ann", "ann2", "bob", "eve")
)
NAMES: Final = ("ann", "ann2", "bob", "eve", "@leads", ANYONE)
PLACES: Final = (
    Destination(surface="chat", channel="C1"),
    Destination(surface="chat", user="ann"),
    Destination(surface="web"),
)

people_named = st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple)


@st.composite
def asks(draw: st.DrawFn) -> Ask:
    """Any ask: open, answered in part, or ended."""
    ask = new_ask(
        to=draw(st.sampled_from(PLACES)),
        responders=draw(people_named),
        confirmers=draw(people_named),
        confirmers_elsewhere=draw(st.sampled_from(((), ("mail:eve",), ("web:ann",)))),
        request={"agent": draw(st.sampled_from(("ci", "ops", None)))},
    )
    by = draw(st.none() | st.sampled_from(ACCOUNTS))
    if by is not None:
        change = apply_action(ask, Answer(value=True), at=1_001.0, by=by)
        assert isinstance(change, Change)
        ask = change.ask
    if draw(st.booleans()):
        ask = end_ask(ask, Status.EXPIRED, at=1_002.0, reason=Reason.EXPIRED).ask
    return ask


def seen_by(ask: Ask, person: Person, *, acts: bool = False) -> bool:
    return may_see(ask, Viewer(person=person), PEOPLE, acts=acts)


@pytest.mark.rule("AUTH-14")
@given(ask=asks(), agent=st.sampled_from(("ci", "ops")))
def test_an_agent_sees_its_own_asks_and_no_others(ask: Ask, agent: str) -> None:
    assert may_see(ask, Viewer(agent=agent), PEOPLE) is (ask.request.agent == agent)
    assert may_see(ask, Viewer(), PEOPLE), "the operator sees all"


@pytest.mark.rule("AUTH-14", "PEOPLE-4")
@given(ask=asks(), person=st.sampled_from(ACCOUNTS))
def test_a_person_sees_what_they_decided_and_the_open_asks_that_name_them(
    ask: Ask, person: Person
) -> None:
    decided = any(PEOPLE.is_same(person, each) for each in ask.decided_by)
    asked = was_asked(ask, person, PEOPLE)
    assert seen_by(ask, person) is (decided or (asked and ask.open))
    assert seen_by(ask, person, acts=True) is (decided or asked)


@pytest.mark.rule("PEOPLE-4")
@given(ask=asks(), person=st.sampled_from(ACCOUNTS), acts=st.booleans())
def test_all_accounts_of_a_person_see_the_same(ask: Ask, person: Person, acts: bool) -> None:
    others = (Person(surface=each, user_id=name) for each, name in PEOPLE.accounts_of(person))
    assert {seen_by(ask, each, acts=acts) for each in others} == {seen_by(ask, person, acts=acts)}


@pytest.mark.rule("AUTH-14")
@given(ask=asks(), person=st.sampled_from(ACCOUNTS))
def test_whoever_is_neither_named_nor_has_decided_sees_nothing(ask: Ask, person: Person) -> None:
    accounts = [*PEOPLE.accounts_of(person)]
    here = ask.placement.destination.surface
    ids = {user_id for surface, user_id in accounts if surface == here}
    named = bool(ids & {*ask.participants}) or any(
        f"{surface}:{user_id}" in ask.placement.confirmers_elsewhere
        for surface, user_id in accounts
    )
    decided = any(PEOPLE.is_same(person, each) for each in ask.decided_by)
    if not (named or decided or ANYONE in ask.participants):
        assert not seen_by(ask, person, acts=True)
    if named and ask.open:
        assert seen_by(ask, person)


@pytest.mark.rule("AUTH-14")
@pytest.mark.parametrize(
    ("place", "person", "is_asked"),
    [
        (PLACES[0], Person(surface="chat", user_id="bob"), False),  # who sees the channel?
        (PLACES[1], Person(surface="chat", user_id="ann"), True),
        (PLACES[1], Person(surface="chat", user_id="ann2"), True),  # the same person
        (PLACES[1], Person(surface="chat", user_id="bob"), False),
        (PLACES[2], Person(surface="web", user_id="eve"), True),
        (PLACES[2], Person(surface="chat", user_id="eve"), False),
    ],
)
def test_anyone_means_those_who_can_certainly_see_the_ask(
    place: Destination, person: Person, is_asked: bool
) -> None:
    assert was_asked(new_ask(to=place, responders=(ANYONE,)), person, PEOPLE) is is_asked


def test_an_account_is_named_by_its_id_or_by_a_group_that_is_known() -> None:
    ask = new_ask(to=PLACES[0])
    bob = actor_with("chat", "bob")
    assert is_named(ask, ("bob",), bob)
    assert not is_named(ask, ("@leads",), bob)
    assert is_named(ask, ("@leads",), bob._replace(groups=frozenset({"leads"})))
    on_the_page = Actor(Person(surface="web", user_id="bob"), groups=frozenset({"leads"}))
    assert not is_named(ask, ("bob", "@leads"), on_the_page), (
        "ids and groups are those of a surface"
    )


@pytest.mark.rule("PEOPLE-4")
def test_whoever_may_confirm_from_elsewhere_sees_the_ask() -> None:
    ask = new_ask(to=PLACES[0], responders=("bob",), confirmers_elsewhere=("web:ann",))
    for account in PEOPLE.accounts["ann"]:
        surface, _, user_id = account.partition(":")
        assert seen_by(ask, Person(surface=surface, user_id=user_id))
    assert not seen_by(ask, Person(surface="web", user_id="eve"))
