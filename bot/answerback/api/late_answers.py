"""Late answers, and the tracking of which responses reported an outcome to an agent."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Annotated, Final

from aiohttp import web
from pydantic import Field, JsonValue

from answerback.api.asks import preferences
from answerback.api.operation import Api, Call, ask_response, json_response
from answerback.api.wire import Wire
from answerback.http.response_arrival import ARRIVAL_TRACKER, ResponseArrival
from answerback.ports.late_answers import SeenState
from answerback.service.agent_requests import RESPONSE_TRACKER
from answerback.service.late_answer_text import late_answer_json
from answerback.service.late_answers import ResponseTracker, SentResponse

MAX_LATE_ANSWERS: Final = 200
"""Maximum number of outcomes in one response."""
OUTCOMES_HEADER: Final = "Answerback-Outcomes"
"""The ids of the asks whose outcomes a response reports, separated by commas, for a client that acknowledges them."""


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
    limit: Annotated[
        int, Field(ge=1, le=MAX_LATE_ANSWERS, description="Maximum number of asks.")
    ] = 50


class AcknowledgementBody(Wire):
    """An agent's acknowledgement of the outcomes that it has."""

    asks: Annotated[
        tuple[str, ...],
        Field(max_length=MAX_LATE_ANSWERS, description="The ids of asks whose outcomes it has."),
    ]


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


async def acknowledge(call: Call) -> web.Response:
    """``POST /v1/acknowledgements``."""
    body = await call.read_model(AcknowledgementBody, "Invalid request")
    found = [ask for ask_id in body.asks if (ask := await call.service.get(ask_id)) is not None]
    ended = [ask.id for ask in found if call.may_see(ask) and not ask.open]
    await call.api.run_to_completion(call.service.late_answer_tracker.acknowledge(ended))
    return json_response({"asks": ended})


async def undelivered(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/undelivered``."""
    ask = await call.ask()
    if not ask.open:
        await call.api.run_to_completion(call.service.late_answer_tracker.undo_seen(ask))
    return ask_response(call, ask)


def response_tracker_of(api: Api, request: web.Request) -> ResponseTracker:
    """Track which outcomes a response reports to its agent: saved once they have arrived, undone if they do not."""
    request.app[ARRIVAL_TRACKER].note_request(request)
    sent = partial(_on_sent, api, request)
    tracker = request[RESPONSE_TRACKER] = ResponseTracker(api.service.late_answer_tracker, sent)
    return tracker


def _on_sent(api: Api, request: web.Request, tracker: ResponseTracker) -> SentResponse:
    arrivals = request.app[ARRIVAL_TRACKER]
    if _acknowledges(request):
        tracker.await_acknowledgement()
        return arrivals.await_acknowledgement(request, tracker.close)
    arrival = arrivals.track(request, lambda: api.pending_changes.start(tracker.undo_seen()))
    _ = api.pending_changes.start(_save_seen(arrival, tracker))
    return arrival


def _acknowledges(request: web.Request) -> bool:
    """Return True if the client says itself which outcomes it has."""
    return "Prefer" in request.headers and "acknowledge" in dict(preferences(request))


async def send_response(
    request: web.Request, response: web.StreamResponse, tracker: ResponseTracker
) -> None:
    """Send a response that reports an outcome, unless it is sent already."""
    # The response to a HEAD has no body, so it reports nothing.
    if not tracker.outcomes or tracker.is_sent or request.method == "HEAD":
        return
    if _acknowledges(request):
        response.headers[OUTCOMES_HEADER] = ",".join(tracker.outcomes)
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
