"""The tool definitions, the OpenAPI document, and the self-contained page that shows it, without scripts."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from aiohttp import web
from pydantic import Field, JsonValue

from answerback.api.operation import Call, json_bytes_response, json_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.dialects import tool_definitions as definitions
from answerback.dialects.tool_definitions import Format
from answerback.service.json_bodies import dump_json

if TYPE_CHECKING:
    from jinja2 import Template

_HERE: Final = Path(__file__).parent


class RenderedDocs(NamedTuple):
    """The API description as JSON and as a page; ``policy`` is the page's Content-Security-Policy."""

    as_json: bytes
    as_page: str
    policy: str


class ApiDocs:
    """An OpenAPI document as JSON and as a page. Rendered on first use, which takes a tenth of a second.

    Args:
        document: builds the document.
    """

    def __init__(self, document: Callable[[], Mapping[str, JsonValue]]) -> None:
        self._document = document

    async def render(self) -> RenderedDocs:
        """Return both forms. Rendering happens in a thread, so that it does not block the event loop."""
        return await asyncio.to_thread(lambda: self._rendered)

    @cached_property
    def _rendered(self) -> RenderedDocs:
        document = self._document()
        page = _template().render(document=document, style=_STYLE)
        digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        )
        return RenderedDocs(dump_json(document), page, policy)


API_DOCS: Final = web.AppKey("api_docs", ApiDocs)


def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # few ask for the page

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["schema"] = partial(json.dumps, indent=2, ensure_ascii=False)
    return environment.get_template("docs.html")


# Read at import, so that neither a request nor a service's start waits for the disk.
_STYLE: Final = (_HERE / "docs.css").read_text(encoding="utf-8")


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
    return json_bytes_response(rendered.as_json)


async def docs(call: Call) -> web.Response:
    """``GET /docs``."""
    rendered = await call.request.app[API_DOCS].render()
    policy = {"Content-Security-Policy": rendered.policy}
    return web.Response(text=rendered.as_page, content_type="text/html", headers=policy)
