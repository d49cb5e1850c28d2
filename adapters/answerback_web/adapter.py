"""The web surface: an inbox and a page per ask, over aiohttp.

Owns the routes and the pages' addresses. There is no live message to keep up to date: a page is
rendered from the stored ask on each request, and follows its ask while it is open. The listeners need
``handler_cancellation``; without it, an event stream would continue after the browser has left.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import quote

from aiohttp import web

from answerback.core.ask import ANYONE, Ask, Destination, Thread
from answerback.core.labels import Labels
from answerback.ports.person_key import KeyHolderSource
from answerback.ports.surface import Asks, Shown
from answerback_web import responses
from answerback_web.ask_page import AskPages
from answerback_web.extension_pages import ExtensionPages
from answerback_web.inbox import Inbox
from answerback_web.installed_page import manifest
from answerback_web.page_access import PageLinks
from answerback_web.proxy_identity import TrustedProxies
from answerback_web.sealed_requests import SealedRequests, Tickets
from answerback_web.site import NAME, Site
from answerback_web.visitors import Visitors

_NO_PAGES: Final = ("/a/{link}/{rest:.*}", "/inbox", "/inbox/", "/inbox/{name}/{rest:.*}")
"""The paths that no page answers: a page says so, also where pages that are not configured would be."""


class WebSurface:
    """The web page as a surface.

    Args:
        secret: 32 fixed bytes, the key of links and tokens.
        labels: all texts on the pages.
        local_url: the address of the agents' listener.
        public_url: the public address of the public listener; None if there is none.
        holders: returns the holders of valid keys, the service's own first.
        tokens: whether agents need tokens.
        agents: the agents' labels by name.
        now: returns the time in seconds since the epoch.
        proxies: the proxies that sign people in on the public listener.
        link_days: days after an ask's end for which its read-only link works.
        extensions: the pages that extensions add.
    """

    name = NAME
    live = False

    def __init__(
        self,
        asks: Asks,
        *,
        secret: bytes,
        labels: Labels,
        local_url: str,
        now: Callable[[], float],
        holders: KeyHolderSource,
        public_url: str | None = None,
        tokens: bool = False,
        agents: Mapping[str, str] | None = None,
        proxies: TrustedProxies | None = None,
        link_days: float = math.inf,
        extensions: Sequence[ExtensionPages] = (),
    ) -> None:
        access = PageLinks(secret, (public_url or local_url).rstrip("/"))
        self._site = Site(
            access, labels, local_url, public_url, now, holders, agents or {}, asks, link_days
        )
        self._local = Visitors(access, holders, TrustedProxies(), operators=True, labels=labels)
        trusted = proxies or TrustedProxies()
        self._sign_in = next((path for each in extensions if (path := each.sign_in())), None)
        self._public = Visitors(
            access,
            holders,
            trusted,
            operators=False,
            labels=labels,
            sign_in=self._sign_in is not None,
        )
        self._tokens = tokens
        self._extensions = extensions

    # --- the surface -------------------------------------------------------------------------------

    async def start(self) -> None:
        """Do nothing: the listeners serve the pages."""

    async def stop(self) -> None:
        """Do nothing: the listeners finish the requests in progress."""

    def unready_reason(self) -> str | None:
        """Return None: pages can always be opened."""
        return None

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown:
        """Return the page's address; the page itself is rendered from the stored ask."""
        return Shown(ask.revision, {}, Thread(url=self.url(ask.id)))

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """Return anyone, that is, everyone who can open the page."""
        return (ANYONE,)

    def destination_problem(self, destination: Destination) -> str | None:
        """Reject channels, threads and users: the web page has none."""
        if destination.channel or destination.thread or destination.user:
            return 'The web page has no channels and no users: write "web".'
        return None

    def url(self, ask_id: str) -> str:
        """Return the address of an ask's page. Agents receive this address, so it only shows the ask."""
        return self._site.access.url(ask_id)

    async def inbox_url(self) -> str:
        """Return the address that opens the inbox. It contains the key, so it is only for the operator."""
        operator = (await self._site.holders())[0]
        return f"{self._site.local_url}/?key={quote(operator.link_secret)}"

    async def answering_url(self, ask_id: str) -> str:
        """Return the address at which the operator may answer one ask, on this machine."""
        holder = (await self._site.holders())[0]
        return f"{self._site.local_url}/a/{self._site.access.answering_link(ask_id, holder)}"

    # --- routes ------------------------------------------------------------------------------------

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the agents' listener."""
        return self._routes(self._local)

    def public_routes(self) -> list[web.RouteDef]:
        """Return the routes of the public listener: single asks by their links, and people's own inboxes."""
        return self._routes(self._public)

    def _routes(self, visitors: Visitors) -> list[web.RouteDef]:
        site = self._site
        if visitors.sign_in:
            site = replace(site, sign_in=self._sign_in)
        asks = AskPages(site, visitors, self._extensions)
        inbox = Inbox(
            site,
            visitors,
            tokens=self._tokens,
            asks=asks,
            extensions=self._extensions,
        )
        routes = [
            web.get("/", inbox.sign_in_page),
            web.post("/", inbox.sign_in),
            web.get("/inbox/{name}", inbox.get),
            web.post("/inbox/{name}", inbox.decide),
            web.get("/inbox/{name}/events", inbox.events),
            web.get("/inbox/{name}/history", inbox.history),
            web.get("/inbox/{name}/manifest.json", partial(manifest, visitors)),
            *(route for each in self._extensions for route in each.routes(site, visitors)),
            web.get("/a/{link}", asks.with_link_access(asks.get)),
            web.post("/a/{link}", asks.with_link_access(asks.post)),
            web.get("/a/{link}/events", asks.with_link_access(asks.events)),
            *(web.get(path, self._site.missing) for path in _NO_PAGES),
        ]
        packages = tuple(each.templates for each in self._extensions if each.templates)
        pages = [
            responses.with_compiled_templates(self._site.with_pages(each), packages)
            for each in routes
        ]
        sealed = SealedRequests(
            self._site.proofs, self._tickets(visitors), self._site.watching, pages
        )
        static = web.get("/a/-/{name}", responses.static_file)
        files = web.get("/a/-/file/{token}", self._site.send_file)
        others = (static, files)
        return [self._site.proofs.guard(each) for each in (*sealed.routes(), *pages, *others)]

    def _tickets(self, visitors: Visitors) -> Tickets:
        """Return a listener's tickets.

        A restart of the service makes those of the agents' listener worthless. The replicas behind a public listener
        share theirs, because the two requests of a page may reach different ones.
        """
        key = secrets.token_bytes(32) if visitors.operators else self._site.access.secret
        return Tickets(key, self._site.now)
