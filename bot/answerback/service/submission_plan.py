"""Where an ask of a submission goes, who may answer and confirm it, and for how long: by the call and its route. Pure.

Who may answer the operator decides, not the model: a call may narrow a route's list and ask for more confirmations,
never widen the list or ask for fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from answerback.core.ask import ANYONE, DEFAULT_ASKER, Destination, Escalation
from answerback.core.confirmation import MAX_CONFIRMATIONS, ConfirmationRule
from answerback.core.confirmer_copies import tellable
from answerback.core.errors import ConfigError, Problem
from answerback.core.form import ContextFormat
from answerback.core.grants import GrantRule
from answerback.core.handing_over import is_collective
from answerback.core.headline import file_name
from answerback.core.origin import Origin
from answerback.core.people import PERSON_PREFIX, People
from answerback.core.person import Person
from answerback.service.submission_request import (
    DEFAULT_SURFACE,
    MAX_PLACE,
    Agent,
    ConfirmationTable,
    Route,
    Routes,
    Submission,
    SubmittedOrigin,
    To,
)
from answerback_base.hosts import load_parts
from answerback_base.visible_text import one_line

OWNER: Final = "owner"
"""The destination that stands for the person whose agent asks."""
_NO_ROUTE: Final = Route(to=DEFAULT_SURFACE)
"""The rules for a place that the call names itself."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Where and for how long to ask, and from where, by the submission, its route and the defaults."""

    destination: Destination
    responders: tuple[str, ...] | None
    remind_after: tuple[float, ...]
    push_after: float
    expires_in: float | None
    on_expiry: Literal["cancel", "defaults"]
    context_format: ContextFormat
    mention: bool
    escalation: Escalation | None
    origin: Origin
    route: str | None
    confirmation: ConfirmationRule | None
    confirmers: tuple[str, ...]
    """Who may confirm; empty, and nobody elsewhere: the responders."""
    confirmers_elsewhere: tuple[str, ...]
    ceiling: tuple[str, ...] | None
    """To whom responders may hand it over; None: to nobody."""
    grants: GrantRule | None
    other_accounts: tuple[Destination, ...] = ()
    """Where else to ask the agent's owner, in this order, if they cannot be reached there."""
    is_to_owner: bool = False


def plan(
    submission: Submission,
    routes: Routes,
    surfaces: frozenset[str],
    agent: Agent | None,
    carrier: str | None = None,
    is_up: Callable[[str], bool] = lambda _surface: False,
    account: Destination | None = None,
) -> Plan | tuple[Problem, ...]:
    """Decide where and for how long to ask, or return the problems of the submission.

    Args:
        surfaces: the names of all existing surfaces, configured or not.
        agent: who submits; None if no tokens are configured.
        carrier: the hook that puts the ask.
        is_up: returns whether a surface can reach people now.
        account: the account at which to ask the agent's owner; None: the first that can be reached.
    """
    to = submission.to
    allowed = agent.routes if agent else ()
    if to is None:
        to = routes.default if not allowed or routes.default in allowed else allowed[0]
    if allowed and (not isinstance(to, str) or to not in allowed):
        names = ", ".join(f'"{name}"' for name in allowed)
        return (
            _unknown_route(
                f'This token may only use the routes {names}; set "to" to one of them or leave it out.'
            ),
        )
    named = routes.by_name.get(to) if isinstance(to, str) else None
    route, place = named or _NO_ROUTE, named.to if named else to
    owner = agent.owner if agent else None
    other_accounts: tuple[Destination, ...] = ()
    if place != OWNER:
        destination = _named_destination(place, routes, surfaces)
    elif account is not None:
        destination = account
    else:
        accounts = _accounts_of(owner, routes.people, is_up)
        if isinstance(accounts, Problem):
            return (accounts,)
        destination, other_accounts = accounts[0], accounts[1:]
    if isinstance(destination, Problem):
        return (destination,)
    surface, people = destination.surface, routes.people
    responders = plan_responders(submission.responders, route, surface, people)
    if isinstance(responders, Problem):
        return (responders,)
    confirmers = plan_confirmers(route.confirmations, surface, people, is_up)
    if confirmers == ((), ()):
        message = f"None of those who may confirm here has an account on {surface}, or on another surface that is up."
        return (Problem(pointer="/confirmations", code="too_many_confirmations", message=message),)
    requester = owner if route.requester is None else None
    remind_after = submission.remind_after
    return Plan(
        destination=destination,
        responders=responders,
        remind_after=tuple(sorted(route.remind_after if remind_after is None else remind_after)),
        push_after=route.push_after,
        expires_in=submission.expires_in or route.expires_in,
        on_expiry=submission.on_expiry or route.on_expiry,
        context_format=submission.context_format or route.context_format,
        mention=route.mention,
        escalation=_escalation(submission, route, people, surfaces, destination, is_up),
        origin=read_origin(submission.origin, submission.name, submission.metadata, carrier, owner),
        route=str(to) if named else None,
        confirmation=plan_confirmation(submission.confirmations, route.confirmations, requester),
        confirmers=confirmers[0] if confirmers else (),
        confirmers_elsewhere=confirmers[1] if confirmers else (),
        ceiling=normalize_responders(route.responders, surface, people),
        grants=route.grants,
        other_accounts=other_accounts,
        is_to_owner=place == OWNER,
    )


def _named_destination(
    to: str | To, routes: Routes, surfaces: frozenset[str]
) -> Destination | Problem:
    destination = parse_destination(to, surfaces)
    if isinstance(destination, Destination):
        return destination
    known = ", ".join(f'"{name}"' for name in routes.by_name) or "none"
    return _unknown_route(f"{destination} Configured routes: {known}.")


def _accounts_of(
    owner: str | None, people: People, is_up: Callable[[str], bool]
) -> tuple[Destination, ...] | Problem:
    """Return the direct messages to an agent's owner, first those by accounts whose surfaces are up."""
    if owner is None:
        message = "This agent has no owner (agents.<name>.owner), so nobody can be asked by that."
        return Problem(pointer="/to", code="no_owner", message=message)
    accounts = people.accounts_named(owner)
    if not any(is_up(surface) for surface, _ in accounts):
        message = f"{owner} can be reached on none of the surfaces of their accounts now."
        return Problem(pointer="/to", code="no_owner", message=message)
    in_order = sorted(accounts, key=lambda account: not is_up(account[0]))
    return tuple(Destination(surface=surface, user=user_id) for surface, user_id in in_order)


def parse_destination(to: str | To, surfaces: frozenset[str]) -> Destination | str:
    """Parse the destination that ``to`` names, or return a sentence that says why it names none."""
    if isinstance(to, To):
        if to.surface not in surfaces:
            return _no_such_surface(to.surface, surfaces)
        return Destination(**to.model_dump())
    surface, colon, place = to.partition(":")
    if surface not in surfaces:
        return _no_such_surface(to, surfaces)
    if colon and not place:
        return f'"{to}" names no channel after the colon.'
    if place.startswith("@"):
        return (
            Destination(surface=surface, user=place[1:]) if place[1:] else f'"{to}" names no user.'
        )
    channel, slash, thread = place.partition("/")
    if slash and not (channel and thread):
        return f'"{to}" must be surface:channel/thread.'
    return Destination(surface=surface, channel=channel or None, thread=thread or None)


def _no_such_surface(name: str, surfaces: frozenset[str]) -> str:
    known = ", ".join(sorted(surfaces))
    return f'"{name[:100]}" is neither a route nor a destination such as "web" or "surface:channel"; surfaces: {known}.'


def _unknown_route(message: str) -> Problem:
    return Problem(pointer="/to", code="unknown_route", message=message)


def _escalation(
    submission: Submission,
    route: Route,
    people: People,
    surfaces: frozenset[str],
    first: Destination,
    is_up: Callable[[str], bool],
) -> Escalation | None:
    if (rule := route.escalate) is None:
        return None
    to = None if rule.to is None else parse_destination(rule.to, surfaces)
    # Routes are checked when the configuration is read, so an invalid destination here is a broken promise.
    if isinstance(to, str):
        raise ConfigError(to)
    surface = (to or first).surface
    responders: tuple[str, ...] | Literal["anyone"] | None = rule.responders
    if not responders and to is not None and to.user is None and first.user is not None:
        # In a direct message only its person may act; in a shared place, whoever is listed may.
        responders = submission.responders or route.responders
    confirmers = plan_confirmers(route.confirmations, surface, people, is_up) or ((), ())
    return Escalation(
        after=rule.after,
        to=to,
        responders=normalize_responders(responders, surface, people) or (),
        confirmers=confirmers[0],
        confirmers_elsewhere=confirmers[1],
    )


def plan_confirmers(
    table: ConfirmationTable | None,
    surface: str,
    people: People,
    is_up: Callable[[str], bool],
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the ids of those who may confirm on a surface, and the accounts, as ``surface:id``, of those who may
    confirm and have none there; None: whoever may answer.

    Who they are is known from the directory alone: they are told at the first of their accounts whose surface is up.
    """
    listed = table.confirmers if table else None
    here = normalize_responders(listed, surface, people)
    if listed is None or here is None:
        return None
    elsewhere: dict[str, None] = {}
    for name in listed:
        person = name.removeprefix(PERSON_PREFIX)
        if person == name:
            there, _, user_id = name.partition(":")
            known = people.name_of(Person(surface=there, user_id=user_id)) if user_id else None
            if known is None or there == surface:
                continue
            person = known
        if not people.ids_on(person, surface):
            accounts = people.accounts_named(person)
            reached = (f"{each}:{user_id}" for each, user_id in accounts if is_up(each))
            elsewhere |= dict.fromkeys([*reached][:1])
    return here, tuple(elsewhere)


# --- who may answer and confirm ------------------------------------------------------------------


def plan_responders(
    from_call: tuple[str, ...] | Literal["anyone"] | None,
    route: Route,
    surface: str,
    people: People,
) -> tuple[str, ...] | Problem | None:
    """Decide who may act, according to the call and its route.

    A route's list is an upper limit. Names are compared as written. Whether a person is in a listed group is not known
    here, so a call that names such a person is refused.
    """
    ceiling = normalize_responders(route.responders, surface, people)
    requested = normalize_responders(from_call, surface, people)
    if from_call is None:
        return ceiling if ceiling != () else _nobody_there(surface)
    if not route.responders_from_call:
        return _forbidden("Who may answer is set by this route. Leave responders out.")
    if not from_call:
        code = "responders_forbidden" if ceiling else "empty"
        message = '"responders" is empty. Name at least one, or leave it out.'
        return Problem(pointer="/responders", code=code, message=message)
    if not requested:
        return _nobody_there(surface)
    if ceiling is None or ANYONE in ceiling:
        return requested
    allowed = ", ".join(f'"{name}"' for name in ceiling)
    advice = f"The route allows {allowed}: name some of these, or leave responders out."
    if from_call == ANYONE:
        return _forbidden(f'"anyone" is more than this route allows. {advice}')
    not_allowed = ", ".join(f'"{name[:100]}"' for name in requested if name not in ceiling)
    return _forbidden(f"{not_allowed} may not answer here. {advice}") if not_allowed else requested


def _nobody_there(surface: str) -> Problem:
    message = f"None of these people has an account on {surface}."
    return Problem(pointer="/responders", code="unknown_value", message=message)


def _forbidden(message: str) -> Problem:
    return Problem(pointer="/responders", code="responders_forbidden", message=message)


def normalize_responders(
    responders: tuple[str, ...] | Literal["anyone"] | None, surface: str, people: People
) -> tuple[str, ...] | None:
    """Return the responders as the surface knows them: ``web:alice`` is ``alice`` there, ``person:ann`` her ids."""
    if responders == ANYONE:
        return (ANYONE,)
    if responders is None:
        return None
    prefix = f"{surface}:"
    names: dict[str, None] = {}
    for name in responders:
        person = name.removeprefix(PERSON_PREFIX)
        is_person = person != name
        ids = people.ids_on(person, surface) if is_person else (name.removeprefix(prefix),)
        names.update(dict.fromkeys(ids))
    return tuple(names)


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


# --- from where an agent asks --------------------------------------------------------------------


_HOSTS: Final = {name: part.ABOUT for name, part in load_parts("about").items()}
_TITLES: Final = {
    **{name: each.title for name, each in _HOSTS.items()},
    **{call: each.title for each in _HOSTS.values() for call in each.requests},
}
"""The names of hosts, by their hook, and by the names of the calls that only they make."""
_PROGRAMS: Final = {program: each.title for each in _HOSTS.values() for program in each.programs}
"""The names of hosts, by what their programs call themselves over ACP, and by their commands."""


def read_origin(
    sent: SubmittedOrigin,
    name: str,
    metadata: Mapping[str, JsonValue],
    carrier: str | None,
    owner: str | None,
) -> Origin:
    """From where an agent asks: its project or the last part of its folder, and a hook's subagent beside the host."""
    named = metadata.get("project")
    from_folder = file_name(sent.folder) if sent.folder else None
    project = sent.project or from_folder or (named if isinstance(named, str) else None)
    host = _TITLES.get(name if carrier is None else carrier) or _program(metadata)
    subagent = metadata.get("subagent") if carrier else None
    if isinstance(subagent, str) and subagent.strip():
        host = f"{host or DEFAULT_ASKER} ({subagent})"
    return Origin(
        host=host,
        project=_place(project),
        folder=_place(sent.folder),
        session=_place(sent.session),
        owner=owner,
    )


def _program(metadata: Mapping[str, JsonValue]) -> str | None:
    """Return the name of the agent's program, if it is one that is known: no call can make up another."""
    named = metadata.get("bridge", metadata.get("host"))
    return _PROGRAMS.get(file_name(named).casefold()) if isinstance(named, str) else None


def _place(sent: str | None) -> str | None:
    """Return a part of an origin as people read it."""
    return one_line(sent)[:MAX_PLACE] or None if sent else None
