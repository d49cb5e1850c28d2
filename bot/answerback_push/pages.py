"""The pages of notifications: a person's devices, the worker that shows notifications, and what it sends and opens."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from aiohttp import web

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.intents import Intent
from answerback.core.labels import Labels
from answerback.core.person import AuthMethod, Person
from answerback.http.service_workers import OWN_WORKER, removal_response
from answerback.ports.surface import Acted, Actor
from answerback_push import push_text
from answerback_push.devices import Devices
from answerback_push.subscriptions import NewSubscription
from answerback_web import responses
from answerback_web.extension_pages import ExtensionPages, PageLink
from answerback_web.site import NAME, RemovableRow, Site
from answerback_web.visitors import Visitor, VisitorPages, Visitors

_DEVICES: Final = "devices"


@cache
def _worker_template() -> str:
    return (resources.files("answerback_push") / "static" / "worker.js").read_text("utf-8")


def worker_name(server_key: str) -> str:
    """Return the file name of the worker for a key: after the key has changed, there is no such worker any more."""
    return f"worker-{hashlib.sha256(server_key.encode()).hexdigest()[:16]}.js"


class PushPages(ExtensionPages):
    """The pages on both listeners."""

    templates = "answerback_push"

    def __init__(self, devices: Devices) -> None:
        self._devices = devices

    def routes(self, site: Site, visitors: Visitors) -> Sequence[web.RouteDef]:
        return _DevicePages(site, visitors, self._devices).routes()

    async def links(self, visitor: Visitor, labels: Labels) -> Sequence[PageLink]:
        return [PageLink(_DEVICES, labels.devices)] if _can_subscribe(visitor) else []

    async def note_shown(self, person: Person, asks: Sequence[Ask]) -> None:
        await self._devices.note_seen(person.user_id, asks)

    async def notify_data(self, visitor: Visitor, *, root: str, home: str) -> Mapping[str, str]:
        if not _can_subscribe(visitor):
            return {}
        key = await self._devices.server_key()
        worker = f"{root}a/-/{worker_name(key)}"
        return {"push": key, "worker": worker, "devices": f"{home}/{_DEVICES}"}


def _can_subscribe(visitor: Visitor) -> bool:
    # The inbox of somebody who has signed in belongs to one tab: a device would keep its address.
    return visitor.person.known is not AuthMethod.OIDC


class _DevicePages(VisitorPages):
    """The handlers for the visitors of one listener."""

    def __init__(self, site: Site, visitors: Visitors, devices: Devices) -> None:
        super().__init__(site, visitors)
        self._devices = devices

    def routes(self) -> list[web.RouteDef]:
        """Return the routes. Those below an inbox are that person's."""
        devices, ask = f"/inbox/{{name}}/{_DEVICES}", "/inbox/{name}/asks/{ask}"
        return [
            web.get(devices, self._for_visitor(self._show)),
            web.post(devices, self._for_visitor(self._change)),
            web.get(ask, self._for_visitor(self._open)),
            web.post(ask, self._for_visitor(self._deny)),
            web.get(r"/a/-/{worker:worker-[0-9a-f]+\.js}", self._worker, name=OWN_WORKER),
        ]

    async def _worker(self, request: web.Request) -> web.Response:
        """Serve the worker; one of an earlier key, or of whoever planted it, removes itself."""
        key = await self._devices.server_key()
        if request.match_info["worker"] != worker_name(key):
            return removal_response()
        headers = responses.HEADERS | {"Service-Worker-Allowed": "/"}
        template = await asyncio.to_thread(_worker_template)
        script = template.replace("{channel}", responses.static_text("channel.js"))
        return web.Response(
            text=script.replace("{key}", key), content_type="text/javascript", headers=headers
        )

    async def _show(self, _request: web.Request, visitor: Visitor) -> web.Response:
        devices, labels = await self._devices.list_for(visitor.person.user_id), self._site.labels
        rows = [RemovableRow(each.id, each.device or each.id, each.at) for each in devices]
        content = responses.render_content("answerback_push/devices", rows=rows, labels=labels)
        return self._extension_page(visitor, labels.devices, content)

    async def _change(self, request: web.Request, visitor: Visitor) -> web.StreamResponse:
        """Subscribe the browser that sends this, or remove a device."""
        post = await self._read(request, visitor)
        if isinstance(post, web.Response):
            return post
        person = visitor.person.user_id
        if post.first("do") == "remove":
            await self._devices.unsubscribe(person, post.first("id"))
            return responses.see_other(_DEVICES)
        device = request.headers.get("User-Agent", "")
        new = NewSubscription(post.first("endpoint"), post.first("key"), post.first("auth"), device)
        credential = visitor.holder.key_hash if visitor.holder else ""
        added = await self._devices.subscribe(person, credential, new)
        return web.Response(status=204 if added else 422, headers=responses.HEADERS)

    async def _open(self, request: web.Request, visitor: Visitor) -> web.Response:
        """Redirect to the page of an ask, if it is one of the person's: its id alone opens nothing."""
        ask = await self._site.service.get(request.match_info["ask"])
        if ask is None or not (
            visitor.is_operator or await self._devices.is_about(visitor.person, ask)
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
        option = push_text.denial_of(ask) if ask is not None and self._devices.rules.deny else None
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
