"""Submit, read, wait for and withdraw asks: each request becomes one call of the service."""

from __future__ import annotations

import logging
import re
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from typing import Annotated, Any, Final, Literal

from aiohttp import web
from pydantic import Field, JsonValue

from answerback.api.operation import (
    Call,
    ask_response,
    checked_cursor,
    json_bytes_response,
    json_response,
    page_response,
)
from answerback.api.wire import CarriedBody, ContextBody, Wire
from answerback.core.ask import Ask, Status
from answerback.core.errors import ProblemError, StoreError
from answerback.core.sent_files import sent_files
from answerback.ports.operation import HeaderSpec
from answerback.ports.surface import Acted, RejectReason
from answerback.service.agent_requests import single_header
from answerback.service.ask_wire import ask_json
from answerback.service.consumption import consume as consume_once
from answerback.service.json_bodies import dump_json
from answerback.service.record_wire import entry_json
from answerback.service.submission_request import read_submission, without_files
from answerback_base import strict_json
from answerback_base.strict_json import digest_of

MAX_IDEMPOTENCY_KEY: Final = 255
"""Maximum length of an idempotency key, in characters."""
KEY: Final = HeaderSpec(
    "Idempotency-Key",
    "A key you choose: repeating it with the same body returns the first ask again.",
    {"type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY},
)
KEY_OF_ACTION: Final = replace(
    KEY,
    description="A key you choose: repeating it with the same body acts only once, and returns the ask again.",
)

MAX_WAIT: Final = 300
"""Seconds; to wait longer, the caller calls again."""

# preference = token [ "=" word ] *( ";" [ parameter ] ), https://www.rfc-editor.org/rfc/rfc7240#section-2
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_PREFERENCE: Final = re.compile(
    rf"\s*({_TOKEN})\s*(?:=\s*({_TOKEN}|{_QUOTED}))?\s*((?:;(?:[^,\"]|{_QUOTED})*)?)(?:,|$)"
)

logger = logging.getLogger(__name__)


class AsksQuery(Wire):
    """Filters and paging for a list of asks."""

    status: Status | None = Field(None, description="Only asks with this status.")
    surface: str | None = Field(None, description="Only asks on this surface.")
    conversation: str | None = Field(None, description="Only asks in this conversation.")
    order: Literal["newest", "urgency"] = Field(
        "newest",
        description="urgency: only open asks, the most urgent first, and then those that were asked first.",
    )
    after: str | None = Field(None, description="The `next` of the previous page.")
    limit: Annotated[int, Field(ge=1, le=200, description="Maximum number of asks per page.")] = 50


class RecordQuery(Wire):
    """Paging for a record."""

    after: Annotated[int, Field(ge=0, lt=2**63, description="The `next` of the previous page.")] = 0
    limit: Annotated[int, Field(ge=1, le=1000, description="Maximum number of lines per page.")] = (
        1000
    )


async def submit(call: Call) -> web.Response:
    """``POST /v1/asks``."""
    ask, status = await _submit(call)
    headers = {"Location": f"/v1/asks/{ask.id}"}
    wait = preferred_wait(call.request)
    if wait is None or (ask.open and ask.request.mode == "async"):
        return ask_response(call, ask, status, headers)
    if (waiting := _start_wait(call, ask, wait)) is not None:
        stored = dump_json(call.json_of(ask))  # much smaller than the ask
        del ask  # thousands may wait here at a time
        try:
            ask = call.mark_seen_by_agent(_require(await waiting))
        except StoreError:  # an error would make the agent submit it again
            return json_bytes_response(stored, 202, headers | preference_applied_header(wait))
    return _response_after_wait(call, ask, wait, headers)


async def _submit(call: Call) -> tuple[Ask, int]:
    """Submit the ask; return it with the HTTP status: 201 if it is new, else 200."""
    key = idempotency_key(call.request)
    body = await call.read_json()
    submission = read_submission(body)
    # Only a repeated key compares it.
    digest = digest_of(without_files(body)) if key is not None else ""
    submitted = await call.api.run_to_completion(
        call.api.service.submit(submission, agent=call.agent, idempotency_key=key, digest=digest)
    )
    return call.mark_seen_by_agent(submitted.ask), 201 if submitted.created else 200


async def read(call: Call) -> web.Response:
    """``GET /v1/asks/{id}``."""
    ask = call.mark_seen_by_agent(await call.ask())
    wait = preferred_wait(call.request)
    if call.is_from_agent:
        await call.service.presence.record_poll(ask)
    if wait is None:
        return ask_response(call, ask)
    if (waiting := _start_wait(call, ask, wait)) is not None:
        del ask  # thousands may wait here at a time
        ask = call.mark_seen_by_agent(_require(await waiting))
    return _response_after_wait(call, ask, wait, {})


async def page(call: Call) -> web.Response:
    """``GET /v1/asks``."""
    query = call.query(AsksQuery)
    by_urgency = query.order == "urgency"
    if by_urgency and query.status not in {None, Status.OPEN}:
        raise ProblemError(400, "Bad query", "Only open asks have an order of urgency.")
    reading = call.api.store.asks.page(
        status=query.status,
        surface=query.surface,
        conversation=query.conversation,
        agent=call.agent_scope,
        after=query.after or None,
        limit=query.limit,
        by_urgency=by_urgency,
    )
    results = await checked_cursor(reading)
    asks: list[JsonValue] = [call.json_of(ask) for ask in results.rows if call.may_see(ask)]
    return page_response(call, "asks", asks, results.after)


async def explain(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/context``."""
    ask = await call.ask()
    body = await call.read_model(ContextBody, "Invalid context")
    result = await call.api.run_to_completion(call.service.explain(ask.id, body.text))
    if isinstance(result, Acted):
        return ask_response(call, call.mark_seen_by_agent(result.ask))
    if result.why is RejectReason.ENDED and result.ask is not None:
        raise ended_error(call.mark_seen_by_agent(result.ask))
    raise ProblemError(422, "Not shown", None, result.problems)


async def withdraw(call: Call) -> web.Response:
    """``DELETE /v1/asks/{id}``."""
    ask = await call.ask()
    result = await call.api.run_to_completion(call.service.withdraw(ask.id))
    if isinstance(result, Acted):
        return ask_response(call, result.ask)
    if result.why is RejectReason.ENDED and result.ask is not None:
        raise ended_error(call.mark_seen_by_agent(result.ask))
    raise ProblemError(404, "Not found", f"There is no ask with the id {ask.id}.")


async def carried(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/carried``."""
    ask = await call.ask()
    await call.read_model(CarriedBody, "Invalid report")
    done = await call.api.run_to_completion(call.service.approval_leases.report_no_answer(ask.id))
    if isinstance(done, Acted):
        return ask_response(call, call.mark_seen_by_agent(done.ask))
    if done.why is RejectReason.ENDED and done.ask is not None:
        return ask_response(call, call.mark_seen_by_agent(done.ask), 409)
    raise ProblemError(422, "Not an approval", None, done.problems)


async def erase(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/erase``."""
    ask = await call.ask()
    result = await call.api.run_to_completion(_erase(call, ask))
    if result.open:
        detail = "People can still answer it, so nothing was erased. Withdraw it, or wait until it has ended."
        raise ProblemError(409, "The ask is open", detail, more={"ask": call.json_of(result)})
    return json_response({**call.json_of(result), "remains": _remains(call, ask)})


def _remains(call: Call, ask: Ask) -> list[JsonValue]:
    """Return what of an ask stays where people sent it: no bot can delete their uploads."""
    surfaces = call.service.surfaces
    senders = dict.fromkeys(sent.by.surface for sent in sent_files(ask.walk) if sent.by is not None)
    chats = [name for name in senders if (found := surfaces.get(name)) is not None and found.live]
    return [
        f"Files that people sent in {name} stay there: delete them in the conversation."
        for name in chats
    ]


async def _erase(call: Call, ask: Ask) -> Ask:
    """Erase the ask and scrub the store; an open ask is returned unchanged.

    Raises:
        ProblemError: 503; the ask was erased, but its content is still in the store's files.
    """
    result = await call.service.erase(ask.id) or ask
    if result.open:
        return result
    try:
        await call.api.store.erasure.scrub()
    except StoreError as error:
        logger.warning("Traces of an erased ask are left: %s", error, extra={"ask_id": ask.id})
        detail = (
            "The ask was erased, but traces of it are still in the database's files: another program reads them (a"
            " backup, an open SQLite shell), or the disk is full. Erase it again once that is over."
        )
        raise ProblemError(503, "Erased, but traces are left", detail) from error
    return result


async def record(call: Call) -> web.Response:
    """``GET /v1/asks/{id}/record``."""
    query = call.query(RecordQuery)
    ask = await call.ask()
    rows = await call.api.store.record.read(ask.id, query.after, query.limit)
    next_seq = rows[-1].seq if len(rows) == query.limit else None
    entries: list[JsonValue] = [entry_json(row) for row in call.readable(ask, rows)]
    return page_response(call, "entries", entries, next_seq)


async def sent_call(call: Call) -> web.Response:
    """``GET /v1/asks/{id}/call``."""
    request = (await call.ask()).request
    folder = request.origin.folder
    return json_response({"folder": folder, "name": request.name, "arguments": request.as_sent})


def ended_error(ask: Ask) -> ProblemError:
    """410: the ask has ended; the body holds the ended ask."""
    detail = f"It is {ask.status.value} and can no longer be changed."
    return ProblemError(410, "The ask has ended", detail, more={"ask": ask_json(ask)})


def _start_wait(call: Call, ask: Ask, wait: int) -> Coroutine[Any, Any, Ask | None] | None:
    """Prepare the wait for the end of an ask; None if there is nothing to wait for.

    The caller drops its reference to the ask before awaiting: thousands of waits may be held for hours.
    """
    if not ask.open or wait <= 0:
        return None
    call.carry(ask)
    return call.service.wait(ask.id, wait, ask, listens=call.is_from_agent)


def _require(ask: Ask | None) -> Ask:
    if ask is None:
        raise AssertionError("asks may be erased, but are never deleted")
    return ask


def _response_after_wait(call: Call, ask: Ask, wait: int, headers: dict[str, str]) -> web.Response:
    return ask_response(
        call, ask, 202 if ask.open else 200, headers | preference_applied_header(wait)
    )


def idempotency_key(request: web.Request) -> str | None:
    """The request's idempotency key, if any. A malformed one raises a ProblemError."""
    key = single_header(request, "Idempotency-Key")
    if key is not None and not (
        0 < len(key) <= MAX_IDEMPOTENCY_KEY and strict_json.is_encodable(key)
    ):
        raise ProblemError(
            400,
            "Bad Idempotency-Key",
            f"An idempotency key has 1 to {MAX_IDEMPOTENCY_KEY} characters of UTF-8.",
        )
    return key


def preferred_wait(request: web.Request) -> int | None:
    """The seconds to hold the response for, capped at `MAX_WAIT`; None if the caller did not ask to wait.

    The first ``wait`` counts; preferences that are not understood are ignored, as the RFC requires.
    """
    for name, value in preferences(request):
        if name == "wait" and re.fullmatch(r"[0-9]+", value):
            return min(int(value[:10]), MAX_WAIT) if len(value) <= 10 else MAX_WAIT
    return None


def preferences(request: web.Request) -> Iterator[tuple[str, str]]:
    """Yield what a request prefers (RFC 7240), each with its value, which may be empty."""
    for line in request.headers.getall("Prefer", []):
        position = 0
        while match := _PREFERENCE.match(line, position):
            yield match[1].lower(), (match[2] or "").strip('"')
            position = match.end()
            if position >= len(line):
                break


def preference_applied_header(wait: int) -> dict[str, str]:
    """The header that confirms the preference and the longest time the response is held."""
    return {"Preference-Applied": f"wait={wait}"}


class ConsumeBody(Wire):
    """Which call is consumed, if a person has changed it."""

    edited: Annotated[str, Field(max_length=200)] | None = None
    """The `edited.digest` of a call that a person has changed; leave it out for any other."""


async def consume(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/consume``."""
    ask = await call.ask()
    is_named = call.request.can_read_body
    body = await call.read_model(ConsumeBody, "Invalid request") if is_named else ConsumeBody()
    change = consume_once(call.store, ask.id, call.service.clock.now(), body.edited)
    done = await call.run_to_completion(change)
    if isinstance(done, Ask):
        return ask_response(call, call.mark_seen_by_agent(done))
    raise ProblemError(409, "Not consumed", done[0].message, done)
