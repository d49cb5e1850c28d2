"""Being away and snoozing over the API: with a person's own key, or by whoever may speak for them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from aiohttp import web
from pydantic import Field

from answerback.api.inbox_and_search import PERSON, person_named
from answerback.api.operation import NOT_FOUND, json_response
from answerback.api.wire import Wire
from answerback.core.ask import Ask
from answerback.core.errors import ProblemError
from answerback.core.person import Person
from answerback.ports.operation import SURFACE_ONLY, ApiCall, ResponseSpec, delete, get, put
from answerback.ports.person_key import OPERATOR
from answerback.service.people_wire import PersonBody, Timestamp, iso, person_body
from answerback_away import texts
from answerback_away.absences import Said, parse_hours, parse_until
from answerback_away.away import Away
from answerback_away.snooze_commands import subject_of
from answerback_away.snoozes import Snoozed

_INVALID: Final = "Nothing was changed"
_FOR_WHOM: Final = (
    "A personal link's key is its person's. The operator's key and a front end say whom they speak for, as `person`. "
    "Never for agents. Where `away.enabled` is on."
)


class PersonQuery(Wire):
    """Whom it is about."""

    person: Annotated[
        str | None,
        Field(
            pattern=PERSON,
            description="The person, as `surface:id`. The holder of a personal link's key leaves it out.",
            examples=["slack:U012"],
        ),
    ] = None


class AbsenceBody(Wire):
    """Until when a person is away, and who stands in."""

    until: Timestamp
    stand_in: PersonBody | None


class AwayBody(Wire):
    """The absence and the hours of a person."""

    absence: AbsenceBody | None
    """None: they are here."""
    hours: str | None
    """When they are reminded and notified, Monday to Friday; null: at any time."""


class AwayChange(Wire):
    """An absence, hours, or both. Whatever is left out stays as it is."""

    until: Annotated[
        str | None,
        Field(description="How long (`4h`, `3d`, `2w`), or until when; with `stand_in`."),
    ] = None
    stand_in: Annotated[
        str | None, Field(description="A name in `people`, or an account as `surface:id`.")
    ] = None
    hours: Annotated[
        str | None,
        Field(description="Hours and a time zone, as `9-17 Europe/Berlin`; empty: at any time."),
    ] = None


class SnoozeChange(Wire):
    """Until when an ask is off the person's list."""

    until: Annotated[
        str,
        Field(description="How long (`30m`, `4h`, `3d`, `2w`), or until when (at most a year)."),
    ]


class SnoozeBody(Wire):
    """An ask that is off a person's list."""

    ask_id: str
    headline: str
    until: Timestamp


class SnoozeList(Wire):
    """The asks that a person has snoozed; whichever is back first comes first."""

    snoozes: tuple[SnoozeBody, ...]


def _running(call: ApiCall) -> Away:
    running = call.running(Away)
    if running is None:
        raise ProblemError(404, "Not found", "The operator has not switched away.enabled on.")
    return running


def _person(call: ApiCall, away: Away) -> Person:
    """Return whom the caller speaks for.

    Raises:
        ProblemError: 403 or 422.
    """
    named = call.query(PersonQuery).person
    person = None if named is None else person_named(named)
    if call.guest is not None:
        if person is None or away.people.is_same(call.guest, person):
            return call.guest
        raise ProblemError(403, "Another person", "With a personal link's key, leave out person.")
    if person is None:
        raise ProblemError(422, _INVALID, "Say who it is about: ?person=surface:id.")
    return person


def _refuse(detail: str) -> ProblemError:
    return ProblemError(422, _INVALID, detail.removeprefix(f"{_INVALID}. "))


def _away_body(said: Said, now: float) -> AwayBody:
    absence = said.absent(now)
    return AwayBody(
        absence=absence
        and AbsenceBody(until=iso(absence.until), stand_in=person_body(absence.stand_in)),
        hours=said.hours and said.hours.spec,
    )


async def _away_response(away: Away, person: Person) -> web.Response:
    said = await away.said_by(person)
    return json_response(_away_body(said, away.now()).model_dump())


async def read_away(call: ApiCall) -> web.Response:
    """``GET /v1/away``."""
    away = _running(call)
    return await _away_response(away, _person(call, away))


async def leave(call: ApiCall) -> web.Response:
    """``PUT /v1/away``."""
    away = _running(call)
    person = _person(call, away)
    wanted = await call.read_model(AwayChange, "Invalid absence")
    hours = await asyncio.to_thread(parse_hours, wanted.hours) if wanted.hours else None
    if wanted.hours and hours is None:
        raise _refuse(texts.BAD_HOURS)
    if wanted.until is not None or wanted.stand_in is not None:
        await _leave(away, person, wanted.until or "", wanted.stand_in or "")
    if wanted.hours is not None:
        await away.set_hours(person, hours)
    return await _away_response(away, person)


async def _leave(away: Away, person: Person, until: str, name: str) -> None:
    at, stand_in = parse_until(until, away.now()), away.find_person(name, person.surface)
    if at is None:
        raise _refuse(texts.BAD_TIME)
    if isinstance(stand_in, str):
        raise _refuse(texts.REFUSED[stand_in])
    if person.user_id == OPERATOR:
        raise _refuse(texts.OPERATOR_STAYS)
    problem = await away.leave(person, at, stand_in)
    if problem is not None:
        raise _refuse(texts.REFUSED[problem])


async def come_back(call: ApiCall) -> web.Response:
    """``DELETE /v1/away``."""
    away = _running(call)
    person = _person(call, away)
    await away.return_(person)
    return await _away_response(away, person)


async def list_snoozes(call: ApiCall) -> web.Response:
    """``GET /v1/snoozes``."""
    away = _running(call)
    snoozed = await away.snoozes.list_of(_person(call, away))
    found = SnoozeList(snoozes=tuple(map(_snooze_body, snoozed)))
    return json_response(found.model_dump())


async def snooze(call: ApiCall) -> web.Response:
    """``PUT /v1/asks/{id}/snooze``."""
    away = _running(call)
    person = _person(call, away)
    wanted = await call.read_model(SnoozeChange, "Invalid snooze")
    until = parse_until(wanted.until, away.now())
    if until is None:
        raise _refuse(texts.BAD_SNOOZE)
    ask = await _waiting(call, away, person)
    await away.snoozes.snooze(person, ask, until)
    return json_response(_snooze_body(Snoozed(ask, until)).model_dump())


async def show_again(call: ApiCall) -> web.Response:
    """``DELETE /v1/asks/{id}/snooze``."""
    away = _running(call)
    person = _person(call, away)
    await away.snoozes.show_again(person, await _waiting(call, away, person))
    return await list_snoozes(call)


async def _waiting(call: ApiCall, away: Away, person: Person) -> Ask:
    ask_id = call.request.match_info["id"]
    ask = await away.snoozes.find(person, ask_id)
    if ask is None or ask.id != ask_id:
        raise ProblemError(404, "Not found", f"{ask_id[:100]} does not wait for this person.")
    return ask


def _snooze_body(snoozed: Snoozed) -> SnoozeBody:
    ask, until = snoozed
    return SnoozeBody(ask_id=ask.id, headline=subject_of(ask), until=iso(until))


_UNCHANGED: Final = ResponseSpec(
    "It cannot be so, or the caller does not say for whom: nothing was changed."
)
_OTHER: Final = ResponseSpec("The key is another person's, or the caller is an agent.")
_REFUSALS: Final = {403: _OTHER, 404: NOT_FOUND, 422: _UNCHANGED}

OPERATIONS: Final = (
    get(
        "away",
        "/v1/away",
        "Get until when a person is away, and when they are told of what waits",
        read_away,
        {200: ResponseSpec("What the person has said.", AwayBody), **_REFUSALS},
        roles=SURFACE_ONLY,
        query=PersonQuery,
        description=_FOR_WHOM,
        after="search",
    ),
    put(
        "leave",
        "/v1/away",
        "Say until when a person is away and who stands in, or their hours",
        leave,
        {200: ResponseSpec("What holds now.", AwayBody), **_REFUSALS},
        roles=SURFACE_ONLY,
        query=PersonQuery,
        body=AwayChange,
        example={"until": "3d", "stand_in": "slack:U099"},
        description=_FOR_WHOM,
        after="away",
    ),
    delete(
        "come_back",
        "/v1/away",
        "Say that a person is back",
        come_back,
        {200: ResponseSpec("What holds now; their hours stay.", AwayBody), **_REFUSALS},
        roles=SURFACE_ONLY,
        query=PersonQuery,
        description=_FOR_WHOM,
        after="leave",
    ),
    get(
        "snoozes",
        "/v1/snoozes",
        "List what a person has snoozed",
        list_snoozes,
        {200: ResponseSpec("What is off their list and waits for them.", SnoozeList), **_REFUSALS},
        roles=SURFACE_ONLY,
        query=PersonQuery,
        description=_FOR_WHOM,
        after="come_back",
    ),
    put(
        "snooze",
        "/v1/asks/{id}/snooze",
        "Take an ask off a person's own list until later",
        snooze,
        {200: ResponseSpec("Until when.", SnoozeBody), **_REFUSALS},
        roles=SURFACE_ONLY,
        query=PersonQuery,
        body=SnoozeChange,
        example={"until": "4h"},
        description=_FOR_WHOM,
        after="snoozes",
    ),
    delete(
        "show_again",
        "/v1/asks/{id}/snooze",
        "Put a snoozed ask back on a person's list",
        show_again,
        {200: ResponseSpec("What they still have snoozed.", SnoozeList), **_REFUSALS},
        roles=SURFACE_ONLY,
        query=PersonQuery,
        description=_FOR_WHOM,
        after="snooze",
    ),
)
