"""Late answers, and the tracking of which responses reported an outcome to an agent."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Annotated

from aiohttp import web
from pydantic import Field, JsonValue

from answerback.api.operation import Api, Call, ask_response, json_response
from answerback.api.wire import Wire
from answerback.http.response_arrival import ARRIVAL_TRACKER, ResponseArrival
from answerback.ports.late_answers import SeenState
from answerback.service.agent_requests import RESPONSE_TRACKER
from answerback.service.late_answer_text import late_answer_json
from answerback.service.late_answers import ResponseTracker


class AnswersQuery(Wire):
    """Filters and paging for late answers."""

    conversation: Annotated[
        str | None,
        Field(description="Only asks in this conversation; if empty, only asks without one."),
    ] = None
    after: Annotated[
        int | None,
        Field(
            ge=0,
            lt=2**63,
            description="The last `next` you received: acknowledges everything up to it, and returns everything "
            "after it, even if it was returned before. Without it, only what no response has reported to you.",
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=200, description="Maximum number of asks.")] = 50


async def answers(call: Call) -> web.Response:
    """``GET /v1/answers``."""
    query = call.query(AnswersQuery)
    late = await call.service.late_answer_tracker.list_unseen(
        call.agent_scope, query.conversation, query.after, query.limit
    )
    for answer in late:
        call.request[RESPONSE_TRACKER].add_outcome(answer.ask, SeenState.LISTED)
    rows: list[JsonValue] = [late_answer_json(answer.ask) for answer in late]
    return json_response({"answers": rows, "next": late[-1].number if late else query.after})


async def undelivered(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/undelivered``."""
    ask = await call.ask()
    if not ask.open:
        await call.api.run_to_completion(call.service.late_answer_tracker.undo_seen(ask))
    return ask_response(call, ask)


def response_tracker_of(api: Api, request: web.Request) -> ResponseTracker:
    """Track which outcomes a response reports to its agent: saved once it is sent, undone if it does not arrive."""
    sent = partial(_on_sent, api, request)
    tracker = request[RESPONSE_TRACKER] = ResponseTracker(api.service.late_answer_tracker, sent)
    return tracker


def _on_sent(api: Api, request: web.Request, tracker: ResponseTracker) -> ResponseArrival:
    arrival = request.app[ARRIVAL_TRACKER].track(
        request, lambda: api.start_change(tracker.undo_seen())
    )
    _ = api.start_change(_save_seen(arrival, tracker))
    return arrival


async def send_response(
    request: web.Request, response: web.StreamResponse, tracker: ResponseTracker
) -> None:
    """Send a response that reports an outcome, unless it is sent already."""
    # The response to a HEAD has no body, so it reports nothing.
    if not tracker.has_outcomes or tracker.is_sent or request.method == "HEAD":
        return
    try:
        await response.prepare(request)
        await response.write_eof()
    except ConnectionError:
        return  # aiohttp notices this as well, and the agent asks again
    tracker.mark_sent()


async def _save_seen(arrival: ResponseArrival, tracker: ResponseTracker) -> None:
    """Save which outcomes a response that was just sent reports. The client's next request does not wait for it."""
    with closing(tracker):
        if await arrival.wait_until_received():
            await tracker.save_seen()
