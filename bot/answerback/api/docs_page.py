"""The API's description as one page that needs nothing but itself: rendered here, no script, no other address."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from pydantic import JsonValue

from answerback.api.json_bodies import dump_json

_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class RenderedDocs:
    """The description in both its forms; ``policy`` is the page's Content-Security-Policy."""

    as_json: bytes
    as_page: str
    policy: str


class ApiDocs:
    """An OpenAPI document as JSON and as a page, made when it is first asked for: that takes a tenth of a second.

    Args:
        document: makes the document.
    """

    def __init__(self, document: Callable[[], Mapping[str, JsonValue]]) -> None:
        self._document = document

    async def render(self) -> RenderedDocs:
        """Both forms; the event loop does not wait for them."""
        return await asyncio.to_thread(lambda: self._described)

    @cached_property
    def _described(self) -> RenderedDocs:
        return _described(self._document())


API_DOCS: Final = web.AppKey("description", ApiDocs)


def _described(document: Mapping[str, JsonValue]) -> RenderedDocs:
    page = _template().render(document=document, style=_STYLE)
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )
    return RenderedDocs(dump_json(document), page, policy)


def _schema_text(schema: JsonValue) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False)


def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["schema"] = _schema_text
    return environment.get_template("docs.html")


# Read at import: no request, and no start of a service, waits for the disk.
_STYLE: Final = (_HERE / "docs.css").read_text(encoding="utf-8")
