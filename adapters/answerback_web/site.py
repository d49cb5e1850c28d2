"""Shared by all pages: key holders, labels, addresses, reading form posts, and the service."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.files import AttachedFile
from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback.http.file_response import send_file
from answerback.http.request_body import BodyReader
from answerback.http.unverified_connections import mark_request_verified
from answerback.ports.person_key import KeyHolder, KeyHolderSource
from answerback.ports.surface import Asks
from answerback_web import limits, page_access, responses
from answerback_web.page_access import PageLinks
from answerback_web.page_proof import PageProofs
from answerback_web.posts import Post, parse_post
from answerback_web.sealed_requests import FORM, WatchAddresses

NAME: Final = "web"
HIDDEN_HEADER: Final = "Answerback-Hidden"
"""Sent by a page in the background, which no person sees."""
_DAY: Final = 86_400.0
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class RemovableRow:
    """A row of a page's list of what a person can remove: a device, an account, an agent."""

    id: str
    text: str
    at: float | None = None
    """Since when it is there; None if that is not shown."""


@dataclass(frozen=True, slots=True)
class Site:
    """The context that the handlers of all pages share."""

    access: PageLinks
    labels: Labels
    local_url: str
    public_url: str | None
    now: Callable[[], float]
    holders: KeyHolderSource
    agents: Mapping[str, str]
    service: Asks
    link_days: float = math.inf
    sign_in: str | None = None
    """The path, from the root, of the page where people sign in; None: they need a key, or a proxy signs them in."""
    bodies: BodyReader = field(default_factory=lambda: BodyReader(limits.MAX_POST))

    @property
    def watching(self) -> WatchAddresses:
        """The addresses at which scripts wait for changes."""
        return WatchAddresses(self.access.secret)

    @property
    def proofs(self) -> PageProofs:
        """The proofs that answers come from this site."""
        return PageProofs(self.access.secret)

    def draft_key(self, person: Person | None) -> str | None:
        """Return the key under which a person's browser keeps what they have not sent; None for an unknown visitor."""
        if person is None:
            return None
        message = f"answerback:web:drafts:{person.surface}:{person.user_id}".encode()
        return hmac.new(self.access.secret, message, hashlib.sha256).hexdigest()

    def file_address(self, file: AttachedFile, holder: KeyHolder | None = None) -> str:
        """Return where a page gets a file, as seen from the pages of asks: for some minutes only.

        Args:
            holder: whose page it is, if a key opened it.
        """
        return f"../a/-/file/{self.access.file_token(file.id, self.now(), holder)}"

    async def send_file(self, request: web.Request) -> web.StreamResponse:
        """Send a file to a page, as long as the key or the link that opened the page is valid."""
        holders = await self.holders()
        target = self.access.resolve_file(request.match_info["token"], self.now(), holders)
        stored = None if target is None else await self.service.files.get(target.file_id)
        if target is None or stored is None or stored.ask_id is None:
            raise web.HTTPNotFound(headers=responses.HEADERS)
        ask = await self.service.get(stored.ask_id)
        if ask is None or (target.is_link and self.has_link_ended(ask)):
            raise web.HTTPNotFound(headers=responses.HEADERS)
        mark_request_verified(request)
        read = partial(self.service.files.read_chunk, stored.file.id)
        return await send_file(request, stored.file, read)

    def has_link_ended(self, ask: Ask) -> bool:
        """Return whether the link that only shows an ask no longer works: the ask has ended long enough ago."""
        outcome = ask.outcome
        return outcome is not None and self.now() - outcome.at > self.link_days * _DAY

    async def note_seen(self, asks: Iterable[Ask]) -> None:
        """Note that a visitor sees asks that are shown on the web; the page is shown even if that cannot be stored."""
        with suppress(StoreError):
            await self.service.note_seen(
                ask for ask in asks if ask.placement.destination.surface == NAME
            )

    async def read_post(
        self,
        request: web.Request,
        *,
        root: str,
        home: str | None,
        signed_in: bool = False,
    ) -> Post | web.Response:
        """Return a form post from one of our own pages, or the page that says why it is rejected.

        Args:
            signed_in: whether a proxy identifies the sender. Any site could then make the browser post in that
                person's name, so the browser has to state where the post comes from.
        """
        if request.content_type != _FORM:
            return self.notice_page(415, self.labels.page_refused, root=root, home=home)
        body = request[FORM] if FORM in request else await self.bodies.read(request)
        if isinstance(body, web.Response) and body.status != 413:
            return body
        post = parse_post(body) if isinstance(body, bytes) else None
        if post is None:
            return self.notice_page(413, self.labels.page_too_large, root=root, home=home)
        headers = request.headers
        origin, site = headers.get("Origin"), headers.get("Sec-Fetch-Site")
        is_local = page_access.is_own_page(origin, site, request.host)
        own = is_local or self._is_public_page(origin, site)
        if own and (origin or site or not signed_in):
            return post
        return self.notice_page(403, self.labels.page_refused, root=root, home=home)

    def _is_public_page(self, origin: str | None, site: str | None) -> bool:
        """Return True if the post comes from our page at its public address; a proxy may have changed the Host."""
        return page_access.is_own_page(origin, site, urlsplit(self.public_url or "").netloc)

    def door_page(
        self,
        status: int,
        *,
        root: str,
        here: str,
        error: str | None = None,
        unsaved_texts: tuple[str, ...] = (),
    ) -> web.Response:
        """Return the page that asks for a key, which it sends to ``here``.

        Args:
            unsaved_texts: texts to show, which would be lost otherwise.
        """
        body = self.render_template(
            "door", root=root, home=None, here=here, error=error, unsaved_texts=unsaved_texts
        )
        return responses.page_response(body, status)

    def notice_page(
        self,
        status: int,
        message: str,
        *,
        root: str,
        home: str | None,
        unsaved_texts: tuple[str, ...] = (),
    ) -> web.Response:
        """Return a page with one message.

        Args:
            home: the visitor's inbox, if they have one.
            unsaved_texts: texts to show, which would be lost otherwise.
        """
        title = self.labels.page_not_found if status == 404 else self.labels.page_problem
        body = self.render_template(
            "notice",
            root=root,
            home=home,
            title=title,
            message=message,
            unsaved_texts=unsaved_texts,
        )
        return responses.page_response(body, status)

    def with_pages(self, route: web.RouteDef) -> web.RouteDef:
        """Return a route whose handler says on a page that there is no such page."""

        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                return await route.handler(request)
            except web.HTTPNotFound:
                return await self.missing(request)

        return web.RouteDef(route.method, route.path, handle, route.kwargs)

    async def missing(self, request: web.Request) -> web.StreamResponse:
        """Say that there is no such page. Nothing more is told, so it leads nowhere."""
        return self.notice_page(
            404, self.labels.page_missing, root=responses.root_from(request), home=None
        )

    def render_template(self, name: str, **context: object) -> str:
        lang = "en" if self.labels == Labels() else "und"
        return responses.render_template(
            name,
            labels=self.labels,
            lang=lang,
            proof=self.proofs.new_pair(),
            sign_in=self.sign_in,
            **context,
        )
