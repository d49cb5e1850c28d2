"""For operators and tools: liveness, readiness, metrics, tool definitions and the API description."""

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
    """Which tool definitions to return, and in which format."""

    model_config = ConfigDict(extra="forbid")

    format: Format = Field("mcp", description="The model API to format the definitions for.")
    dialect: str | None = Field(
        None,
        description="Dialects to include, separated by commas; by default the best one for each tool name.",
    )
    strict: bool = Field(
        default=False,
        description="Whether to restrict the schemas to what models' strict modes accept.",
    )


async def tools(call: Call) -> web.Response:
    """``GET /v1/tools``."""
    query = call.query(ToolsQuery)
    dialects = () if query.dialect is None else query.dialect.split(",")
    try:
        selected = definitions.select_tools(dialects, call.api.enabled)
    except ValueError as error:
        raise ProblemError(400, "Bad query", f"dialect: {error}") from error
    return json_response(
        {
            "tools": [
                definitions.format_definition(tool, query.format, strict=query.strict)
                for tool in selected
            ]
        }
    )


async def healthz(_call: Call) -> web.Response:
    """``GET /healthz``."""
    return json_response({"status": "ok"})


async def readyz(call: Call) -> web.Response:
    """``GET /readyz``: ready if the database can be read and written, and every configured surface is reachable."""
    failures: list[JsonValue] = []
    try:
        async with asyncio.timeout(_READY_TIMEOUT):
            await call.api.store.check()
    except StoreError as error:
        failures.append({"name": "database", "message": str(error)})
    except TimeoutError:
        message = f"The database did not answer within {_READY_TIMEOUT:g} seconds."
        failures.append({"name": "database", "message": message})
    for name, surface in call.api.surfaces.items():
        if (reason := surface.unready_reason()) is not None:
            failures.append({"name": name, "message": reason})
    if failures:
        return problem_response(
            503,
            "Not ready",
            "`failing` names each part that fails and why.",
            more={"failing": failures},
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
    rendered = await call.request.app[API_DOCS].render()
    return web.Response(body=rendered.as_json, content_type="application/json")


async def docs(call: Call) -> web.Response:
    """``GET /docs``."""
    rendered = await call.request.app[API_DOCS].render()
    policy = {"Content-Security-Policy": rendered.policy}
    return web.Response(text=rendered.as_page, content_type="text/html", headers=policy)
