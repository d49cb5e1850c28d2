"""The inbox: the open asks of the page, newest first, live while it is open."""

from __future__ import annotations

import hashlib
import logging
from urllib.parse import quote

from aiohttp import web

from adapters.web import limits, pages, render
from adapters.web.front import NAME, Front
from bot.ask import Ask
from bot.errors import StoreError
from bot.stored import Page

logger = logging.getLogger(__name__)


class Inbox:
    """The handlers of the inbox."""

    def __init__(self, front: Front) -> None:
        self._front = front

    async def get(self, request: web.Request) -> web.StreamResponse:
        """A page of the inbox; with the right ``key`` the browser is let in first."""
        if "key" in request.query and self._front.access.key is not None:
            if not self._front.access.opens(request.query["key"]):
                return self._front.notice(403, self._front.labels.key_needed, root="", inbox=False)
            response = pages.see("./")
            self._front.set_cookie(
                response, "key", self._front.access.pass_(), secure=request.secure
            )
            return response
        if not self._front.admits(request):
            return self._front.notice(403, self._front.labels.key_needed, root="", inbox=False)
        after = request.query.get("after")
        try:
            found = await self._front.service.inbox(NAME, after, limits.INBOX_PAGE)
        except StoreError:
            logger.exception("The inbox failed", extra={"action": "page"})
            return self._front.notice(503, self._front.labels.try_again, root="", inbox=True)
        except ValueError:
            return self._front.notice(404, self._front.labels.page_missing, root="", inbox=True)
        cursor = f"&after={quote(after)}" if after else ""
        return pages.page(
            self._front.html(
                "inbox",
                root="",
                inbox=True,
                page=render.inbox_page(
                    found.rows,
                    self._front.labels,
                    now=self._front.now(),
                    after=found.after,
                    first=not after,
                ),
                events=f"events?state={_state(found)}{cursor}",
                curl=self._curl(),
            )
        )

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Says once that the inbox does not look as the browser has it."""
        if not self._front.admits(request):
            return web.Response(status=403, headers=pages.HEADERS)
        after = request.query.get("after")

        async def event() -> str:
            with self._front.service.follow(NAME) as following:
                try:
                    found = await self._front.service.inbox(NAME, after, limits.INBOX_PAGE)
                except ValueError:
                    return "gone"
                if _state(found) == request.query.get("state"):
                    await following.changed()
            return "moved"

        return await pages.tell_once(request, event)

    def _curl(self) -> str:
        token = ' -H "Authorization: Bearer $ANSWERBACK_TOKEN"' if self._front.access.key else ""
        return (
            f"curl -s {self._front.local_url()}/v1/asks{token} -H 'Content-Type: application/json' \\\n"
            """  -d '{"name": "ask_user", "arguments": {"question": "Which port?"}, "to": "web"}'"""
        )


def _state(found: Page[Ask]) -> str:
    """What a page of the inbox shows, in short: another state is another page."""
    text = " ".join(f"{ask.id}:{ask.revision}" for ask in found.rows) + f" {found.after}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
