"""Pages as HTTP responses: templates, static files, streams, and the headers that shut everything else out.

Templates and files are read once, at import: no request waits for the disk. Templates are compiled when the first page
is asked for: that takes a tenth of a second, which most services need not wait for when they start.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Final

from aiohttp import web
from aiohttp_sse import EventSourceResponse
from jinja2 import DictLoader, Environment, StrictUndefined

from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback_web import attribution, limits

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": browsers then send "Origin: null" with our own forms, which says nothing.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STREAM_HEADERS: Final = {k: v for k, v in HEADERS.items() if k != "Cache-Control"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_FILES: Final = resources.files("answerback_web")
_TYPES: Final = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _exactly(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _environment() -> Environment:
    made = Environment(
        loader=DictLoader(
            {each.name: each.read_text("utf-8") for each in (_FILES / "templates").iterdir()}
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"iso": _iso, "time": attribution.time, "exactly": _exactly}
    return made


_ENVIRONMENT: Final = _environment()
_STATIC: Final = {name: (_FILES / "static" / name).read_bytes() for name in _TYPES}
_TAGS: Final = {name: hashlib.sha256(body).hexdigest()[:16] for name, body in _STATIC.items()}


_SCRIPT: Final = re.compile(r"<script [^>]*></script>")
_STYLESHEET: Final = re.compile(r'<link rel="stylesheet"[^>]*>')


_NOTHING: Final[dict[str, object]] = {"you": None, "search": None, "record": (), "elsewhere": None}
"""What only some pages have."""


def with_compiled_templates(handler: Handler) -> Handler:
    """A handler that begins once every template is compiled; the event loop does not wait for them."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if not _compile.cache_info().currsize:
            await asyncio.to_thread(_compile)
        return await handler(request)

    return handle


@cache
def _compile() -> None:
    for name in _ENVIRONMENT.list_templates():
        _ENVIRONMENT.get_template(name)


def render_template(name: str, **context: object) -> str:
    """A page's markup; everything in ``context`` is escaped where it is put in."""
    return _ENVIRONMENT.get_template(f"{name}.html").render(_NOTHING | context)


def render_standalone(name: str, labels: Labels, **context: object) -> str:
    """A page's markup with its looks in it, for where no service answers; its script is left out."""
    made = render_template(name, labels=labels, lang="en", root="", home=None, here="", **context)
    looks = f"<style>{_STATIC['page.css'].decode()}</style>"
    made = _STYLESHEET.sub(lambda _: looks, _SCRIPT.sub("", made))
    icon = base64.b64encode(_STATIC["icon.svg"]).decode()
    return made.replace("a/-/icon.svg", f"data:image/svg+xml;base64,{icon}")


def page_response(body: str, status: int = 200) -> web.Response:
    """A page with the headers that every page has."""
    return web.Response(text=body, status=status, content_type="text/html", headers=HEADERS)


def see_other(place: str) -> web.Response:
    """Sends the browser on to a page (an address relative to this one)."""
    return web.Response(status=303, headers=HEADERS | {"Location": place})


async def static_file(request: web.Request) -> web.Response:
    """A file that the pages load."""
    name = request.match_info["name"]
    if name not in _STATIC:
        raise web.HTTPNotFound(headers=HEADERS)
    headers = HEADERS | {"Cache-Control": "no-cache", "ETag": f'"{_TAGS[name]}"'}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    return web.Response(
        body=_STATIC[name], content_type=_TYPES[name], charset="utf-8", headers=headers
    )


def event_stream() -> EventSourceResponse:
    """An event stream that no proxy takes for dead while there is nothing to tell."""
    return EventSourceResponse(headers=_STREAM_HEADERS, ping_interval=limits.PING_SECONDS)


async def send_one_event(
    request: web.Request, event: Callable[[], Awaitable[str]]
) -> web.StreamResponse:
    """An event stream that tells one event, once it is known; the browser then asks afresh."""
    response = event_stream()
    try:
        await response.prepare(request)
        async with response:
            await response.send("", event=await event())
    except (ConnectionResetError, StoreError):
        pass  # the browser has left, or comes again by itself in a moment
    return response
