"""Whose confirmation counts, case by case: for the guards as they are, and for each with one decision changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from answerback.core import refusals
from answerback.core.confirmation import ConfirmationRule, Vote, confirm
from answerback.core.people import COUNTS_AFTER, AccountLink, account_id
from answerback.core.person import AuthMethod, Person
from answerback.core.refusals import Refusal

ACCOUNTS: Final = {
    "ann": ("chat:ann", "web:ann"),
    "bob": ("chat:bob", "web:bob"),
    "cy": ("web:cy",),
    "dee": ("chat:dee",),
}
ANN, BOB, DEE, EVE, GUS = (
    Person(surface="chat", user_id=name) for name in ("ann", "bob", "dee", "eve", "gus")
)
ANN_ON_THE_WEB, BOB_ON_THE_WEB, CY, EVE_ON_THE_WEB = (
    Person(surface="web", user_id=name) for name in ("ann", "bob", "cy", "eve")
)
KEY = Person(surface="web", user_id="operator", known=AuthMethod.KEY)
BY_LINK = Person(surface="web", user_id="fay", known=AuthMethod.LINK)
BY_PROXY = Person(surface="web", user_id="fay@example.com", known=AuthMethod.PROXY)
COUNTS: Final = None


class Case(NamedTuple):
    """A confirmation, and why it does not count; None if it does."""

    by: Person
    answerers: Sequence[Person]
    voters: Sequence[Person]
    refusal: Refusal | None
    requester: str | None = None


CASES: Final = (
    Case(BOB, [ANN], [], COUNTS),
    Case(DEE, [ANN], [BOB], COUNTS),
    Case(BOB_ON_THE_WEB, [ANN], [], COUNTS),
    Case(EVE, [ANN], [], COUNTS),  # the platform tells them apart
    Case(CY, [], [], COUNTS),  # what a machine answered
    Case(ANN, [ANN], [], refusals.ALREADY_ANSWERED),
    Case(ANN, [BOB, ANN], [], refusals.ALREADY_ANSWERED),
    Case(ANN_ON_THE_WEB, [ANN], [], refusals.ALREADY_ANSWERED),
    Case(BOB, [ANN], [BOB], refusals.ALREADY_CONFIRMED),
    Case(BOB, [ANN], [DEE, BOB], refusals.ALREADY_CONFIRMED),
    Case(BOB_ON_THE_WEB, [ANN], [BOB], refusals.ALREADY_CONFIRMED),
    Case(KEY, [ANN], [], refusals.NOBODY_IN_PARTICULAR),
    Case(EVE_ON_THE_WEB, [ANN], [], refusals.NOT_TOLD_APART),
    Case(EVE_ON_THE_WEB, [BY_LINK, ANN], [], refusals.NOT_TOLD_APART),
    Case(BY_PROXY, [BY_LINK], [], refusals.NOT_TOLD_APART),
    # A personal link and a name from the proxy may be one person, who would count twice.
    Case(BY_PROXY, [EVE_ON_THE_WEB], [BY_LINK], refusals.NOT_TOLD_APART),
    Case(BY_LINK, [EVE_ON_THE_WEB], [BY_PROXY], refusals.NOT_TOLD_APART),
    Case(EVE_ON_THE_WEB, [], [ANN], refusals.NOT_TOLD_APART),
    Case(BOB, [DEE], [], COUNTS, "ann"),
    Case(ANN, [DEE], [], refusals.REQUESTER, "ann"),
    Case(ANN_ON_THE_WEB, [DEE], [], refusals.REQUESTER, "ann"),
    Case(EVE, [DEE], [], COUNTS, "ann"),  # on a surface where the requester has an account
    Case(EVE, [DEE], [], refusals.NOT_TOLD_APART, "cy"),  # who may have one in the chat, too
    Case(BOB, [DEE], [], COUNTS, "cy"),
    Case(EVE, [DEE], [], refusals.NOT_TOLD_APART, "gone"),  # nobody has this name
    Case(BOB, [DEE], [], COUNTS, "gone"),
    Case(EVE, [DEE], [], refusals.REQUESTER, account_id(EVE)),
    Case(BOB, [DEE], [], COUNTS, account_id(EVE)),
)


def outcome(case: Case, decide: Callable[..., Any], people: Any) -> Any:
    """Return why a confirmation does not count by ``decide``; None if it does."""
    rule = ConfirmationRule(due=3, requester=case.requester)
    votes = tuple(Vote(by=each, at=1.0) for each in case.voters)
    vote = Vote(by=case.by, at=2.0)
    done = decide(rule, case.answerers, votes, vote, people)
    return COUNTS if done == (*votes, vote) else done


def disagreement(decide: Callable[..., Any], people: Callable[..., Any]) -> str | None:
    """Return the first case with another outcome than it should have; None if there is none."""
    try:
        directory = people(ACCOUNTS)
        for case in CASES:
            if (got := outcome(case, decide, directory)) is not case.refusal:
                return f"{case}: {got}"
    except Exception as error:  # noqa: BLE001 a mutant may fail in any way
        return repr(error)
    return None


HAL: Final = Person(surface="web", user_id="hal")
IAN: Final = Person(surface="web", user_id="ian")
_LINKED: Final = AccountLink(account=GUS, page=HAL, credential="", at=1_000.0)
_COUNTING: Final = 1_000.0 + COUNTS_AFTER
_Fact = tuple[str, object, object]


def wrong_fact(people: Callable[..., Any]) -> str | None:
    """Return the first thing that a directory says wrongly about people; None if there is none."""
    try:
        for what, got, expected in (*_facts(people), *_facts_of_links(people)):
            if got != expected:
                return f"{what}: {got}, expected {expected}"
    except Exception as error:  # noqa: BLE001 a mutant may fail in any way
        return repr(error)
    return disagreement(confirm, people)


def _facts(people: Callable[..., Any]) -> Iterator[_Fact]:
    known = people(ACCOUNTS, {"ann": "Ann L."})
    yield "name", [known.name_of(each) for each in (ANN, EVE)], ["ann", None]
    yield "ids", (known.ids_on("bob", "web"), known.ids_on("cy", "chat")), (("bob",), ())
    yield "accounts", known.accounts_of(ANN), (("chat", "ann"), ("web", "ann"))
    yield "own account first", known.accounts_of(ANN_ON_THE_WEB)[0], ("web", "ann")
    yield "own account", known.accounts_of(EVE), (("chat", "eve"),)
    named = [known.accounts_named(each) for each in ("chat:zed", "zed", "cy")]
    yield "named", named, [(("chat", "zed"),), (), (("web", "cy"),)]
    yield "persons", known.persons_named("bob"), (BOB, BOB_ON_THE_WEB)
    yield "owners", [known.owner_name(each) for each in (ANN, EVE)], ["ann", "chat:eve"]
    shown = [known.as_named(each).name for each in (ANN, BOB, EVE)]
    yield "shown", shown, ["Ann L.", None, None]
    yield "shown without names", people(ACCOUNTS).as_named(ANN), ANN
    ids = [known.ids_of(each, "web") for each in (ANN, EVE, CY)]
    yield "ids elsewhere", ids, [("ann",), (), None]
    same = [
        (ANN, ANN),
        (ANN, ANN_ON_THE_WEB),
        (EVE, EVE),
        (EVE, EVE_ON_THE_WEB),
        (EVE, GUS),
        (ANN, BOB),
    ]
    yield "same", [known.is_same(*each) for each in same], [True, True, True, False, False, False]
    spelt = replace(ANN_ON_THE_WEB, user_id="\uff21nn")
    yield "spelling", (known.may_be_same(ANN, spelt), known.may_be_same(BOB, spelt)), (True, False)
    yield (
        "settled",
        (known.counts_for_confirmations(EVE, 0.0), known.is_known(EVE, 0.0)),
        (True, False),
    )
    yield "known", known.is_known(ANN, 0.0), True
    named_there = replace(BOB, name="Bobby")
    yield "as the platform names them", known.as_named(named_there), named_there
    yield "no two people", known.is_different(ANN, ANN, 0.0), False
    yield "two people", known.is_different(ANN, BOB, 0.0), True


def _facts_of_links(people: Callable[..., Any]) -> Iterator[_Fact]:
    known = people(ACCOUNTS)
    known.update_links([_LINKED])
    yield "linked", (known.name_of(GUS), known.name_of(HAL)), ("web:hal", "web:hal")
    yield "linked accounts", known.accounts["web:hal"], ("web:hal", "chat:gus")
    early, late = _COUNTING - 1.0, _COUNTING
    yield (
        "young",
        [known.counts_for_confirmations(each, early) for each in (GUS, HAL)],
        [False, True],
    )
    yield "old", [known.counts_for_confirmations(each, late) for each in (GUS, HAL)], [True, True]
    yield "young, known", [known.is_known(each, early) for each in (GUS, HAL)], [False, False]
    yield "old, known", [known.is_known(each, late) for each in (GUS, HAL)], [True, True]
    yield "young, apart", known.is_different(GUS, BOB_ON_THE_WEB, early), False
    yield "old, apart", known.is_different(GUS, BOB_ON_THE_WEB, late), True
    yield "one person", known.may_be_same(GUS, HAL), True
    by_person = replace(_LINKED, page=BOB_ON_THE_WEB)
    known.update_links([by_person])
    yield "linked to somebody listed", known.name_of(GUS), "bob"
    yield (
        "who is known at once",
        (known.is_known(BOB, 0.0), known.is_known(GUS, early)),
        (True, False),
    )
    known.update_links([replace(_LINKED, ended_at=2_000.0)])
    yield "ended", (known.name_of(GUS), known.may_be_same(GUS, HAL)), (None, True)
    yield "ended, settled", known.counts_for_confirmations(GUS, early), True
    known.update_links([replace(_LINKED, account=ANN)])
    yield "listed", (known.name_of(ANN), known.may_be_same(ANN, HAL)), ("ann", False)
    known.update_links([_LINKED], lambda _link: False)
    yield "no longer valid", (known.name_of(GUS), known.may_be_same(GUS, HAL)), (None, True)
    known.update_links([replace(_LINKED, former=("web:ian",))])
    yield "linked before", known.may_be_same(IAN, HAL), True
    second = replace(_LINKED, account=EVE, at=2_000.0)
    known.update_links([second, _LINKED])
    yield "two", known.accounts["web:hal"], ("web:hal", "chat:gus", "chat:eve")
    yield "named since the first", known.is_known(HAL, _COUNTING), True
    yield (
        "the second",
        (
            known.counts_for_confirmations(EVE, _COUNTING),
            known.counts_for_confirmations(GUS, _COUNTING),
        ),
        (False, True),
    )
    renewed = second.renewed(_LINKED)
    yield "renewed", (renewed.former, renewed.revision), (("web:hal",), 2)
    other = people({"gus": ("chat:gus", "web:gus")}, {"gus": "Gus"})
    known.update_from(other)
    yield "reloaded", (known.name_of(GUS), known.as_named(GUS).name), ("gus", "Gus")
    yield "reloaded links", known.name_of(EVE), "web:hal"
    chained = people({"x": ("web:a", "web:b"), "y": ("web:c", "web:d")})
    e, b = (Person(surface="web", user_id=each) for each in "eb")
    once = replace(_LINKED, account=e, page=b, ended_at=1.0, former=("web:d",))
    chained.update_links([once])
    a, c, f = (Person(surface="web", user_id=each) for each in "acf")
    yield "chained", (chained.may_be_same(a, c), chained.may_be_same(a, f)), (True, False)
