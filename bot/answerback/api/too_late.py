"""What carriers report before they tell their host no, and what people tell an agent after that."""

from __future__ import annotations

from typing import Literal

from aiohttp import web

from answerback.api.action_bodies import ActorBody
from answerback.api.actions import actor_of, conflicting_ask
from answerback.api.operation import Call, ask_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.core.too_late import TryAgain
from answerback.ports.surface import Acted, RejectReason


class CarriedBody(Wire):
    """What a carrier is about to tell its host: it can never say that something is allowed."""

    decision: Literal["denied"]
    reason: Literal["no_answer"] = "no_answer"


class RetryBody(Wire):
    """What a person tells the agent."""

    text: str | None = None
    actor: ActorBody | None = None


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
