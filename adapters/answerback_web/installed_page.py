"""The manifest of the page, for browsers that install it."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from aiohttp import web

from answerback.core.person import AuthMethod
from answerback_web import responses
from answerback_web.visitors import Visitors

_ICONS: Final = (("icon-192.png", "192x192"), ("icon-512.png", "512x512"))
_HOME: Final = "../{}"


async def manifest(visitors: Visitors, request: web.Request) -> web.Response:
    """Describe the page to a browser that installs it: it opens the inbox that it was installed from.

    What somebody installs who has signed in begins with a sign-in: their inbox belongs to one tab.
    """
    visitor = await visitors.find_by_inbox(request)
    is_session = visitor is not None and visitor.person.known is AuthMethod.OIDC
    start = "../../" if is_session else _HOME.format(quote(request.match_info["name"]))
    icons = [
        {"src": f"../../a/-/{name}", "sizes": size, "type": "image/png"} for name, size in _ICONS
    ]
    body = {
        "name": "Answerback",
        "start_url": start,
        "scope": "../../",
        "display": "standalone",
        "background_color": "#ffffff",
        "theme_color": "#ffffff",
        "icons": [*icons, {"src": "../../a/-/icon.svg", "sizes": "any", "type": "image/svg+xml"}],
    }
    return web.json_response(
        body, content_type="application/manifest+json", headers=responses.HEADERS
    )
