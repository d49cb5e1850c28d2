"""The inbox: what waits for somebody, live while it is open; the history; and the door that takes the key to both."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple
from urllib.parse import quote

from aiohttp import web

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.http.unverified_connections import mark_request_verified
from answerback.ports.store_values import Page
from answerback_web import history_filters, inbox_items, render, responses
from answerback_web.inbox_items import SearchForm
from answerback_web.site import NAME, Site
from answerback_web.visitors import PROXY_INBOX, Visitor, Visitors

logger = logging.getLogger(__name__)

_PAGE: Final = 30
"""Asks a page: a screen or two."""


class _Frame(NamedTuple):
    """Where a page lies among the others."""

    root: str
    home: str | None
    """Where the visitor's inbox is."""


class Inbox:
    """The handlers of the inbox.

    Args:
        tokens: whether agents need tokens: the example shows one then.
    """

    def __init__(self, front: Site, visitors: Visitors, *, tokens: bool) -> None:
        self._front = front
        self._visitors = visitors
        self._tokens = tokens

    async def sign_in_page(self, request: web.Request) -> web.StreamResponse:
        """Asks for the key; the addresses that `answerback serve` and `answerback person` print carry it.

        Whoever the proxy names goes straight in. Where nobody can have an inbox, there is no door.
        """
        try:
            if self._visitors.find_by_proxy(request) is not None:
                return responses.see_other(f"inbox/{PROXY_INBOX}")
            if not await self._visitors.can_have_inboxes():
                raise web.HTTPNotFound(headers=responses.HEADERS)
            if "key" not in request.query:
                return self._closed(200, root="")
            return await self._let_in(request, request.query["key"])
        except StoreError:
            return self._failed("")

    async def sign_in(self, request: web.Request) -> web.StreamResponse:
        """Takes the key that was entered at the door."""
        try:
            if not await self._visitors.can_have_inboxes():
                raise web.HTTPNotFound(headers=responses.HEADERS)
            post = await self._front.read_post(request, root="", home=None)
            if isinstance(post, web.Response):
                return post
            return await self._let_in(request, post.first("key"))
        except StoreError:
            return self._failed("")

    async def _let_in(self, request: web.Request, key: str) -> web.StreamResponse:
        visitor = await self._visitors.find_by_key(key)
        if visitor is None:
            return self._closed(403, root="", error=self._front.labels.key_wrong)
        mark_request_verified(request)
        name = self._visitors.inbox_name(visitor)
        if name is None:
            return self._closed(403, root="", error=self._front.labels.key_elsewhere)
        return responses.see_other(f"inbox/{name}")

    def _closed(self, status: int, *, root: str, error: str | None = None) -> web.Response:
        body = self._front.render_template(
            "door", root=root, home=None, here=root or "./", error=error
        )
        return responses.page_response(body, status)

    def _failed(self, root: str) -> web.Response:
        logger.exception("The inbox failed", extra={"action": "page"})
        return self._front.notice_page(503, self._front.labels.unavailable, root=root, home=None)

    async def _visitor(self, request: web.Request) -> Visitor | None:
        visitor = await self._visitors.find_by_inbox(request)
        if visitor is None and not await self._visitors.can_have_inboxes():
            raise web.HTTPNotFound(headers=responses.HEADERS)
        if visitor is not None:
            mark_request_verified(request)
        return visitor

    async def get(self, request: web.Request) -> web.StreamResponse:
        """What waits for somebody, the oldest first."""
        return await self._shown(request, "../", self._waiting)

    async def history(self, request: web.Request) -> web.StreamResponse:
        """What somebody may see of all that was asked, the newest first."""
        return await self._shown(request, "../../", self._past)

    async def _shown(
        self,
        request: web.Request,
        root: str,
        draw: Callable[[web.Request, Visitor, _Frame], Awaitable[web.Response]],
    ) -> web.StreamResponse:
        frame = _Frame(root, None)
        try:
            visitor = await self._visitor(request)
            if visitor is None:
                me = request.match_info["name"] == PROXY_INBOX  # whom the proxy has not named
                error = None if me else self._front.labels.link_invalid
                return self._closed(403, root=root, error=error)
            frame = _Frame(root, f"{root}inbox/{self._visitors.inbox_name(visitor)}")
            return await draw(request, visitor, frame)
        except StoreError:
            return self._failed(root)
        except ValueError:
            missing = self._front.labels.page_missing
            return self._front.notice_page(404, missing, root=root, home=frame.home)

    async def _waiting(self, request: web.Request, visitor: Visitor, frame: _Frame) -> web.Response:
        after = request.query.get("after")
        found = await self._front.service.list_waiting_for(visitor.person, after, _PAGE)
        cursor = f"&after={quote(after)}" if after else ""
        return self._page(
            "inbox",
            visitor,
            frame,
            found,
            after,
            events=f"{frame.home}/events?state={_state(found)}{cursor}",
            curl=self._curl() if visitor.is_operator else None,
        )

    async def _past(self, request: web.Request, visitor: Visitor, frame: _Frame) -> web.Response:
        filled, after = history_filters.parse_filters(request.query), request.query.get("after")
        wrong: str | None = None
        found: Page[Ask] = Page((), None)
        try:
            wanted = filled.search(NAME)
        except ValueError:
            wrong = self._front.labels.filter_wrong_date
        else:
            whose = None if visitor.is_operator else visitor.person
            found = await self._front.service.search_for(whose, wanted, after, _PAGE)
        labels = self._front.labels
        people = await self._visitors.link_holder_names() if visitor.is_operator else None
        form = SearchForm(
            filled,
            inbox_items.statuses(labels, own=people is None),
            self._front.agents,
            people,
            wrong,
        )
        return self._page("history", visitor, frame, found, after, search=form)

    def _page(
        self,
        name: str,
        visitor: Visitor,
        frame: _Frame,
        found: Page[Ask],
        after: str | None,
        **more: object,
    ) -> web.Response:
        labels = self._front.labels
        page = inbox_items.inbox_page(
            found.rows, labels, now=self._front.now(), after=found.after, first=not after
        )
        links = {
            ask.id: f"{frame.root}a/{self._visitors.link(ask.id, visitor)}"
            for ask in found.rows
            if visitor.is_operator or ask.destination.surface == NAME
        }
        you = render.visitor_line(visitor.person, labels)
        return responses.page_response(
            self._front.render_template(
                name, root=frame.root, home=frame.home, you=you, page=page, links=links, **more
            )
        )

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Says once that the inbox does not look as the browser has it."""
        visitor = await self._visitor(request)
        if visitor is None:
            return web.Response(status=403, headers=responses.HEADERS)
        after = request.query.get("after")

        async def event() -> str:
            with self._front.service.follow(NAME) as following:
                try:
                    found = await self._front.service.list_waiting_for(visitor.person, after, _PAGE)
                except ValueError:
                    return "gone"
                if _state(found) == request.query.get("state"):
                    await following.next_commit()
            return "moved"

        return await responses.send_one_event(request, event)

    def _curl(self) -> str:
        token = ' -H "Authorization: Bearer $ANSWERBACK_TOKEN"' if self._tokens else ""
        return (
            f"curl -s {self._front.local_url()}/v1/asks{token} -H 'Content-Type: application/json' \\\n"
            """  -d '{"name": "ask_user", "arguments": {"question": "Which port?"}, "to": "web"}'"""
        )


def _state(found: Page[Ask]) -> str:
    """What a page of the inbox shows, in short: another state is another page."""
    text = " ".join(f"{ask.id}:{ask.revision}" for ask in found.rows) + f" {found.after}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
