"""Pages as HTTP responses: templates, static files, event streams, and the security headers.

Templates and files are read once, at import: no request waits for the disk. Templates are compiled, and Jinja and
Pygments are imported, at the first request for a page: that takes a tenth of a second and 4 MB of memory, which
services that show no page do not spend.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from aiohttp import web
from aiohttp_sse import EventSourceResponse
from markupsafe import Markup
from pydantic import JsonValue

from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.presentation.attribution import utc_time
from answerback.presentation.wording import end_turn_text, sentence
from answerback_web import limits, people_text, question_context

if TYPE_CHECKING:
    from jinja2 import Environment

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
        " manifest-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # The origin only: a page's address is a secret. Not "no-referrer": browsers would then send "Origin: null" with
    # our own forms (https://fetch.spec.whatwg.org/#append-a-request-origin-header).
    "Referrer-Policy": "strict-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A proxy that changed the body would break its proof.
    "Cache-Control": "no-store, no-transform",
}
_STREAM_HEADERS: Final = {k: v for k, v in HEADERS.items() if k != "Cache-Control"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_FILES: Final = resources.files("answerback_web")
_TYPES: Final = {
    "page.css": "text/css",
    "channel.js": "text/javascript",
    "undo.js": "text/javascript",
    "rows.js": "text/javascript",
    "comments.js": "text/javascript",
    "drafts.js": "text/javascript",
    "pictures.js": "text/javascript",
    "attach.js": "text/javascript",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "icon-192.png": "image/png",
    "icon-512.png": "image/png",
}


def _code(text: str) -> Markup:
    """Mark up what stands between backticks in one of our sentences as code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else part for i, part in enumerate(parts)
    )


_TEMPLATES: Final = {
    each.name: each.read_text("utf-8") for each in (_FILES / "templates").iterdir()
}


def _read_template(name: str) -> str | None:
    """Return a template of an extension, ``PACKAGE/NAME.html``; None: there is none."""
    package, _, file = name.rpartition("/")
    if not package:
        return None
    template = resources.files(package) / "templates" / file
    return template.read_text("utf-8") if template.is_file() else None


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, DictLoader, Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([DictLoader(_TEMPLATES), FunctionLoader(_read_template)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"sentence": sentence, "end_turn_text": end_turn_text}
    environment.filters |= {
        "code": _code,
        "iso": people_text.iso,
        "time": people_text.time,
        "utc_time": utc_time,
    }
    return environment


_STATIC: Final = {name: (_FILES / "static" / name).read_bytes() for name in _TYPES}
_TAGS: Final = {name: hashlib.sha256(body).hexdigest()[:16] for name, body in _STATIC.items()}


def root_from(request: web.Request) -> str:
    """Return the relative address of the service's root from the address that was requested."""
    return "../" * (request.path.count("/") - 1)


_SCRIPT: Final = re.compile(r"<script [^>]*></script>")
_STYLESHEET: Final = re.compile(r'<link rel="stylesheet"[^>]*>')


_DEFAULTS: Final[dict[str, object]] = {
    "you": None,
    "search": None,
    "record": (),
    "elsewhere": None,
    "proof": None,
    "drafts": None,
    "draft": None,
    "events": "",
    "opened": None,
    "listed": False,
    "asked_at": None,
    "confirmations": 0,
    "installable": False,
    "sign_in": None,
}
"""Template variables that only some pages set."""


_COMPILED: Final[set[tuple[str, ...]]] = set()
"""The packages of extensions whose templates are compiled, as they were given together."""


def with_compiled_templates(route: web.RouteDef, packages: tuple[str, ...]) -> web.RouteDef:
    """Return a route that is handled once all templates are compiled, without blocking the event loop.

    Args:
        packages: the packages of extensions that have templates.
    """

    async def handle(request: web.Request) -> web.StreamResponse:
        if packages not in _COMPILED:
            await asyncio.to_thread(compile_templates, packages)
            _COMPILED.add(packages)
        return await route.handler(request)

    return web.RouteDef(route.method, route.path, handle, route.kwargs)


def compile_templates(packages: tuple[str, ...]) -> None:
    """Compile the templates of pages; jinja keeps them.

    Args:
        packages: as in `with_compiled_templates`.
    """
    folders = {package: resources.files(package) / "templates" for package in packages}
    added = [f"{package}/{each.name}" for package, at in folders.items() for each in at.iterdir()]
    for name in (*_TEMPLATES, *added):
        _environment().get_template(name)
    question_context.css_classes()


def render_template(name: str, **context: object) -> str:
    """Render a page's markup; everything in ``context`` is escaped when it is inserted."""
    return _environment().get_template(f"{name}.html").render(_DEFAULTS | context)


def render_content(name: str, **context: object) -> Markup:
    """Return what a template of an extension renders, to be inserted into a page."""
    return Markup(render_template(name, **context))  # the template has escaped what it was given


def render_standalone(labels: Labels, **context: object) -> str:
    """Render an ask's page as a self-contained document with its styles inlined and without its script."""
    html = render_template("ask", labels=labels, lang="en", root="", home=None, here="", **context)
    style = f"<style>{_STATIC['page.css'].decode()}</style>"
    html = _STYLESHEET.sub(lambda _: style, _SCRIPT.sub("", html))
    icon = base64.b64encode(_STATIC["icon.svg"]).decode()
    return html.replace("a/-/icon.svg", f"data:image/svg+xml;base64,{icon}")


def page_response(body: str, status: int = 200) -> web.Response:
    return web.Response(text=body, status=status, content_type="text/html", headers=HEADERS)


def json_response(value: JsonValue) -> web.Response:
    """Return what a script reads."""
    return web.json_response(value, headers=HEADERS)


def see_other(place: str) -> web.Response:
    """Redirect the browser to a page (an address relative to this one)."""
    return web.Response(status=303, headers=HEADERS | {"Location": place})


async def static_file(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if name not in _STATIC:
        raise web.HTTPNotFound(headers=HEADERS)
    headers = HEADERS | {"Cache-Control": "no-cache", "ETag": f'"{_TAGS[name]}"'}
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return web.Response(status=304, headers=headers)
    charset = None if name.endswith(".png") else "utf-8"
    return web.Response(
        body=_STATIC[name], content_type=_TYPES[name], charset=charset, headers=headers
    )


def static_text(name: str) -> str:
    """Return the text of one of the page's own files, such as ``channel.js``, for a script that has a copy of it."""
    return _STATIC[name].decode()


def event_stream() -> EventSourceResponse:
    """Return an event stream that sends pings, so that no proxy closes it while there is no event."""
    return EventSourceResponse(headers=_STREAM_HEADERS, ping_interval=limits.PING_SECONDS)


async def send_one_event(
    request: web.Request, event: Callable[[], Awaitable[str]]
) -> web.StreamResponse:
    """Send one event on a stream once it is known, and close it; the browser then fetches the page and reconnects."""
    response = event_stream()
    try:
        await response.prepare(request)
        try:
            await response.send("", event=await event())
        finally:
            response.stop_streaming()
    except (ConnectionResetError, StoreError):
        pass  # the browser has left, or will reconnect in a moment
    return response
