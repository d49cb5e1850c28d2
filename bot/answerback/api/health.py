"""Liveness, readiness and metrics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from aiohttp import web
from pydantic import JsonValue

from answerback.api.metrics import CONTENT_TYPE
from answerback.api.operation import Call, json_response
from answerback.api.problems import problem_document
from answerback.core.errors import ProblemError, StoreError
from answerback.ports.store_values import DeliveryState

_READY_TIMEOUT: Final = 5.0

logger = logging.getLogger(__name__)


async def healthz(_call: Call) -> web.Response:
    """``GET /healthz``."""
    return json_response({"status": "ok"})


async def readyz(call: Call) -> web.Response:
    """``GET /readyz``: ready if the database can be read and written, and every configured surface is reachable."""
    failures: dict[str, str] = {}
    try:
        async with asyncio.timeout(_READY_TIMEOUT):
            await call.api.store.check()
    except StoreError as error:
        failures["database"] = str(error)
    except TimeoutError:
        failures["database"] = f"The database did not answer within {_READY_TIMEOUT:g} seconds."
    for message in failures.values():  # surfaces log their own
        logger.warning("Not ready: %s", message, extra={"action": "not_ready"})
    for name, surface in call.api.surfaces.items():
        if (reason := surface.unready_reason()) is not None:
            failures[name] = reason
    if failures:
        return await _not_ready(call, failures)
    if call.api.replica is None:
        return json_response({"status": "ok"})
    return json_response({"status": "ok", "replica": call.api.replica().as_json()})


async def _not_ready(call: Call, failures: Mapping[str, str]) -> web.Response:
    detail = "`failing` names each part that fails and why."
    try:
        await call.api.tokens.authenticate_reader(call.request)
    except ProblemError:  # reasons name hosts, paths and settings
        detail = "An agent's token or a person's key gets the reasons, which are in the log."
        failures = dict.fromkeys(failures, "It does not work.")
    failing: list[JsonValue] = [{"name": n, "message": text} for n, text in failures.items()]
    return problem_document(503, "Not ready", detail, more={"failing": failing}).response()


async def metrics(call: Call) -> web.Response:
    """``GET /metrics``."""
    counts = await call.api.store.counts()
    now, oldest = call.service.clock.now(), await call.api.store.oldest_open()
    call.api.metrics.set_oldest_open({name: max(now - at, 0.0) for name, at in oldest.items()})
    states = {state.value for state in DeliveryState}
    body = call.api.metrics.render(
        {name: count for name, count in counts.items() if name not in states},
        {name: count for name, count in counts.items() if name in states},
        call.api.show_counts(),
        call.service.signals.count,
        call.api.replica and call.api.replica(),
    )
    return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})
