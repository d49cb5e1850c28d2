"""The body of a submission: the tool call, where to ask, who may answer and for how long; read with all its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from answerback.core import strict_json
from answerback.core.ask import Destination, Escalation
from answerback.core.confirmation import ConfirmationRule
from answerback.core.errors import ConfigError, InvalidCallError, Problem
from answerback.core.form import ContextFormat
from answerback.core.grants import GrantRule
from answerback.core.origin import Origin
from answerback.core.people import NOBODY_KNOWN, People
from answerback.dialects.call_reader import did_you_mean
from answerback.ports.store_values import NO_LIMITS, AskLimits
from answerback.service.json_bodies import find_size_problem, problems_of
from answerback.service.responder_rules import (
    DEFAULT_SURFACE,
    NO_CEILING,
    Ceiling,
    Name,
    Responders,
    RouteConfirmations,
    normalize_responders,
    plan_confirmation,
    plan_responders,
)
from answerback.service.submitted_origin import SubmittedOrigin, read_origin

_MAX_SECONDS: Final = 366 * 86_400
OWNER: Final = "owner"
"""The destination that stands for the person whose agent asks."""


def _require_encodable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not strict_json.is_all_encodable(value):
        raise ValueError("contains half a surrogate pair, which is not valid text")
    return value


_Seconds = Annotated[float, Field(strict=True, gt=0, le=_MAX_SECONDS, allow_inf_nan=False)]


class _StrictModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Callback(_StrictModel):
    """Where to send the webhook with the outcome."""

    url: Annotated[str, Field(min_length=1, max_length=2_000)]


class To(_StrictModel):
    """A destination, spelled out."""

    surface: Name
    channel: Name | None = None
    thread: Name | None = None
    user: Name | None = None


class Submission(_StrictModel):
    """The body of ``POST /v1/asks``."""

    name: Annotated[Name, Field(description="The tool's name, as the model called it.")]
    arguments: Annotated[
        dict[str, JsonValue], Field(description="The tool call's arguments, in any dialect.")
    ]
    dialect: Annotated[
        Name | None, Field(description="Overrides the dialect that name and shape choose.")
    ] = None
    to: Annotated[
        Name | To | None,
        Field(
            description="A route, surface:channel[/thread], surface:@user, web, owner (the person whose agent it is), "
            "or a place as an object."
        ),
    ] = None
    responders: Annotated[
        Responders | None,
        Field(description='User ids, "@id" for a group or role, or "anyone": who may act.'),
    ] = None
    callback: Callback | None = None
    conversation: Name | None = None
    turn: Name | None = None
    tool_call_id: Name | None = None
    expires_in: Annotated[_Seconds | None, Field(description="Seconds until the ask expires.")] = (
        None
    )
    on_expiry: Literal["cancel", "defaults"] | None = None
    remind_after: Annotated[
        tuple[_Seconds, ...] | None,
        Field(max_length=20, description="Seconds until each reminder."),
    ] = None
    context_format: Annotated[
        ContextFormat | None,
        Field(description="How contexts are shown: as Markdown (the default), or as plain text."),
    ] = None
    mode: Annotated[
        Literal["wait", "async"] | None,
        Field(
            description="async: nothing waits for the answer. `interim_result` explains this to the model, and the "
            "answer arrives late."
        ),
    ] = None
    accepts: Annotated[
        tuple[Literal["clarify"], ...],
        Field(
            max_length=1,
            description="clarify: people may ask the agent to explain; it receives their question as `clarify`.",
        ),
    ] = ()
    confirmations: Annotated[
        int | None,
        Field(
            strict=True,
            ge=1,
            description="How many other people have to confirm the answers, if that is more than the route asks for.",
        ),
    ] = None
    join: Annotated[
        Name | None,
        Field(
            description="A name for the caller. The same call again joins its ask if nobody waits for that, or if its "
            "answer was not delivered: in the same conversation or, without one, by this caller within ten minutes."
        ),
    ] = None
    leased: Annotated[bool, Field(description="Whether an approval ends with its caller.")] = False
    origin: Annotated[
        SubmittedOrigin, Field(description="The agent's project, its folder and its session.")
    ] = SubmittedOrigin()
    metadata: Annotated[dict[str, JsonValue], AfterValidator(_require_encodable)] = {}


class RouteEscalation(_StrictModel):
    """``[routes.<name>.escalate]``: what happens if nobody has answered after ``after`` seconds."""

    after: _Seconds
    to: str | To | None = None
    responders: Responders = ()


class Route(_StrictModel):
    """``[routes.<name>]``: a named destination with its own rules."""

    to: str | To
    responders: Annotated[tuple[Name, ...], Field(min_length=1)] | Literal["anyone"] | None = None
    """Who may act there; a call may name some of them, but nobody else."""
    responders_from_call: bool = True
    """Whether a call may name the responders."""
    mention: bool = False
    """Whether the first post notifies the responders."""
    remind_after: tuple[_Seconds, ...] = ()
    push_after: _Seconds = 10.0
    expires_in: _Seconds | None = None
    on_expiry: Literal["cancel", "defaults"] = "cancel"
    context_format: ContextFormat = "markdown"
    escalate: RouteEscalation | None = None
    confirmations: RouteConfirmations | None = None
    """How many other people have to confirm the answers, and who may."""
    requester: Literal["may_confirm"] | None = None
    """Whether the person on whose behalf the agent asks may confirm."""
    grants: GrantRule | None = None


@dataclass(slots=True)
class Routes:
    """All routes, and the default (a route's name or a destination) for asks that name none. They can be reloaded."""

    default: str = DEFAULT_SURFACE
    by_name: Mapping[str, Route] = field(default_factory=dict)
    people: People = NOBODY_KNOWN


NO_ROUTES: Final = Routes()


@dataclass(frozen=True, slots=True)
class Agent:
    """A caller of the API that submits or acts: a token's name, what it may do and where it may ask."""

    name: str
    role: Literal["agent", "surface"] = "agent"
    routes: tuple[str, ...] = ()
    """The names of the routes that it may use; empty: every route and destination."""
    label: str | None = None
    """The name of the asker that people see; None: the token's name."""
    owner: str | None = None
    """The person in the directory on whose behalf it asks."""

    limits: AskLimits = NO_LIMITS
    """How much it may ask."""

    @property
    def display_name(self) -> str:
        """The name of the asker that people see."""
        return self.label or self.name


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
    """Who may confirm; empty: the responders."""
    ceiling: tuple[str, ...] | None
    """To whom responders may hand it over; None: to nobody."""
    grants: GrantRule | None


def read_submission(body: JsonValue) -> Submission:
    """Validate a JSON body as a submission.

    Raises:
        InvalidCallError: with every error in the body.
    """
    if (too_many := find_size_problem(body, free=("arguments", "metadata"))) is not None:
        raise InvalidCallError(_tool_name(body), [too_many])
    try:
        return Submission.model_validate(body)
    except ValidationError as error:
        belongs = (
            '; the arguments of the tool call belong in "arguments"'  # what is unknown often does
        )
        fields = Submission.model_fields
        problems = problems_of(error, lambda name: did_you_mean(name, fields) or belongs)
        raise InvalidCallError(_tool_name(body), problems) from None


def _tool_name(body: JsonValue) -> str:
    name = body.get("name") if isinstance(body, dict) else None
    return name[:100] if isinstance(name, str) and strict_json.is_encodable(name) else "ask"


def plan(
    submission: Submission,
    routes: Routes,
    surfaces: frozenset[str],
    agent: Agent | None,
    carrier: str | None = None,
    is_up: Callable[[str], bool] = lambda _surface: False,
) -> Plan | tuple[Problem, ...]:
    """Decide where and for how long to ask, or return the problems of the submission.

    Args:
        surfaces: the names of all existing surfaces, configured or not.
        agent: who submits; None if no tokens are configured.
        carrier: the hook that puts the ask.
        is_up: returns whether a surface can reach people now.
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
    route = routes.by_name.get(to) if isinstance(to, str) else None
    place = route.to if route else to
    owner = agent.owner if agent else None
    if place == OWNER:
        destination = _account_of(owner, routes.people, is_up)
    else:
        destination = _named_destination(place, routes, surfaces)
    if isinstance(destination, Problem):
        return (destination,)
    surface = destination.surface
    escalation = _escalation(route, routes.people, surfaces, destination)
    remind_after = _sorted(submission.remind_after, route.remind_after if route else ())
    ceiling = Ceiling(route.responders, route.responders_from_call) if route else NO_CEILING
    responders = plan_responders(submission.responders, ceiling, surface, routes.people)
    if isinstance(responders, Problem):
        return (responders,)
    table = route.confirmations if route else None
    confirmers = normalize_responders(table.confirmers if table else None, surface, routes.people)
    if confirmers == ():
        message = f"None of those who may confirm here has an account on {surface}."
        return (Problem(pointer="/confirmations", code="too_many_confirmations", message=message),)
    requester = owner if route is None or route.requester is None else None
    confirmation = plan_confirmation(submission.confirmations, table, requester)
    return Plan(
        destination=destination,
        responders=responders,
        remind_after=remind_after,
        push_after=route.push_after if route else 10.0,
        expires_in=submission.expires_in or (route.expires_in if route else None),
        on_expiry=submission.on_expiry or (route.on_expiry if route else "cancel"),
        context_format=submission.context_format or (route.context_format if route else "markdown"),
        mention=route is not None and route.mention,
        escalation=escalation,
        origin=read_origin(submission.origin, submission.name, submission.metadata, carrier, owner),
        route=str(to) if route else None,
        confirmation=confirmation,
        confirmers=confirmers or (),
        ceiling=normalize_responders(ceiling.responders, surface, routes.people),
        grants=route.grants if route else None,
    )


def _named_destination(
    to: str | To, routes: Routes, surfaces: frozenset[str]
) -> Destination | Problem:
    destination = parse_destination(to, surfaces)
    if isinstance(destination, Destination):
        return destination
    known = ", ".join(f'"{name}"' for name in routes.by_name) or "none"
    return _unknown_route(f"{destination} Configured routes: {known}.")


def _account_of(
    owner: str | None, people: People, is_up: Callable[[str], bool]
) -> Destination | Problem:
    """Return a direct message to an agent's owner, by the first of their accounts whose surface is up."""
    if owner is None:
        message = "This agent has no owner (agents.<name>.owner), so nobody can be asked by that."
        return Problem(pointer="/to", code="no_owner", message=message)
    for surface, user_id in people.accounts_named(owner):
        if is_up(surface):
            return Destination(surface=surface, user=user_id)
    message = f"{owner} can be reached on none of the surfaces of their accounts now."
    return Problem(pointer="/to", code="no_owner", message=message)


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


def _sorted(
    from_call: tuple[float, ...] | None, from_route: tuple[float, ...]
) -> tuple[float, ...]:
    return tuple(sorted(from_route if from_call is None else from_call))


def _escalation(
    route: Route | None, people: People, surfaces: frozenset[str], origin: Destination
) -> Escalation | None:
    if route is None or route.escalate is None:
        return None
    to = None if route.escalate.to is None else parse_destination(route.escalate.to, surfaces)
    # Routes are checked when the configuration is read, so an invalid destination here is a broken promise.
    if isinstance(to, str):
        raise ConfigError(to)
    surface = (to or origin).surface
    return Escalation(
        after=route.escalate.after,
        to=to,
        responders=normalize_responders(route.escalate.responders, surface, people) or (),
        confirmers=normalize_responders(
            route.confirmations.confirmers if route.confirmations else None, surface, people
        )
        or (),
    )
