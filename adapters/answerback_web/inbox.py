"""The inbox: the open asks of the page, newest first, live while it is open; and the door that takes the key to it."""

from __future__ import annotations

import hashlib
import logging
from typing import Final
from urllib.parse import quote

from aiohttp import web

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.person_key import Holder, holder_of
from answerback.ports.records import Page
from answerback_web import pages, render
from answerback_web.front import NAME, Front

logger = logging.getLogger(__name__)

_PAGE: Final = 30
"""Asks a page: a screen or two."""


class Inbox:
    """The handlers of the inbox.

    Args:
        tokens: whether agents need tokens: the example shows one then.
    """

    def __init__(self, front: Front, *, tokens: bool) -> None:
        self._front = front
        self._tokens = tokens

    async def door(self, request: web.Request) -> web.StreamResponse:
        """Asks for the key; the address that `answerback serve` prints carries it."""
        if "key" not in request.query:
            return self._closed(200, root="")
        return await self._let_in(request.query["key"])

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """Takes the key that was entered at the door."""
        post = await self._front.post_of(request, root="", home=None)
        return post if isinstance(post, web.Response) else await self._let_in(post.one("key"))

    async def _let_in(self, key: str) -> web.StreamResponse:
        try:
            holder = holder_of(key.strip(), await self._front.holders())
        except StoreError:
            return self._failed("")
        if holder is None:
            return self._closed(403, root="", error=self._front.labels.key_wrong)
        return pages.see(f"inbox/{self._front.access.inbox(holder)}")

    def _closed(self, status: int, *, root: str, error: str | None = None) -> web.Response:
        body = self._front.html("door", root=root, home=None, here=root or "./", error=error)
        return pages.page(body, status)

    def _failed(self, root: str) -> web.Response:
        logger.exception("The inbox failed", extra={"action": "page"})
        return self._front.notice(503, self._front.labels.unavailable, root=root, home=None)

    async def _holder(self, request: web.Request) -> Holder | None:
        holders = await self._front.holders()
        return self._front.access.inbox_of(request.match_info["name"], holders)

    async def get(self, request: web.Request) -> web.StreamResponse:
        """A page of somebody's inbox."""
        after = request.query.get("after")
        name = request.match_info["name"]
        try:
            holder = await self._holder(request)
            if holder is None:
                return self._closed(403, root="../")
            found = await self._front.service.inbox(NAME, after, _PAGE)
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
                page=render.inbox_page(
                    found.rows,
                    self._front.labels,
                    now=self._front.now(),
                    after=found.after,
                    first=not after,
                ),
                links={
                    ask.id: self._front.access.answering_link(ask.id, holder) for ask in found.rows
                },
                events=f"{name}/events?state={_state(found)}{cursor}",
                curl=self._curl(),
            )
        )

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Says once that the inbox does not look as the browser has it."""
        if await self._holder(request) is None:
            return web.Response(status=403, headers=pages.HEADERS)
        after = request.query.get("after")

        async def event() -> str:
            with self._front.service.follow(NAME) as following:
                try:
                    found = await self._front.service.inbox(NAME, after, _PAGE)
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
