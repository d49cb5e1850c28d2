"""Decide about many permissions at once: each is authorised, decided and recorded on its own."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from aiohttp import web
from pydantic import AfterValidator, Field, JsonValue

from answerback.api.action_bodies import ActorBody
from answerback.api.actions import actor_of, apply_intent, delivery_of
from answerback.api.asks import idempotency_key
from answerback.api.operation import Call, json_response
from answerback.api.problems import ProblemDocument, result_or_problem
from answerback.api.wire import ProblemBody, Wire
from answerback.core.ask import Ask
from answerback.core.intents import Decide, Intent
from answerback.core.strict_json import digest_of
from answerback.service.ask_wire import AskBody
from answerback.service.batches import MAX_BATCH
from answerback.service.json_bodies import parse_model


class BatchItem(Wire):
    """An ask, and the revision that the person saw."""

    id: Annotated[str, Field(max_length=200)]
    revision: Annotated[int, Field(strict=True)]


def _check_unique(asks: tuple[BatchItem, ...]) -> tuple[BatchItem, ...]:
    if len({each.id for each in asks}) < len(asks):
        raise ValueError("an ask is named twice")
    return asks


class BatchBody(Wire):
    """One decision about several permissions."""

    asks: Annotated[
        tuple[BatchItem, ...],
        Field(min_length=1, max_length=MAX_BATCH),
        AfterValidator(_check_unique),
    ]
    decision: Literal["allow_once", "deny"]
    actor: ActorBody | None = None


class BatchResult(Wire):
    """What a single action would have given for this ask: its status, and the ask or the error."""

    id: str
    status: int
    ask: AskBody | None = None
    error: ProblemBody | None = None


class BatchResults(Wire):
    """The results, in the order of the request."""

    results: tuple[BatchResult, ...]


async def decide(call: Call) -> web.Response:
    """``POST /v1/batches``."""
    key = idempotency_key(call.request)
    payload = await call.read_json()
    body = parse_model(BatchBody, payload, "Invalid batch")
    digest = digest_of([key, payload]) if key else ""

    async def apply(item: BatchItem) -> tuple[Ask, int]:
        ask = await call.ask(item.id, acts=True)
        delivery = delivery_of(call, f"batch:{ask.id}", key)
        wanted = Decide(allow=body.decision == "allow_once")
        intent = Intent(ask.id, wanted, item.revision, delivery, digest=digest)
        return await apply_intent(call, intent, actor_of(call, ask, body.actor))

    async def decide_one(item: BatchItem) -> JsonValue:
        result = await result_or_problem(call.request, apply(item))
        if isinstance(result, ProblemDocument):
            return {"id": item.id, "status": result.status, "error": result.body}
        ask, status = result
        return {"id": item.id, "status": status, "ask": call.json_of(ask)}

    async def decide_all() -> list[JsonValue]:
        return list(await asyncio.gather(*map(decide_one, body.asks)))

    return json_response({"results": await call.api.run_to_completion(decide_all())})
