"""For operators and tools: alive, able to serve, Prometheus, the tool definitions, the API described."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from answerback.api.docs_page import API_DOCS
from answerback.api.metrics import CONTENT_TYPE
from answerback.api.operation import Call, json_response
from answerback.api.problems import problem_response
from answerback.core.errors import ProblemError, StoreError
from answerback.dialects import tool_definitions as definitions
from answerback.dialects.tool_definitions import Format
from answerback.ports.store_values import DeliveryState

_READY_TIMEOUT: Final = 5.0


class ToolsQuery(BaseModel):
    """Which tools, and in whose format."""

    model_config = ConfigDict(extra="forbid")

    format: Format = Field("mcp", description="The API whose shape the definitions have.")
    dialect: str | None = Field(
        None,
        description="The dialects to give, separated by commas; without it the best one of each name.",
    )
    strict: bool = Field(
        default=False, description="Whether the schemas are to be those that strict modes accept."
    )


async def tools(call: Call) -> web.Response:
    """``GET /v1/tools``."""
    query = call.query(ToolsQuery)
    dialects = () if query.dialect is None else query.dialect.split(",")
    try:
        found = definitions.select_tools(dialects, call.api.enabled)
    except ValueError as error:
        raise ProblemError(400, "Bad query", f"dialect: {error}") from error
    return json_response(
        {
            "tools": [
                definitions.format_definition(tool, query.format, strict=query.strict)
                for tool in found
            ]
        }
    )


async def healthz(_call: Call) -> web.Response:
    """``GET /healthz``."""
    return json_response({"status": "ok"})


async def readyz(call: Call) -> web.Response:
    """``GET /readyz``: the database can be read and written, and every configured surface reaches its people."""
    failing: list[JsonValue] = []
    try:
        async with asyncio.timeout(_READY_TIMEOUT):
            await call.api.store.check()
    except StoreError as error:
        failing.append({"name": "database", "message": str(error)})
    except TimeoutError:
        message = f"The database did not answer within {_READY_TIMEOUT:g} seconds."
        failing.append({"name": "database", "message": message})
    for name, surface in call.api.surfaces.items():
        if (sentence := surface.unready_reason()) is not None:
            failing.append({"name": name, "message": sentence})
    if failing:
        return problem_response(
            503, "Not ready", "What fails is named in `failing`.", more={"failing": failing}
        )
    if call.api.replica is None:
        return json_response({"status": "ok"})
    return json_response({"status": "ok", "replica": call.api.replica().as_json()})


async def metrics(call: Call) -> web.Response:
    """``GET /metrics``."""
    counts = await call.api.store.counts()
    states = {state.value for state in DeliveryState}
    body = call.api.metrics.render(
        {name: count for name, count in counts.items() if name not in states},
        {name: count for name, count in counts.items() if name in states},
        call.api.show_counts(),
        call.service.signals.count,
        call.api.replica and call.api.replica(),
    )
    return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})


async def openapi_json(call: Call) -> web.Response:
    """``GET /openapi.json``."""
    described = await call.request.app[API_DOCS].render()
    return web.Response(body=described.as_json, content_type="application/json")


async def docs(call: Call) -> web.Response:
    """``GET /docs``."""
    described = await call.request.app[API_DOCS].render()
    policy = {"Content-Security-Policy": described.policy}
    return web.Response(text=described.as_page, content_type="text/html", headers=policy)
