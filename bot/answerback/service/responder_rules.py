"""Who may answer an ask and who may confirm its answers, by the call and by its route.

The operator decides that, not the model: a call may narrow a route's list and ask for more confirmations, never widen
the list or ask for fewer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from answerback.core.ask import ANYONE
from answerback.core.confirmation import MAX_CONFIRMATIONS, ConfirmationRule
from answerback.core.errors import Problem
from answerback.core.people import PERSON_PREFIX, People
from answerback.core.person import Person

DEFAULT_SURFACE: Final = "web"
_MAX_NAME_LENGTH: Final = 1_000

Name = Annotated[str, Field(min_length=1, max_length=_MAX_NAME_LENGTH)]
Responders = Annotated[tuple[Name, ...], Field(max_length=1_000)] | Literal["anyone"]


class ConfirmationTable(BaseModel):
    """How many other people have to confirm the answers, and who may; without a list, the responders."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    count: Annotated[int, Field(strict=True, ge=1, le=MAX_CONFIRMATIONS)] = 1
    confirmers: Annotated[tuple[Name, ...] | None, Field(alias="from", min_length=1)] = None


def _read_count(value: object) -> object:
    return value if isinstance(value, dict | ConfirmationTable) else {"count": value}


RouteConfirmations = Annotated[ConfirmationTable, BeforeValidator(_read_count)]
"""``confirmations = 1``, or ``{ count = 1, from = ["@S9LEADS"] }``."""


class Ceiling(NamedTuple):
    """Who may act at all on a route."""

    responders: tuple[str, ...] | Literal["anyone"] | None = None
    """None: whoever the call names."""
    from_call: bool = True
    """Whether a call may name responders."""


NO_CEILING: Final = Ceiling()


def plan_responders(
    from_call: tuple[str, ...] | Literal["anyone"] | None,
    route: Ceiling,
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
    if not route.from_call:
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
    """Return the responders as the surface knows them: ``web:alice`` is ``alice`` on the page, ``person:ann`` her ids.

    Platforms' ids are literal.
    """
    if responders == ANYONE:
        return (ANYONE,)
    if responders is None:
        return None
    prefix = f"{DEFAULT_SURFACE}:" if surface == DEFAULT_SURFACE else ""
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
    surface: str,
    people: People,
) -> Problem | None:
    """Return the problem if so many people can never confirm. Somebody with several accounts counts once."""
    most = _most_confirmations(rule, confirmers, responders, surface, people)
    if rule.due <= most:
        return None
    message = (
        f"{rule.due} people would have to confirm the answers, but at most {most} can here. Lower confirmations, "
        "or let the operator name more people (routes.<name>.confirmations)."
    )
    return Problem(pointer="/confirmations", code="too_many_confirmations", message=message)


def _most_confirmations(
    rule: ConfirmationRule,
    confirmers: Collection[str],
    responders: Collection[str],
    surface: str,
    people: People,
) -> int:
    """How many people could confirm at most: one of those named has to answer, if nobody else can."""
    named = confirmers or responders
    if _is_open(named):
        return MAX_CONFIRMATIONS
    requester = people.ids_on(rule.requester or "", surface)
    able = _people_among(named, surface, people) - _people_among(requester, surface, people)
    others = _is_open(responders) or _people_among(responders, surface, people) - able
    return min(MAX_CONFIRMATIONS, len(able) if others else len(able) - 1)


def _people_among(
    ids: Collection[str], surface: str, people: People
) -> set[tuple[str | None, str]]:
    """Return the people with these ids, each once: by their name in the directory or, without one, by their id."""
    accounts = ((each, people.name_of(Person(surface=surface, user_id=each))) for each in ids)
    return {(name, "" if name is not None else user_id) for user_id, name in accounts}


def _is_open(names: Collection[str]) -> bool:
    """Whether the names stand for people whose number is not known."""
    return any(name == ANYONE or name.startswith("@") for name in names)
