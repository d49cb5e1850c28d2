"""Guard a loopback listener against pages of other origins and against names that merely resolve to this machine.

Any page that a browser on this machine visits can make it send requests to a loopback port
(cross-site requests, DNS rebinding). This module only decides that; `answerback.api.auth` authenticates callers.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from answerback.api.problems import problem_document

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# https://w3c.github.io/webappsec-fetch-metadata/#sec-fetch-site-header
_OWN_SITE: Final = frozenset({"same-origin", "none"})


def refuse_cross_origin(request: web.Request) -> web.Response | None:
    """Refuse a request that was not sent to a loopback name from our own origin; None if it was."""
    reason = refusal_reason(request)
    return None if reason is None else problem_document(403, "Refused", reason).response()


def guard_route(route: web.RouteDef) -> web.RouteDef:
    """Put one route behind the guard, for a listener that is not guarded as a whole."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return refuse_cross_origin(request) or await route.handler(request)

    return web.RouteDef(route.method, route.path, handle, route.kwargs)


def refusal_reason(request: web.Request) -> str | None:
    """Return why a request is refused on a loopback listener, or None."""
    port = _own_port(request)
    hosts = request.headers.getall("Host", [])
    if len(hosts) != 1 or not _is_own(f"http://{hosts[0]}", port):
        return f"Use a loopback name: http://localhost:{port} or http://127.0.0.1:{port}."
    site = request.headers.get("Sec-Fetch-Site")
    for origin in request.headers.getall("Origin", []):
        # A form on a page that sends no referrer has the origin "null"; Sec-Fetch-Site then says whose page it is.
        if origin != f"http://{hosts[0]}" and not (origin == "null" and site == "same-origin"):
            return (
                "The request comes from a page of another origin, which may not use this service."
            )
    if site is not None and site not in _OWN_SITE and not _follows_local_link(request, site):
        return "The request comes from a page of another site; open the address itself."
    return None


def _follows_local_link(request: web.Request, site: str) -> bool:
    """Return True if a person followed a link from another port of this machine, which only shows a page."""
    return (
        site == "same-site"
        and request.method == "GET"
        and request.headers.get("Sec-Fetch-Mode") == "navigate"
        and request.headers.get("Sec-Fetch-Dest") == "document"
    )


@lru_cache(
    maxsize=64
)  # 2 µs each, up to five times an action; nearly all requests name one of two hosts
def _is_own(origin: str, port: int) -> bool:
    try:
        parts = urlsplit(origin)
        named = parts.port
    except ValueError:
        return False
    bare = parts.netloc and not (parts.path or parts.query or parts.fragment or "@" in parts.netloc)
    return bool(bare) and parts.hostname in LOOPBACK_NAMES and named in {None, port}


def _own_port(request: web.Request) -> int:
    address = request.transport.get_extra_info("sockname") if request.transport else None
    return int(address[1]) if address else 0
