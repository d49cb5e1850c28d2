"""The inbox: the open asks of the page, newest first, live while it is open; and the door that takes the key to it."""

from __future__ import annotations

import hashlib
import logging
from typing import Final
from urllib.parse import quote

from aiohttp import web

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.http.strangers import known
from answerback.ports.records import Page
from answerback_web import listing, pages, render
from answerback_web.front import NAME, Front
from answerback_web.visitors import ME, Visitor, Visitors

logger = logging.getLogger(__name__)

_PAGE: Final = 30
"""Asks a page: a screen or two."""


class Inbox:
    """The handlers of the inbox.

    Args:
        tokens: whether agents need tokens: the example shows one then.
    """

    def __init__(self, front: Front, visitors: Visitors, *, tokens: bool) -> None:
        self._front = front
        self._visitors = visitors
        self._tokens = tokens

    async def door(self, request: web.Request) -> web.StreamResponse:
        """Asks for the key; the addresses that `answerback serve` and `answerback person` print carry it.

        Whoever the proxy names goes straight in. Where nobody can have an inbox, there is no door.
        """
        try:
            if self._visitors.named(request) is not None:
                return pages.see(f"inbox/{ME}")
            if not await self._visitors.expected():
                raise web.HTTPNotFound(headers=pages.HEADERS)
            if "key" not in request.query:
                return self._closed(200, root="")
            return await self._let_in(request, request.query["key"])
        except StoreError:
            return self._failed("")

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Takes the key that was entered at the door."""
        try:
            if not await self._visitors.expected():
                raise web.HTTPNotFound(headers=pages.HEADERS)
            post = await self._front.post_of(request, root="", home=None)
            if isinstance(post, web.Response):
                return post
            return await self._let_in(request, post.one("key"))
        except StoreError:
            return self._failed("")

    async def _let_in(self, request: web.Request, key: str) -> web.StreamResponse:
        visitor = await self._visitors.with_key(key)
        if visitor is None:
            return self._closed(403, root="", error=self._front.labels.key_wrong)
        known(request)
        name = self._visitors.inbox(visitor)
        if name is None:
            return self._closed(403, root="", error=self._front.labels.key_elsewhere)
        return pages.see(f"inbox/{name}")

    def _closed(self, status: int, *, root: str, error: str | None = None) -> web.Response:
        body = self._front.html("door", root=root, home=None, here=root or "./", error=error)
        return pages.page(body, status)

    def _failed(self, root: str) -> web.Response:
        logger.exception("The inbox failed", extra={"action": "page"})
        return self._front.notice(503, self._front.labels.unavailable, root=root, home=None)

    async def _visitor(self, request: web.Request) -> Visitor | None:
        visitor = await self._visitors.at_inbox(request)
        if visitor is None and not await self._visitors.expected():
            raise web.HTTPNotFound(headers=pages.HEADERS)
        if visitor is not None:
            known(request)
        return visitor

    async def _found(self, visitor: Visitor, after: str | None) -> Page[Ask]:
        """What waits for somebody: for the operator everything on the page, for others what they may answer."""
        if visitor.holder is not None and visitor.holder.is_operator:
            return await self._front.service.inbox(NAME, after, _PAGE)
        return await self._front.service.waiting_for(visitor.person, after, _PAGE)

    async def get(self, request: web.Request) -> web.StreamResponse:
        """A page of somebody's inbox."""
        after = request.query.get("after")
        name = ""
        try:
            visitor = await self._visitor(request)
            if visitor is None:
                return self._closed(403, root="../")
            name = self._visitors.inbox(visitor) or ""
            found = await self._found(visitor, after)
        except StoreError:
            return self._failed("../")
        except ValueError:
            return self._front.notice(404, self._front.labels.page_missing, root="../", home=name)
        cursor = f"&after={quote(after)}" if after else ""
        return pages.page(
            self._front.html(
                "inbox",
                root="../",
                home=name,
                page=listing.inbox_page(
                    found.rows,
                    self._front.labels,
                    now=self._front.now(),
                    after=found.after,
                    first=not after,
                ),
                links={ask.id: self._visitors.link(ask.id, visitor) for ask in found.rows},
                events=f"{name}/events?state={_state(found)}{cursor}",
                curl=self._curl() if self._visitors.operators else None,
                you=render.known_as(visitor.person, self._front.labels),
            )
        )

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Says once that the inbox does not look as the browser has it."""
        visitor = await self._visitor(request)
        if visitor is None:
            return web.Response(status=403, headers=pages.HEADERS)
        after = request.query.get("after")

        async def event() -> str:
            with self._front.service.follow(NAME) as following:
                try:
                    found = await self._found(visitor, after)
                except ValueError:
                    return "gone"
                if _state(found) == request.query.get("state"):
                    await following.changed()
            return "moved"

        return await pages.tell_once(request, event)

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
