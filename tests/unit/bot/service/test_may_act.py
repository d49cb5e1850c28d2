"""Who is among those who may act: by their account, by another one of theirs, by a group, and at which place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import pytest

from answerback.core import refusals
from answerback.core.ask import ANYONE, Ask, ConfirmerCopy, Destination, Reason, Status, end_ask
from answerback.core.confirmation import ConfirmationRule
from answerback.core.errors import PlatformUnavailableError
from answerback.core.intents import LISTED, Intent
from answerback.core.people import COUNTS_AFTER, AccountLink, People
from answerback.core.person import Person
from answerback.core.placement import PlaceBefore, Placement
from answerback.core.walker import Phase, Refused
from answerback.ports.surface import Actor, Rejected, RejectReason, Surface
from answerback.service import may_act
from answerback.service.may_act import NeedsGroups
from answerback_testing.example_asks import FORM, new_ask, with_values
from tests.service_support import FakeSurface

ANN, EVE = (Person(surface="chat", user_id=name) for name in ("ann", "eve"))
ANN_ON_THE_WEB, GUS_ON_THE_WEB = (Person(surface="web", user_id=name) for name in ("ann", "gus"))
PEOPLE: Final = People({"ann": ("chat:ann", "chat:ann2", "web:ann"), "eve": ("chat:eve",)})
CHAT: Final = Destination(surface="chat", channel="C1")


class Groups(FakeSurface):
    """A chat whose groups have members."""

    def __init__(self, members: Mapping[str, frozenset[str]], *, away: bool = False) -> None:
        super().__init__()
        self.members, self.away = members, away

    async def groups_of(self, person: Person, groups: frozenset[str]) -> frozenset[str]:
        if self.away:
            raise PlatformUnavailableError("the chat is away")
        return groups & self.members.get(person.user_id, frozenset())


def asked(**more: Any) -> Ask:
    form = FORM.model_copy(update={"confirmation": ConfirmationRule(due=1)})
    return with_values(new_ask(form=form, to=CHAT), responders=("ann", ANYONE), **more)


@pytest.mark.rule("ACT-2")
@pytest.mark.parametrize(
    ("place", "is_here"),
    [(None, True), (LISTED, True), ("C1", True), ("D9", True), ("C2", False)],
)
def test_a_person_acts_where_the_message_or_their_copy_is(place: str | None, is_here: bool) -> None:
    copy = ConfirmerCopy(user="eve", message={"channel": "D9"})
    posted = asked(message={"channel": "C1"}, copies=(copy,))
    assert posted.is_asked_in(place) is is_here
    assert asked().is_asked_in(place) is (place in {None, LISTED})


@pytest.mark.rule("ACT-2")
@pytest.mark.parametrize("is_closed", [True, False])
def test_an_ask_is_still_asked_in_a_group_that_has_another_id_until_it_is_posted_there(
    *, is_closed: bool
) -> None:
    there = Placement(destination=CHAT, message={"channel": "C1"}, responders=("ann",))
    moving = asked(place_before=PlaceBefore(placement=there, is_closed=is_closed))
    assert moving.is_asked_in("C1") is is_closed
    assert not moving.is_asked_in("C2")


@pytest.mark.rule("ACT-2")
def test_a_list_does_not_tell_who_sees_a_channel() -> None:
    ask = asked()
    assert ask.actors_at(LISTED, answering=False) == ("ann",)
    assert ask.actors_at("C1", answering=False) == ("ann", ANYONE)
    assert ask.actors_at(None, answering=False) == ("ann", ANYONE)
    direct = replace(
        ask, placement=replace(ask.placement, destination=Destination(surface="chat", user="ann"))
    )
    assert direct.actors_at(LISTED, answering=False) == ("ann", ANYONE)


def test_while_answers_wait_for_confirmation_those_who_answer_are_listed_apart() -> None:
    ask = asked(confirmers=("eve",))
    waiting = replace(ask, walk=replace(ask.walk, phase=Phase.CONFIRMATION, at=None))
    assert waiting.actors_at(None, answering=False) != ("ann", ANYONE)
    assert waiting.actors_at(None, answering=True) == ("ann", ANYONE)
    assert waiting.actors_at(LISTED, answering=True) == ("ann",)


@pytest.mark.rule("CONFIRM-3")
def test_who_has_an_account_elsewhere_confirms_with_it_once_it_is_settled() -> None:
    people = People({"gus": ("web:gus",)})
    mail = Person(surface="mail", user_id="gus")
    people.update_links([AccountLink(account=mail, page=GUS_ON_THE_WEB, credential="", at=1_000.0)])
    settled = 1_000.0 + COUNTS_AFTER
    ask = asked(confirmers=("eve",), confirmers_elsewhere=("mail:gus",))
    waiting = replace(ask, walk=replace(ask.walk, phase=Phase.CONFIRMATION, at=None))
    for person in (GUS_ON_THE_WEB, mail):
        actor = Actor(person, ids=())
        assert may_act.confirms_from_elsewhere(actor, waiting, people)
        assert not may_act.confirms_from_elsewhere(actor, ask, people), "nothing is to be confirmed"
        assert may_act.refused_to_confirm(actor, ask, people, settled) is not None
        for at, code in ((settled, None), (settled - 1.0, refusals.LINKED_RECENTLY.code)):
            assert code_of(may_act.refused_to_confirm(actor, waiting, people, at)) == code
    stranger = Actor(Person(surface="mail", user_id="eve"), ids=())
    assert not may_act.confirms_from_elsewhere(stranger, waiting, people)


def being_moved(revision: int, old_message_shows: int) -> Ask:
    """Return an ask that still has its message where it was."""
    there = Placement(
        destination=CHAT,
        message={"channel": "C1"},
        responders=("ann",),
        was_visible=True,
    )
    place = PlaceBefore(placement=there, revision=old_message_shows)
    return asked(place_before=place, revision=revision)


@pytest.mark.rule("ACT-2")
@pytest.mark.parametrize(
    ("ask", "revision", "is_unchanged"),
    [
        (asked(revision=5), 5, True),
        (asked(revision=5), 4, False),
        (being_moved(5, 4), 5, True),
        (being_moved(5, 4), 4, True),  # nothing has happened but the move
        (being_moved(5, 4), 3, False),
        (being_moved(6, 4), 4, False),
        (being_moved(6, 4), 5, False),
    ],
)
def test_a_message_where_an_ask_was_counts_only_if_nothing_has_happened_but_the_move(
    ask: Ask, revision: int, is_unchanged: bool
) -> None:
    assert may_act.is_unchanged_since(revision, ask) is is_unchanged
    refused = Rejected(RejectReason.STALE, ask)
    is_moved = ask.placement.place_before is not None
    intent = Intent(ask.id, None, revision=revision)
    assert may_act.is_perhaps_at_old_place(refused, intent) is (is_unchanged and is_moved)


@pytest.mark.rule("ACT-2")
@pytest.mark.parametrize("why", RejectReason)
def test_only_what_the_move_may_have_caused_is_looked_at_again(why: RejectReason) -> None:
    moving, anything = being_moved(5, 4), Intent("ask_1", None)
    caused = {RejectReason.NOT_ALLOWED, RejectReason.STALE, RejectReason.NOT_FOUND}
    assert may_act.is_perhaps_at_old_place(Rejected(why, moving), anything) is (why in caused)
    ended = end_ask(moving, Status.EXPIRED, at=2.0, reason=Reason.EXPIRED).ask
    for ask in (
        None,
        replace(
            ended, placement=replace(ended.placement, place_before=moving.placement.place_before)
        ),
        asked(revision=5),
    ):
        assert not may_act.is_perhaps_at_old_place(Rejected(why, ask), anything)


def recently_linked() -> tuple[People, float]:
    """Return a directory with an account that was linked just now, and the time at which it counts."""
    people = People({"ann": ("chat:ann", "web:ann")})
    account = Person(surface="chat", user_id="ann2")
    people.update_links(
        [AccountLink(account=account, page=ANN_ON_THE_WEB, credential="", at=1_000.0)]
    )
    return people, 1_000.0 + COUNTS_AFTER


def code_of(refused: Rejected | NeedsGroups | None) -> str | frozenset[str] | None:
    if isinstance(refused, NeedsGroups):
        return refused.groups
    return None if refused is None else refused.problems[0].code


@pytest.mark.rule("CONFIRM-3")
@pytest.mark.parametrize(
    ("actor", "confirmers", "code"),
    [
        (Actor(ANN), ("ann",), None),
        (Actor(ANN), ("eve",), refusals.NOT_A_CONFIRMER.code),
        (Actor(ANN), ("eve", "@leads"), frozenset({"leads"})),
        (Actor(ANN, groups_known=frozenset({"leads"})), ("@leads",), refusals.NOT_A_CONFIRMER.code),
        (Actor(ANN, frozenset({"leads"}), frozenset({"leads"})), ("@leads",), None),
        (Actor(ANN_ON_THE_WEB, ids=("ann", "ann2")), ("ann2",), None),
        (Actor(GUS_ON_THE_WEB, ids=()), ("ann",), refusals.LINKED_RECENTLY.code),
    ],
)
def test_who_may_confirm(
    actor: Actor, confirmers: tuple[str, ...], code: str | frozenset[str] | None
) -> None:
    waiting = asked(confirmers=confirmers)
    waiting = replace(waiting, walk=replace(waiting.walk, phase=Phase.CONFIRMATION, at=None))
    assert code_of(may_act.refused_to_confirm(actor, waiting, PEOPLE, 0.0)) == code


@pytest.mark.rule("CONFIRM-3")
def test_an_account_that_was_linked_recently_lends_nobody_a_confirmation() -> None:
    people, settled = recently_linked()
    waiting = asked(confirmers=("ann2",))
    waiting = replace(waiting, walk=replace(waiting.walk, phase=Phase.CONFIRMATION, at=None))
    told_apart = Refused((refusals.NOT_TOLD_APART.problem(),))
    by_link = Actor(ANN_ON_THE_WEB, ids=("ann", "ann2"))
    own = Actor(Person(surface="chat", user_id="ann2"))
    for at, recent in ((settled - 1.0, True), (settled, False)):
        code = refusals.NOT_A_CONFIRMER.code if recent else None
        assert code_of(may_act.refused_to_confirm(by_link, waiting, people, at)) == code
        code = refusals.LINKED_RECENTLY.code if recent else None
        assert code_of(may_act.refused_to_confirm(own, waiting, people, at)) == code
        assert may_act.is_too_new(told_apart, own, waiting, people, at) is recent
        assert not may_act.is_too_new(told_apart, Actor(ANN), waiting, people, at)
        another = Refused((refusals.ALREADY_ANSWERED.problem(),))
        assert not may_act.is_too_new(another, own, waiting, people, at)


AMONG: Final[tuple[tuple[tuple[str, ...], Person, bool | None], ...]] = (
    (("ann",), ANN, True),
    (("ann2",), ANN, True),  # by another account of theirs
    (("ann",), ANN_ON_THE_WEB, True),
    (("ann",), GUS_ON_THE_WEB, False),
    (("eve",), ANN, False),
    ((ANYONE,), ANN, True),
    ((ANYONE,), GUS_ON_THE_WEB, False),  # nobody knows whether they see the channel
    (("gus",), GUS_ON_THE_WEB, False),  # the id of somebody else there
    (("@leads",), ANN, True),
    (("@leads",), EVE, False),
    (("@others",), ANN_ON_THE_WEB, True),
    (("eve", "@nobody"), ANN, False),
)


@pytest.mark.rule("GRANT-6")
@pytest.mark.parametrize(("names", "person", "is_among"), AMONG)
async def test_names_include_a_person_by_any_account_and_group(
    names: tuple[str, ...], person: Person, is_among: bool | None
) -> None:
    # The group of the second account counts, too.
    members = {"ann": frozenset({"leads"}), "ann2": frozenset({"others"})}
    surfaces: dict[str, Surface] = {"chat": Groups(members)}
    assert await may_act.is_among(names, asked(), person, PEOPLE, surfaces) is is_among


@pytest.mark.rule("GRANT-6")
async def test_while_a_surface_cannot_say_who_is_in_a_group_nobody_is_known_to_be_among_its_members() -> (
    None
):
    surfaces: dict[str, Surface] = {"chat": Groups({}, away=True)}
    assert await may_act.is_among(("@leads",), asked(), ANN, PEOPLE, surfaces) is None
    assert await may_act.is_among(("ann", "@leads"), asked(), ANN, PEOPLE, surfaces) is True
    assert await may_act.is_among(("@leads",), asked(), ANN, PEOPLE, {}) is False


async def test_groups_are_looked_up_for_each_account_where_the_ask_is() -> None:
    ask, leads = asked(), frozenset({"leads", "others"})
    surfaces: dict[str, Surface] = {
        "chat": Groups({"ann": frozenset({"leads"}), "ann2": frozenset({"others"})})
    }
    by_page = Actor(ANN_ON_THE_WEB, ids=("ann", "ann2"))
    found = await may_act.look_up_groups(surfaces, NeedsGroups(ask, by_page, leads))
    assert found is not None
    assert (found.groups, found.groups_known) == (leads, leads)
    own = Actor(ANN, groups=frozenset({"all"}), groups_known=frozenset({"all"}))
    found = await may_act.look_up_groups(surfaces, NeedsGroups(ask, own, leads))
    assert found is not None
    assert found.groups == {"all", "leads"}
    assert found.groups_known == {"all", *leads}
