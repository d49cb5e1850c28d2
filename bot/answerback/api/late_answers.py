"""Late answers, and the notes which responses told an agent how an ask ended."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Annotated

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from answerback.api.operation import Api, Call, json_response
from answerback.http.response_arrival import ARRIVAL_TRACKER, ResponseArrival
from answerback.ports.late_answers import SeenState
from answerback.service.agent_requests import RESPONSE_TRACKER
from answerback.service.late_answer_text import late_answer_json
from answerback.service.late_answers import ResponseTracker


class AnswersQuery(BaseModel):
    """Which late answers."""

    model_config = ConfigDict(extra="forbid")

    conversation: Annotated[
        str | None,
        Field(description="Only asks of this conversation; empty, only asks without one."),
    ] = None
    after: Annotated[
        int | None,
        Field(
            ge=0,
            lt=2**63,
            description="The last `next` that you have: acknowledges what came with it and before, and gives "
            "again what came later. Without it, only what no response has told you.",
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=200, description="Asks at the most.")] = 50


async def answers(call: Call) -> web.Response:
    """``GET /v1/answers``."""
    query = call.query(AnswersQuery)
    found = await call.service.late_answer_tracker.list_unseen(
        call.agent_scope, query.conversation, query.after, query.limit
    )
    for one in found:
        call.request[RESPONSE_TRACKER].add_outcome(one.ask, SeenState.LISTED)
    rows: list[JsonValue] = [late_answer_json(one.ask) for one in found]
    return json_response({"answers": rows, "next": found[-1].number if found else query.after})


def response_tracker_of(api: Api, request: web.Request) -> ResponseTracker:
    """What the response to a request tells its agent: noted once it is sent, taken back where it does not arrive."""
    carrier = request[RESPONSE_TRACKER] = api.service.late_answer_tracker.track_response(
        partial(_sent, api, request)
    )
    return carrier


def _sent(api: Api, request: web.Request, carrier: ResponseTracker) -> ResponseArrival:
    arrival = request.app[ARRIVAL_TRACKER].track(
        request, lambda: api.start_change(carrier.undo_seen())
    )
    _ = api.start_change(_note(arrival, carrier))
    return arrival


async def send_response(
    request: web.Request, response: web.StreamResponse, carrier: ResponseTracker
) -> None:
    """Sends a response that tells something, if it is not sent yet."""
    if not carrier.has_outcomes or carrier.is_sent:
        return
    try:
        await response.prepare(request)
        await response.write_eof()
    except ConnectionError:
        return  # aiohttp finds that out for itself, and the agent asks again
    carrier.mark_sent()


async def _note(arrival: ResponseArrival, carrier: ResponseTracker) -> None:
    """Notes what a response tells that was just sent. The client's next request does not wait for that."""
    with closing(carrier):
        if await arrival.wait_until_received():
            await carrier.save_seen()
