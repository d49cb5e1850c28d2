"""The API reference as one self-contained page: rendered on the server, no script, no external resource."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Final, NamedTuple

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from pydantic import JsonValue

from answerback.service.json_bodies import dump_json

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
