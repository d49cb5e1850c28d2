"""Where an ask of a submission goes, who may answer it, and for how long: by the call and its route. Pure.

Who may answer the operator decides, not the model: a call may narrow a route's list and ask for more confirmations,
never widen the list or ask for fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from answerback.core.ask import ANYONE, DEFAULT_ASKER, Destination, Escalation
from answerback.core.confirmation import ConfirmationRule
from answerback.core.errors import ConfigError, Problem
from answerback.core.form import ContextFormat
from answerback.core.grants import GrantRule
from answerback.core.headline import file_name
from answerback.core.origin import Origin
from answerback.core.people import People
from answerback.core.urgency import PLACES, RouteMark, Urgency
from answerback.service.submission_confirmers import plan_confirmation, plan_confirmers
from answerback.service.submission_request import (
    DEFAULT_SURFACE,
    MAX_PLACE,
    Agent,
    Route,
    Routes,
    Submission,
    SubmittedOrigin,
    To,
    normalize_responders,
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
    mark: RouteMark | None
    urgency: Urgency
    confirmation: ConfirmationRule | None
    confirmers: tuple[str, ...]
    """Who may confirm; empty, and nobody elsewhere: the responders."""
    confirmers_elsewhere: tuple[str, ...]
    allowed_recipients: tuple[str, ...] | None
    """To whom responders may hand it over; None: to nobody."""
    grants: GrantRule | None
    edit: bool
    """True if people may change a call before they allow it."""
    other_accounts: tuple[Destination, ...] = ()
    """Where else to ask the agent's owner, in this order, if they cannot be reached there."""
    is_to_owner: bool = False

    @property
    def is_open_to_anyone(self) -> bool:
        """True if anyone may answer, at once or after an escalation."""
        later = self.escalation.responders if self.escalation else ()
        return ANYONE in (self.responders or ()) or ANYONE in later


def plan(
    submission: Submission,
    routes: Routes,
    surfaces: frozenset[str],
    agent: Agent | None,
    hook: str | None = None,
    is_up: Callable[[str], bool] = lambda _surface: False,
    account: Destination | None = None,
) -> Plan | tuple[Problem, ...]:
    """Decide where and for how long to ask, or return the problems of the submission.

    Args:
        surfaces: the names of all existing surfaces, configured or not.
        agent: who submits; None if no tokens are configured.
        hook: the hook that puts the ask.
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
    table = route.confirmations
    confirmers = plan_confirmers(table, surface, people, is_up) if table else None
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
        origin=read_origin(submission.origin, submission.name, submission.metadata, hook, owner),
        route=str(to) if named else None,
        mark=route.mark,
        urgency=limit_urgency(submission.urgency, route),
        confirmation=plan_confirmation(submission.confirmations, table, requester)
        if submission.confirmations or table
        else None,
        confirmers=confirmers[0] if confirmers else (),
        confirmers_elsewhere=confirmers[1] if confirmers else (),
        allowed_recipients=normalize_responders(route.responders, surface, people),
        grants=route.grants,
        edit=route.edit,
        other_accounts=other_accounts,
        is_to_owner=place == OWNER,
    )


def limit_urgency(asked: Urgency | None, route: Route) -> Urgency:
    """Return the urgency that a call asks for, or the route's own; at most the highest that the route allows."""
    return max(asked or route.urgency, route.max_urgency, key=PLACES.__getitem__)


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
    table = route.confirmations
    confirmers = plan_confirmers(table, surface, people, is_up) if table else None
    here, elsewhere = confirmers or ((), ())
    return Escalation(
        after=rule.after,
        to=to,
        responders=normalize_responders(responders, surface, people) or (),
        confirmers=here,
        confirmers_elsewhere=elsewhere,
    )


# --- who may answer -------------------------------------------------------------------------------


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
    limit = normalize_responders(route.responders, surface, people)
    requested = normalize_responders(from_call, surface, people)
    if from_call is None:
        return limit if limit != () else _nobody_there(surface)
    if not route.responders_from_call:
        return _forbidden("Who may answer is set by this route. Leave responders out.")
    if not from_call:
        code = "responders_forbidden" if limit else "empty"
        message = '"responders" is empty. Name at least one, or leave it out.'
        return Problem(pointer="/responders", code=code, message=message)
    if not requested:
        return _nobody_there(surface)
    if limit is None or ANYONE in limit:
        return requested
    allowed = ", ".join(f'"{name}"' for name in limit)
    advice = f"The route allows {allowed}: name some of these, or leave responders out."
    if from_call == ANYONE:
        return _forbidden(f'"anyone" is more than this route allows. {advice}')
    not_allowed = ", ".join(f'"{name[:100]}"' for name in requested if name not in limit)
    return _forbidden(f"{not_allowed} may not answer here. {advice}") if not_allowed else requested


def _nobody_there(surface: str) -> Problem:
    message = f"None of these people has an account on {surface}."
    return Problem(pointer="/responders", code="unknown_value", message=message)


def _forbidden(message: str) -> Problem:
    return Problem(pointer="/responders", code="responders_forbidden", message=message)


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
    hook: str | None,
    owner: str | None,
) -> Origin:
    """Return the origin of an ask: its project or the last part of its folder, and a hook's subagent beside the
    host."""
    named = metadata.get("project")
    from_folder = file_name(sent.folder) if sent.folder else None
    project = sent.project or from_folder or (named if isinstance(named, str) else None)
    host = _TITLES.get(name if hook is None else hook) or _program(metadata)
    subagent = metadata.get("subagent") if hook else None
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
