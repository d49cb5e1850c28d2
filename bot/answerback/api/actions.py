"""Acting on an ask through the API: for custom front ends, and for local tools that bear a person's key."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from aiohttp import web
from pydantic import JsonValue, ValidationError

from answerback.api.action_bodies import ACTIONS, ActionModel, ActorBody, action_from_body
from answerback.api.asks import ended_problem, idempotency_key, json_digest
from answerback.api.json_bodies import read_json
from answerback.api.operation import Call, ask_response
from answerback.api.problems import problem_response
from answerback.core.ask import Ask
from answerback.core.errors import IdempotencyKeyReusedError, Problem, ProblemError
from answerback.core.walker import Person
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason
from answerback.service.body_errors import find_size_problem, problems_of

_INVALID: Final = "Invalid action"


async def act(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/actions``."""
    ask = await call.ask()
    key = idempotency_key(call.request)
    sent = await read_json(call.request)
    body = _read_action(sent)
    actor = _actor(call, ask, body.actor)
    caller = call.agent.name if call.agent else None
    acting = call.service.act(
        ask.id,
        action_from_body(body),
        actor,
        revision=body.revision,
        delivery=None if key is None else json_digest(["action", caller, key]),
        # With the key in it, what was answered cannot be guessed from the digest once the answer is erased.
        digest="" if key is None else json_digest([key, ask.id, sent]),
    )
    try:
        done = await call.api.run_to_completion(acting)
    except IdempotencyKeyReusedError as error:
        title = "This Idempotency-Key was used for another body"
        words = "Send the same action on the same ask again, or use a new key for a new action."
        raise ProblemError(422, title, words) from error
    return ask_response(done.ask) if isinstance(done, Acted) else _refused(done, body.revision)


def _read_action(body: JsonValue) -> ActionModel:
    name = body.get("action") if isinstance(body, dict) else None
    model = ACTIONS.get(name) if isinstance(name, str) else None
    if model is None:
        message = f"An action is an object whose `action` is one of {', '.join(ACTIONS)}."
        code = "unknown_value" if isinstance(name, str) else "required"
        raise ProblemError(
            422, _INVALID, None, [Problem(pointer="/action", code=code, message=message)]
        )
    if (too_many := find_size_problem(body, free=("value",))) is not None:
        raise ProblemError(422, _INVALID, None, [too_many])
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise ProblemError(422, _INVALID, None, problems_of(error)) from error


def _actor(call: Call, ask: Ask, named: ActorBody | None) -> Actor:
    if call.person is not None:
        surface = call.person.surface
        if ask.destination.surface != surface:
            raise ProblemError(
                403,
                f"Not a {surface} ask",
                f"With a key only asks on the {surface} surface can be acted on by this call; "
                "`answerback token create NAME --role surface` makes a token for a front end.",
            )
        if named is None or named.user_id == call.person.user_id:
            return Actor(call.person)
        if call.guest is not None:
            own = f"This key acts as {call.guest.user_id}. Leave actor out."
            raise ProblemError(403, "Another actor", own)
        return Actor(replace(call.person, user_id=named.user_id, name=named.name))
    if call.agent is None:
        raise AssertionError("the route lets nobody act without a key or a token")
    if named is None:
        raise ProblemError(
            422, _INVALID, "Say who acts: actor with user_id, and name and groups if known."
        )
    person = Person(surface=call.agent.name, user_id=named.user_id, name=named.name)
    groups = frozenset(group.removeprefix("@") for group in named.groups)
    # The front end vouches for the person: a group that it does not name is one they are not in.
    known = frozenset(one.removeprefix("@") for one in ask.responders if one.startswith("@"))
    return Actor(person, groups, groups | known)


def _refused(done: Rejected, revision: int | None) -> web.Response:
    if done.ask is None:
        return problem_response(404, "Not found", "There is no such ask.")
    if done.why is RejectReason.ENDED and revision not in {None, done.ask.revision}:
        # Somebody was faster, and that ended the ask: to who acted on an older revision it is a conflict.
        return ask_response(done.ask, 409)
    match done.why:
        case RejectReason.STALE:
            return ask_response(done.ask, 409)
        case RejectReason.ENDED:
            return ended_problem(done.ask)
        case RejectReason.NOT_ALLOWED:
            return problem_response(403, "Not a responder", "This person may not act on this ask.")
        case RejectReason.UNCHECKED:
            words = "Whether this person may act could not be found out just now: try again."
            return problem_response(503, "Not known now", words)
        case RejectReason.INVALID | RejectReason.NOT_FOUND:
            errors: list[JsonValue] = [one.model_dump() for one in done.problems]
            return problem_response(422, "Not an answer to this question", more={"errors": errors})
