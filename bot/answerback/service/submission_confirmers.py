"""Who may confirm the answers to a submission, and how many have to: by the call, its route and the directory. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection

from answerback.core.ask import Destination
from answerback.core.confirmation import MAX_CONFIRMATIONS, ConfirmationRule
from answerback.core.confirmer_copies import tellable
from answerback.core.errors import Problem
from answerback.core.handing_over import is_collective
from answerback.core.people import PERSON_PREFIX, People
from answerback.core.person import Person
from answerback.service.submission_request import ConfirmationTable, normalize_responders


def plan_confirmers(
    table: ConfirmationTable,
    surface: str,
    people: People,
    is_up: Callable[[str], bool],
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the ids of those who may confirm on a surface, and the accounts, as ``surface:id``, of those who may
    confirm and have none there; None: whoever may answer.

    Who they are is known from the directory alone: they are told at the first of their accounts whose surface is up.
    """
    if table.confirmers is None:
        return None
    named = tuple(_as_person(name, surface, people) for name in table.confirmers)
    elsewhere: dict[str, None] = {}
    for name in named:
        person = name.removeprefix(PERSON_PREFIX)
        if person != name and not people.ids_on(person, surface):
            accounts = people.accounts_named(person)
            reached = (f"{each}:{user_id}" for each, user_id in accounts if is_up(each))
            elsewhere |= dict.fromkeys([*reached][:1])
    return normalize_responders(named, surface, people) or (), tuple(elsewhere)


def _as_person(name: str, surface: str, people: People) -> str:
    """Return the account of a known person on another surface as ``person:NAME``, and any other name as it is."""
    there, _, user_id = name.partition(":")
    if there == surface or not user_id:
        return name
    known = people.name_of(Person(surface=there, user_id=user_id))
    return name if known is None else f"{PERSON_PREFIX}{known}"


def plan_confirmation(
    from_call: int | None, route: ConfirmationTable | None, requester: str | None
) -> ConfirmationRule | None:
    """Decide how many people have to confirm; None if none has."""
    due = max(from_call or 0, route.count if route else 0)
    return ConfirmationRule(due=due, requester=requester) if due else None


def find_confirmation_problem(
    rule: ConfirmationRule,
    confirmers: Collection[str],
    responders: Collection[str],
    place: Destination,
    people: People,
    elsewhere: Collection[str] = (),
) -> Problem | None:
    """Return the problem if so many people can never confirm, or be told. A person with several accounts counts once.

    Those ``elsewhere`` count if those who answer are in the directory, too: nobody else is told apart from them.

    One of those named has to answer, if nobody else can.
    """
    surface = place.surface
    others_there = _different_people(elsewhere, responders, surface, people)
    if (
        place.user is not None
        and confirmers
        and not tellable(tuple(confirmers), place)
        and not others_there
    ):
        message = (
            "In a direct message, those who may confirm are asked in their own chats, but none is named besides its "
            f"person. Let the operator name people with an account on {surface} (routes.<name>.confirmations), not "
            "groups alone."
        )
        return Problem(pointer="/confirmations", code="too_many_confirmations", message=message)
    named, most = confirmers if confirmers or elsewhere else responders, MAX_CONFIRMATIONS
    if not any(map(is_collective, named)):
        requester = people.ids_on(rule.requester or "", surface)
        if rule.requester is not None and not requester:
            # Any other account there may be the requester's.
            named = [
                each for each in named if people.name_of(Person(surface=surface, user_id=each))
            ]
        able = _people_among(named, surface, people) - _people_among(requester, surface, people)
        if rule.requester is not None:
            of_requester = map(people.human, people.persons_named(rule.requester))
            others_there -= {*of_requester}
        able |= others_there
        are_others_open = any(map(is_collective, responders))
        others = are_others_open or _people_among(responders, surface, people) - able
        most = min(most, len(able) if others else len(able) - 1)
    if rule.due <= most:
        return None
    message = (
        f"{rule.due} people would have to confirm the answers, but at most {most} can here. Lower confirmations, "
        "or let the operator name more people (routes.<name>.confirmations)."
    )
    return Problem(pointer="/confirmations", code="too_many_confirmations", message=message)


def _different_people(
    accounts: Collection[str], responders: Collection[str], surface: str, people: People
) -> set[str]:
    """Return the people with these accounts, as ``surface:id``, if they are told apart from whoever may answer."""
    answering = [
        Person(surface=surface, user_id=each) for each in responders if not is_collective(each)
    ]
    if len(answering) == len(responders) and not any(map(people.name_of, answering)):
        return set()
    parts = (each.partition(":") for each in accounts)
    return {people.human(Person(surface=there, user_id=user_id)) for there, _, user_id in parts}


def _people_among(ids: Collection[str], surface: str, people: People) -> set[str]:
    """Return the people with these ids, each once, by one of their accounts."""
    return {people.human(Person(surface=surface, user_id=each)) for each in ids}
