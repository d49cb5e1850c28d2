"""The requests of an installed page and its notifications: the manifest, the worker, and a person's devices."""

from __future__ import annotations

import hashlib
from typing import Final
from urllib.parse import quote

from aiohttp import web

from answerback.core.actions import Answer
from answerback.core.intents import Intent
from answerback.core.person import AuthMethod
from answerback.http.service_workers import OWN_WORKER, removal_response
from answerback.ports.push import NewSubscription, PushDevices
from answerback.ports.surface import Acted, Actor
from answerback_web import push_text, render, responses
from answerback_web.site import NAME, RemovableRow, Site
from answerback_web.visitors import Visitor, VisitorPages, Visitors

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


def worker_name(server_key: str) -> str:
    """Return the file name of the worker for a key: after the key has changed, there is no such worker any more."""
    return f"worker-{hashlib.sha256(server_key.encode()).hexdigest()[:16]}.js"


class PushPages(VisitorPages):
    """The handlers of notifications, for the visitors of one listener."""

    def __init__(self, site: Site, visitors: Visitors, push: PushDevices) -> None:
        super().__init__(site, visitors)
        self._push = push

    def routes(self) -> list[web.RouteDef]:
        """Return the routes. Those below an inbox are that person's."""
        devices, ask = "/inbox/{name}/devices", "/inbox/{name}/asks/{ask}"
        return [
            web.get(devices, self._for_visitor(self._devices)),
            web.post(devices, self._for_visitor(self._change)),
            web.get(ask, self._for_visitor(self._open)),
            web.post(ask, self._for_visitor(self._deny)),
            web.get(r"/a/-/{worker:worker-[0-9a-f]+\.js}", self._worker, name=OWN_WORKER),
        ]

    async def _worker(self, request: web.Request) -> web.Response:
        """Serve the worker; one of an earlier key, or of whoever planted it, removes itself."""
        key = await self._push.server_key()
        if request.match_info["worker"] != worker_name(key):
            return removal_response()
        headers = responses.HEADERS | {"Service-Worker-Allowed": "/"}
        return web.Response(
            text=responses.worker_script(key), content_type="text/javascript", headers=headers
        )

    async def _devices(self, _request: web.Request, visitor: Visitor) -> web.Response:
        home = self._home(visitor)
        devices = await self._push.list_for(visitor.person.user_id)
        you = render.visitor_line(visitor.person, self._site.labels)
        rows = [RemovableRow(each.id, each.device or each.id, each.at) for each in devices]
        body = self._site.render_template(
            "devices", root="../../", home=home, rows=rows, you=you, error=None
        )
        return responses.page_response(body)

    async def _change(self, request: web.Request, visitor: Visitor) -> web.StreamResponse:
        """Subscribe the browser that sends this, or remove a device."""
        post = await self._read(request, visitor)
        if isinstance(post, web.Response):
            return post
        person = visitor.person.user_id
        if post.first("do") == "remove":
            await self._push.unsubscribe(person, post.first("id"))
            return responses.see_other("devices")
        device = request.headers.get("User-Agent", "")
        new = NewSubscription(post.first("endpoint"), post.first("key"), post.first("auth"), device)
        credential = visitor.holder.key_hash if visitor.holder else ""
        added = await self._push.subscribe(person, credential, new)
        return web.Response(status=204 if added else 422, headers=responses.HEADERS)

    async def _open(self, request: web.Request, visitor: Visitor) -> web.Response:
        """Redirect to the page of an ask, if it is one of the person's: its id alone opens nothing."""
        ask = await self._site.service.get(request.match_info["ask"])
        if ask is None or not (
            visitor.is_operator or await self._push.is_about(visitor.person, ask)
        ):
            labels = self._site.labels
            return self._site.notice_page(404, labels.page_missing, root="../../../", home=None)
        return responses.see_other(f"../../../a/{self._visitors.link(ask.id, visitor)}")

    async def _deny(self, request: web.Request, visitor: Visitor) -> web.Response:
        """Deny a permission, if it is still what the person was notified of."""
        post = await self._read(request, visitor)
        if isinstance(post, web.Response):
            return post
        ask = await self._site.service.get(request.match_info["ask"])
        option = push_text.denial_of(ask) if ask is not None and self._push.rules.deny else None
        if ask is None or option is None:
            return web.Response(status=409, headers=responses.HEADERS)
        person = visitor.person
        delivery = f"{NAME}:{ask.id}:{post.digest_by(person)}"
        service = self._site.service
        surface = None if service.people.name_of(person) is not None else NAME
        action = Answer(value=option.value)
        intent = Intent(ask.id, action, post.revision, delivery, surface=surface)
        result = await service.apply(intent, Actor(person))
        status = 204 if isinstance(result, Acted) else 409
        return web.Response(status=status, headers=responses.HEADERS)
