"""What carriers report before they tell their host no, and what people tell an agent after that."""

from __future__ import annotations

from typing import Literal

from aiohttp import web
from pydantic import JsonValue, ValidationError

from answerback.api.action_bodies import ActorBody
from answerback.api.actions import AskResult, actor_of, describe_refusal
from answerback.api.operation import Call, ask_response
from answerback.api.problems import problem_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.core.too_late import TryAgain
from answerback.ports.surface import Acted, RejectReason
from answerback.service.json_bodies import problems_of


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
    try:
        CarriedBody.model_validate(await call.read_json())
    except ValidationError as error:
        raise ProblemError(422, "Invalid report", None, problems_of(error)) from error
    done = await call.api.run_to_completion(call.service.carriers.report_no_answer(ask.id))
    if isinstance(done, Acted):
        return ask_response(call, call.mark_seen_by_agent(done.ask))
    if done.why is RejectReason.ENDED and done.ask is not None:
        return ask_response(call, call.mark_seen_by_agent(done.ask), 409)
    raise ProblemError(422, "Not an approval", None, done.problems)


async def retry(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/retry``."""
    ask = await call.ask()
    try:
        body = RetryBody.model_validate(await call.read_json())
    except ValidationError as error:
        raise ProblemError(422, "Invalid request", None, problems_of(error)) from error
    change = call.service.act(ask.id, TryAgain(text=body.text), actor_of(call, ask, body.actor))
    done = await call.api.run_to_completion(change)
    if isinstance(done, Acted):
        return ask_response(call, done.ask)
    if done.why is RejectReason.INVALID:
        errors: list[JsonValue] = [problem.model_dump() for problem in done.problems]
        return problem_response(422, "Nothing to try again", more={"errors": errors})
    refusal = describe_refusal(done, None)
    return refusal.response(call) if isinstance(refusal, AskResult) else refusal.response()
