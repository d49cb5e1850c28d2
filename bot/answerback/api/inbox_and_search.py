"""One person's inbox across all agents, and the search over questions and answers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Final

from aiohttp import web
from pydantic import BeforeValidator, Field, JsonValue

from answerback.api.operation import Call, checked_cursor, page_response
from answerback.api.wire import Wire
from answerback.core.ask import Ask, Status
from answerback.core.errors import ProblemError
from answerback.core.people import People
from answerback.core.walker import Person
from answerback.ports.search import Search, project_word, split_words
from answerback.ports.store_values import Page
from answerback.ports.surface import Actor

PERSON: Final = r"^[^:]{1,64}:.{1,128}$"


def _check_time_format(value: object) -> object:
    """Accept only times written as dates; pydantic would accept numbers too."""
    if isinstance(value, str) and not re.match(r"\d{4}-\d\d-\d\d", value):
        raise ValueError("Write a time as 2026-11-22T16:49:42Z, or a date as 2026-11-22.")
    return value


Time = Annotated[datetime, BeforeValidator(_check_time_format)]


class InboxQuery(Wire):
    """Whose inbox, and which page of it."""

    responder: str = Field(
        pattern=PERSON, description="The person, as `surface:id`.", examples=["chat:U012"]
    )
    after: str | None = Field(None, description="The `next` of the page before.")
    limit: Annotated[int, Field(ge=1, le=200, description="Asks on a page.")] = 50


class SearchQuery(Wire):
    """The criteria of a search, and which page of the results to return."""

    q: Annotated[
        str | None,
        Field(
            max_length=500,
            description="Words, or beginnings of words, in the questions or answers; an ask must contain all of them.",
            examples=["migration prod"],
        ),
    ] = None
    status: Status | None = Field(None, description="Only asks with this status.")
    agent: str | None = Field(None, description="Only asks by this agent.")
    project: str | None = Field(
        None, max_length=100, description="Only asks from this project (`origin.project`)."
    )
    answered_by: Annotated[
        str | None,
        Field(
            pattern=PERSON,
            description="Only ended asks that this person answered, as `surface:id`.",
            examples=["chat:U012"],
        ),
    ] = None
    since: Time | None = Field(
        None, alias="from", description="Only asks from this time on; UTC without an offset."
    )
    until: Time | None = Field(
        None, alias="to", description="Only asks before this time; UTC without an offset."
    )
    after: str | None = Field(None, description="The `next` of the page before.")
    limit: Annotated[int, Field(ge=1, le=200, description="Asks on a page.")] = 50


async def inbox(call: Call) -> web.Response:
    """``GET /v1/inbox``."""
    query = call.query(InboxQuery)
    person = person_named(query.responder)
    check_may_read(call.guest, person, call.service.people)
    reading = call.service.list_waiting_for(Actor(person), query.after or None, query.limit)
    return _page_response(call, await checked_cursor(reading))


def check_may_read(guest: Person | None, person: Person, people: People) -> None:
    """Check that a caller may read this person's inbox.

    Args:
        guest: the holder of the personal link's key that the caller sent; None for any other caller.

    Raises:
        ProblemError: 403.
    """
    if guest is None or people.is_same(guest, person):
        return
    own = f"{guest.surface}:{guest.user_id}"
    raise ProblemError(403, "Not your inbox", f"With this key, pass responder={own}.")


async def search(call: Call) -> web.Response:
    """``GET /v1/search``."""
    query = call.query(SearchQuery)
    agent = call.agent_scope or query.agent
    if query.agent not in {None, agent}:
        return _page_response(call, Page((), None))
    since, until = _timestamp(query.since), _timestamp(query.until)
    by = ((person_named(query.answered_by),),) if query.answered_by else ()
    criteria = Search(_words(query), query.status, agent=agent, since=since, until=until, by=by)
    reading = call.service.search_for(call.guest, criteria, query.after or None, query.limit)
    return _page_response(call, await checked_cursor(reading))


def _words(query: SearchQuery) -> tuple[str, ...]:
    terms = split_words(query.q or "")
    if query.q and not terms:
        raise ProblemError(400, "Bad query", "`q` contains no words: search for letters or digits.")
    if query.project:
        terms = (*terms, project_word(query.project))
    return terms


def person_named(reference: str) -> Person:
    """Return the person that a query names as ``surface:id``."""
    surface, _, user_id = reference.partition(":")
    return Person(surface=surface, user_id=user_id)


def _timestamp(time: datetime | None) -> float | None:
    if time is None:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _page_response(call: Call, results: Page[Ask]) -> web.Response:
    asks: list[JsonValue] = [call.json_of(ask) for ask in results.rows]
    return page_response(call, "asks", asks, results.after)
