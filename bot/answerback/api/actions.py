"""Act on asks through the API, on one or on many at once: for custom front ends, and for local tools that send a
person's key.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from aiohttp import web
from pydantic import JsonValue

from answerback.api.action_bodies import (
    ACTIONS,
    ActionModel,
    ActorBody,
    BatchBody,
    BatchItem,
    RetryBody,
    action_from_body,
    files_of,
)
from answerback.api.asks import ended_error, idempotency_key
from answerback.api.operation import Call, ask_response, json_response
from answerback.api.problems import ProblemDocument, result_or_problem
from answerback.api.wire import ProblemBody, Wire
from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.errors import IdempotencyKeyReusedError, Problem, ProblemError
from answerback.core.intents import Decide, Intent, WithFiles
from answerback.core.people import account_id
from answerback.core.too_late import TryAgain
from answerback.core.unseen import refuse_unseen
from answerback.core.walker import Person
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason
from answerback.service.ask_wire import AskBody
from answerback.service.json_bodies import find_size_problem, parse_model
from answerback_base.strict_json import digest_of

_INVALID: Final = "Invalid action"
_NOT_A_RESPONDER: Final = "This person may not act on this ask."


class BatchResult(Wire):
    """The result that a single action would have had for this ask: its status, and the ask or the error."""

    id: str
    status: int
    ask: AskBody | None = None
    error: ProblemBody | None = None


class BatchResults(Wire):
    """The results, in the order of the request."""

    results: tuple[BatchResult, ...]


async def act(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/actions``."""
    ask_id, key = call.request.match_info["id"], idempotency_key(call.request)
    payload = await call.read_json()
    body = _read_action(payload)
    # The key is part of the digest, so that an erased answer cannot be guessed from it.
    digest = digest_of([key, ask_id, payload]) if key else ""
    delivery = delivery_of(call, "action", key)
    intent = Intent(ask_id, action_from_body(body), body.revision, delivery, digest=digest)
    applied = apply_intent(call, intent, body.actor, files_of(body))
    ask, status = await call.api.run_to_completion(applied)
    return ask_response(call, ask, status)


async def retry(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/retry``."""
    ask = await call.ask(acts=True)
    body = await call.read_model(RetryBody, "Invalid request")
    change = call.service.act(ask.id, TryAgain(text=body.text), actor_of(call, ask, body.actor))
    done = await call.api.run_to_completion(change)
    if isinstance(done, Acted):
        return ask_response(call, done.ask)
    if done.why is RejectReason.INVALID:
        raise ProblemError(422, "Nothing to try again", None, done.problems)
    return ask_response(call, conflicting_ask(done, None), 409)


async def decide(call: Call) -> web.Response:
    """``POST /v1/batches``."""
    key = idempotency_key(call.request)
    payload = await call.read_json()
    body = parse_model(BatchBody, payload, "Invalid batch")
    digest = digest_of([key, payload]) if key else ""

    async def apply(item: BatchItem) -> tuple[Ask, int]:
        delivery = delivery_of(call, f"batch:{item.id}", key)
        wanted = Decide(allow=body.decision == "allow_once")
        intent = Intent(item.id, wanted, item.revision, delivery, digest=digest)
        return await apply_intent(call, intent, body.actor)

    async def decide_one(item: BatchItem) -> JsonValue:
        result = await result_or_problem(call.request, apply(item))
        if isinstance(result, ProblemDocument):
            return {"id": item.id, "status": result.status, "error": result.body}
        ask, status = result
        return {"id": item.id, "status": status, "ask": call.json_of(ask)}

    async def decide_all() -> list[JsonValue]:
        return list(await asyncio.gather(*map(decide_one, body.asks)))

    return json_response({"results": await call.api.run_to_completion(decide_all())})


def delivery_of(call: Call, kind: str, key: str | None) -> str | None:
    """Return what identifies a change by the caller's idempotency key; None without one."""
    agent = call.agent.name if call.agent else None
    person = account_id(call.person) if call.person else None
    return None if key is None else digest_of([kind, agent, person, key])


async def apply_intent(
    call: Call, intent: Intent, named: ActorBody | None, file_ids: tuple[str, ...] = ()
) -> tuple[Ask, int]:
    """Apply what a person wants; returns the ask to report, and the HTTP status.

    Args:
        file_ids: the person's uploads that come with it.

    Raises:
        ProblemError: it was refused.
    """
    if call.person is None:  # where the person of a front end is depends on the ask
        actor = actor_of(call, await call.ask(intent.ask_id, acts=True), named)
    else:
        actor = _actor_with_key(call, call.person, named)

    if file_ids:
        files = await call.service.people_files.find(file_ids, actor.person, intent.ask_id)
        assert isinstance(intent.wanted, WithFiles)
        intent = intent._replace(wanted=replace(intent.wanted, files=files))
    guest = call.guest

    def check(ask: Ask) -> None:
        if guest is not None:
            call.check_seen(ask, acts=True)
        elif call.person is not None:
            _check_surface(call.person.surface, ask)
        action = intent.wanted
        if isinstance(action, Answer) and (refusal := refuse_unseen(ask, action)) is not None:
            raise ProblemError(422, "Nothing is known of this", None, [refusal.problem()])

    try:
        # The service checks it in the transaction that acts on it, so it is not read before.
        result = await call.service.apply(intent, actor, check=check)
    except IdempotencyKeyReusedError as error:
        title = "This Idempotency-Key was used for another body"
        detail = "Repeat the same action on the same ask, or use a new key for a new action."
        raise ProblemError(422, title, detail) from error
    if isinstance(result, Acted):
        return result.ask, 200
    return conflicting_ask(result, intent.revision), 409


def _read_action(body: JsonValue) -> ActionModel:
    name = body.get("action") if isinstance(body, dict) else None
    model = ACTIONS.get(name) if isinstance(name, str) else None
    if model is None:
        message = f"An action is an object whose `action` is one of {', '.join(ACTIONS)}."
        code = "unknown_value" if isinstance(name, str) else "required"
        raise ProblemError(
            422, _INVALID, None, [Problem(pointer="/action", code=code, message=message)]
        )
    if (too_many := find_size_problem(body, free=("value", "edited"))) is not None:
        raise ProblemError(422, _INVALID, None, [too_many])
    return parse_model(model, body, _INVALID)


def actor_of(call: Call, ask: Ask, named: ActorBody | None) -> Actor:
    """The person who acts; raises ProblemError for one that the caller may not speak for."""
    if call.person is not None:
        if call.guest is None:
            _check_surface(call.person.surface, ask)
        return _actor_with_key(call, call.person, named)
    if call.agent is None:
        raise AssertionError("the route must reject callers without a key or a token")
    if named is None:
        raise ProblemError(
            422, _INVALID, "Name the person in actor: user_id, and name and groups if known."
        )
    person = Person(
        surface=named.surface or ask.placement.destination.surface,
        user_id=named.user_id,
        name=named.name,
        via=call.agent.name,
    )
    groups = frozenset(group.removeprefix("@") for group in named.groups)
    # The front end vouches for the person, so a group that it leaves out is one they are not in.
    known = frozenset(name.removeprefix("@") for name in ask.participants if name.startswith("@"))
    return Actor(person, groups, groups | known)


def _actor_with_key(call: Call, person: Person, named: ActorBody | None) -> Actor:
    """The person whose key was sent, or whom the operator's key names; raises ProblemError for another one."""
    if named is None or named.user_id == person.user_id:
        return Actor(person)
    if call.guest is not None:
        detail = f"This key acts as {call.guest.user_id}. Leave out actor."
        raise ProblemError(403, "Another actor", detail)
    return Actor(replace(person, user_id=named.user_id, name=named.name))


def _check_surface(surface: str, ask: Ask) -> None:
    """Refuse the operator's key, which acts on one surface, on an ask on another one."""
    if surface != ask.placement.destination.surface:
        raise ProblemError(
            403,
            f"Not a {surface} ask",
            f"The service's own key can only act on asks on the {surface} surface; "
            "`answerback token create NAME --role surface` makes a token for a front end.",
        )


def conflicting_ask(result: Rejected, revision: int | None) -> Ask:
    """Return the ask that has changed since the revision that a rejected action was about.

    Raises:
        ProblemError: the action was rejected for another reason.
    """
    ask = result.ask
    if ask is None:
        raise ProblemError(404, "Not found", "There is no such ask.")
    match result.why:
        case RejectReason.STALE:
            return ask
        case RejectReason.ENDED:
            if revision in {None, ask.revision}:
                raise ended_error(ask)
            return ask  # another action ended it first
        case RejectReason.NOT_ALLOWED:
            [detail, *_] = [problem.message for problem in result.problems] or [_NOT_A_RESPONDER]
            raise ProblemError(403, "Not a responder", detail)
        case RejectReason.UNCHECKED:
            detail = "Answerback could not check just now whether this person may act. Try again."
            raise ProblemError(503, "Cannot check now", detail)
        case RejectReason.INVALID | RejectReason.NOT_FOUND:
            raise ProblemError(422, "Not an answer to this question", None, result.problems)
