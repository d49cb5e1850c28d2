"""Identify a page's visitor: by the key that its address is derived from, or by the name a trusted proxy gives."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from aiohttp import web
from markupsafe import Markup

from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.walker import Person
from answerback.http.unverified_connections import mark_request_verified
from answerback.ports.person_key import KeyHolder, KeyHolderSource, holder_of
from answerback_web import render, responses
from answerback_web.page_access import LinkTarget, PageLinks
from answerback_web.posts import Post
from answerback_web.proxy_identity import TrustedProxies
from answerback_web.site import Site

logger = logging.getLogger(__name__)

PROXY_INBOX: Final = "me"
"""The name of the inbox of the person whom the proxy names."""
SHOWN_INBOX: Final = "-"
"""The name that a browser shows in place of an inbox' name; it opens none."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """An identified person."""

    person: Person
    holder: KeyHolder | None
    """The holder of the key in their pages' addresses; None: the proxy names them, and addresses prove nothing."""

    @property
    def is_operator(self) -> bool:
        """True if this is the operator, who may see everything."""
        return self.holder is not None and self.holder.is_operator


@dataclass(frozen=True, slots=True)
class Visitors:
    """The visitors of one listener.

    Args:
        operators: whether the service's own key opens its inbox here, as on the agents' listener.
        proxies: the proxies that sign people in on this listener.
    """

    access: PageLinks
    holders: KeyHolderSource
    proxies: TrustedProxies
    operators: bool
    labels: Labels
    sign_in: bool = False
    """True if people sign in on a page of this listener."""

    async def can_have_inboxes(self) -> bool:
        """Return True if any person can have an inbox here."""
        return (
            self.operators
            or self.sign_in
            or self.proxies.is_configured
            or len(await self.holders()) > 1
        )

    async def link_holder_names(self) -> list[str]:
        return [each.person.user_id for each in await self.holders() if not each.is_operator]

    def find_by_proxy(self, request: web.Request) -> Visitor | None:
        person = self.proxies.signed_in_person(request)
        return Visitor(person, None) if person is not None else None

    async def find_by_key(self, key: str) -> Visitor | None:
        holder = holder_of(key.strip(), await self.holders())
        return Visitor(holder.person, holder) if holder is not None else None

    async def find_by_inbox(self, request: web.Request) -> Visitor | None:
        """Return the person whose inbox an address opens; a person whom the proxy names takes precedence."""
        name, from_proxy = request.match_info["name"], self.find_by_proxy(request)
        if from_proxy is not None or name == PROXY_INBOX:
            return from_proxy
        holder = self.access.find_inbox_holder(name, await self.holders())
        if holder is None or not self.may_have_inbox(holder):
            return None
        return Visitor(holder.person, holder)

    def why_unknown(self, request: web.Request) -> str | None:
        """Return why an inbox' address opens nothing, for the page that asks for a key."""
        match request.match_info["name"]:
            case name if name == PROXY_INBOX:
                return None  # the address is valid, but the proxy named nobody
            case name if name == SHOWN_INBOX:
                return self.labels.sign_in_again
            case _:
                return self.labels.link_invalid

    async def find_by_link(self, request: web.Request) -> tuple[LinkTarget, Visitor | None] | None:
        """Return what an ask's address opens, and for whom; a person whom the proxy names takes precedence."""
        opened = self.access.resolve(request.match_info["link"], await self.holders())
        if opened is None:
            return None
        visitor = self.find_by_proxy(request)
        if visitor is None and opened.holder is not None:
            visitor = Visitor(opened.holder.person, opened.holder)
        return opened, visitor

    def may_have_inbox(self, holder: KeyHolder | None) -> bool:
        return self.operators or holder is None or not holder.is_operator

    def inbox_name(self, visitor: Visitor) -> str | None:
        """Return the name of a visitor's inbox; None if they have none on this listener."""
        if not self.may_have_inbox(visitor.holder):
            return None
        return PROXY_INBOX if visitor.holder is None else self.access.inbox_name(visitor.holder)

    def link(self, ask_id: str, visitor: Visitor | None) -> str:
        """Return the name of an ask's page for a visitor; without one, the page only shows the ask."""
        if visitor is None or visitor.holder is None:
            return self.access.link(ask_id)
        return self.access.answering_link(ask_id, visitor.holder)


Handler: TypeAlias = Callable[[web.Request, Visitor], Awaitable[web.StreamResponse]]


class VisitorPages:
    """The handlers of pages that belong to one visitor, below their inbox, on one listener."""

    door: ClassVar[str] = ""
    """Where a key is entered, from the service's root."""

    def __init__(self, site: Site, visitors: Visitors) -> None:
        self._site = site
        self._visitors = visitors

    def _for_visitor(self, handler: Handler) -> responses.Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            visitor = await self._visitors.find_by_inbox(request)
            if visitor is None:
                return await self._unknown_page(request)
            mark_request_verified(request)
            return await handler(request, visitor)

        return self._or_notice(handle)

    def _or_notice(self, handler: responses.Handler) -> responses.Handler:
        """Return a handler that says so if the database fails."""

        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                return await handler(request)
            except StoreError:
                logger.exception("A page of a visitor failed", extra={"action": "page"})
                unavailable, root = self._site.labels.unavailable, responses.root_from(request)
                return self._site.notice_page(503, unavailable, root=root, home=None)

        return handle

    async def _unknown_page(self, request: web.Request) -> web.Response:
        """Return the page that asks for a key, in place of one below an inbox that nobody has."""
        if not await self._visitors.can_have_inboxes():
            raise web.HTTPNotFound(headers=responses.HEADERS)
        root = responses.root_from(request)
        error = self._visitors.why_unknown(request)
        return self._site.door_page(403, root=root, here=root + self.door, error=error)

    async def _read(
        self, request: web.Request, visitor: Visitor, home: str | None = None
    ) -> Post | web.Response:
        signed_in = visitor.holder is None
        return await self._site.read_post(request, root="../../", home=home, signed_in=signed_in)

    def _extension_page(
        self,
        visitor: Visitor,
        heading: str,
        content: Markup,
        *,
        error: str | None = None,
        status: int = 200,
    ) -> web.Response:
        """Return a page of an extension, one level below the visitor's inbox."""
        body = self._site.render_template(
            "extension",
            root="../../",
            home=self._home(visitor),
            you=render.visitor_line(visitor.person, self._site.labels),
            error=error,
            heading=heading,
            content=content,
        )
        return responses.page_response(body, status)

    def _home(self, visitor: Visitor) -> str:
        return f"../../inbox/{self._visitors.inbox_name(visitor)}"
