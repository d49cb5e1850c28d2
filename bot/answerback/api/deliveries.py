"""List webhook deliveries and their state, and send one again."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from aiohttp import web
from pydantic import Field, JsonValue

from answerback.api.operation import Call, checked_cursor, json_response, page_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.ports.store_values import DeliveryState, StoredDelivery
from answerback.service.record_wire import delivery_json
from answerback.service.service import Service


class DeliveriesQuery(Wire):
    """Filter and paging for a list of deliveries."""

    state: DeliveryState | None = Field(None, description="Only deliveries in this state.")
    after: str | None = Field(None, description="The `next` of the previous page.")
    limit: Annotated[
        int, Field(ge=1, le=200, description="Maximum number of deliveries per page.")
    ] = 50


async def page(call: Call) -> web.Response:
    """``GET /v1/deliveries``."""
    query = call.query(DeliveriesQuery)
    reading = call.api.store.outbox.page(
        state=query.state, agent=call.agent_scope, after=query.after or None, limit=query.limit
    )
    results = await checked_cursor(reading)
    rows: list[JsonValue] = [delivery_json(row) for row in results.rows if not row.delivery.is_push]
    return page_response(call, "deliveries", rows, results.after)


async def redeliver(call: Call) -> web.Response:
    """``POST /v1/deliveries/{id}/redeliver``."""
    delivery_id = call.request.match_info["id"]
    stored = await call.api.store.outbox.get(delivery_id)
    if (
        stored is None
        or stored.delivery.is_push
        or call.agent_scope not in {None, stored.delivery.agent}
    ):
        raise ProblemError(404, "Not found", f"There is no delivery {delivery_id[:100]}.")
    if not stored.delivery.body:
        raise ProblemError(409, "Erased", "Its ask was erased, so there is nothing left to send.")
    delivery = await call.api.run_to_completion(send_again(call.service, stored))
    return json_response(delivery_json(delivery), 202)


async def send_again(service: Service, stored: StoredDelivery) -> StoredDelivery:
    now, pending = service.clock.now(), DeliveryState.PENDING
    again = replace(stored, state=pending, next_at=now, updated_at=now, tries=0)
    await service.store.outbox.save_results([again], [])
    service.hooks.deliver()
    return again
