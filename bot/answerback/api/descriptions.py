"""The tool definitions, the OpenAPI document, and the page that shows it."""

from __future__ import annotations

from aiohttp import web
from pydantic import Field

from answerback.api.docs_page import API_DOCS
from answerback.api.operation import Call, json_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.dialects import tool_definitions as definitions
from answerback.dialects.tool_definitions import Format


class ToolsQuery(Wire):
    """Which tool definitions to return, and in which format."""

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
    found = [
        definitions.format_definition(each, query.format, strict=query.strict) for each in selected
    ]
    return json_response({"tools": found})


async def openapi_json(call: Call) -> web.Response:
    """``GET /openapi.json``."""
    rendered = await call.request.app[API_DOCS].render()
    return web.Response(body=rendered.as_json, content_type="application/json")


async def docs(call: Call) -> web.Response:
    """``GET /docs``."""
    rendered = await call.request.app[API_DOCS].render()
    policy = {"Content-Security-Policy": rendered.policy}
    return web.Response(text=rendered.as_page, content_type="text/html", headers=policy)
