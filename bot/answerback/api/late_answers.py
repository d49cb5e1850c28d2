"""Late answers, and the notes which responses told an agent how an ask ended."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Annotated

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from answerback.api.operation import Api, Call, json_response
from answerback.http.response_arrival import ARRIVALS, Arrival
from answerback.ports.late_answers import Told
from answerback.service.agent_requests import CARRIER
from answerback.service.late_answer_text import late_json
from answerback.service.late_answers import Carrier


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
    found = await call.service.telling.late(
        call.owner, query.conversation, query.after, query.limit
    )
    for one in found:
        call.request[CARRIER].tell(one.ask, Told.LISTED)
    rows: list[JsonValue] = [late_json(one.ask) for one in found]
    return json_response({"answers": rows, "next": found[-1].number if found else query.after})


def carrier_of(api: Api, request: web.Request) -> Carrier:
    """What the response to a request tells its agent: noted once it is sent, taken back where it does not arrive."""
    carrier = request[CARRIER] = api.service.telling.carrier(partial(_sent, api, request))
    return carrier


def _sent(api: Api, request: web.Request, carrier: Carrier) -> Arrival:
    arrival = request.app[ARRIVALS].watch(request, lambda: api.begin(carrier.take_back()))
    _ = api.begin(_note(arrival, carrier))
    return arrival


async def send(request: web.Request, response: web.StreamResponse, carrier: Carrier) -> None:
    """Sends a response that tells something, if it is not sent yet."""
    if not carrier.tells or carrier.is_sent:
        return
    try:
        await response.prepare(request)
        await response.write_eof()
    except ConnectionError:
        return  # aiohttp finds that out for itself, and the agent asks again
    carrier.sent()


async def _note(arrival: Arrival, carrier: Carrier) -> None:
    """Notes what a response tells that was just sent. The client's next request does not wait for that."""
    with closing(carrier):
        if await arrival.taken():
            await carrier.note()
