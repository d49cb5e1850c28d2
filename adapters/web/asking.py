"""The page of one ask: shown, followed, and what its form leads to."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import quote, urlsplit

from aiohttp import web

from adapters import words
from adapters.web import access, limits, pages, parse, render
from adapters.web.front import NAME, Front
from adapters.web.parse import Confirm, Post, Stay, Wrong
from bot.ask import Ask
from bot.errors import Problem, StoreError
from bot.ports import Acted, Actor, Rejected, Why
from bot.view import view_of
from bot.walker import Action, Person

logger = logging.getLogger(__name__)

VISITOR: Final = Person(surface=NAME, user_id="visitor")
"""Whoever sees a page: the page knows no names."""
_FORM: Final = "application/x-www-form-urlencoded"
_STATUS: Final = {
    Why.NOT_FOUND: 404,
    Why.NOT_ALLOWED: 403,
    Why.UNCHECKED: 503,
    Why.STALE: 409,
    Why.ENDED: 410,
    Why.INVALID: 422,
}


@dataclass(frozen=True, slots=True)
class _Place:
    """One ask's page under one of its addresses."""

    ask_id: str
    here: str
    """The last part of the address: what the page calls itself by."""
    local: bool
    """Whether this is the inbox's page, and not the link that anybody may have."""


_Handler: TypeAlias = Callable[[web.Request, _Place], Awaitable[web.StreamResponse]]


class AskPages:
    """The handlers of the pages of single asks."""

    def __init__(self, front: Front) -> None:
        self._front = front

    def local(self, handler: _Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler for the inbox's pages, which ask for its key."""

        async def handle(request: web.Request) -> web.StreamResponse:
            if not self._front.admits(request):
                return self._front.notice(
                    403, self._front.labels.key_needed, root="../", inbox=False
                )
            ask_id = request.match_info["id"]
            place = _Place(ask_id, quote(ask_id, safe=""), local=True)
            return await self._tried(handler, request, place)

        return handle

    def linked(self, handler: _Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler for the pages that a link opens."""

        async def handle(request: web.Request) -> web.StreamResponse:
            link = request.match_info["link"]
            ask_id = self._front.access.ask_of(link)
            if ask_id is None:
                return self._front.notice(
                    404, self._front.labels.page_missing, root="../", inbox=False
                )
            return await self._tried(handler, request, _Place(ask_id, link, local=False))

        return handle

    async def _tried(
        self, handler: _Handler, request: web.Request, place: _Place
    ) -> web.StreamResponse:
        try:
            return await handler(request, place)
        except StoreError:
            logger.exception("A page failed", extra={"action": "page", "ask_id": place.ask_id})
            message = self._front.labels.try_again
            return self._front.notice(503, message, root="../", inbox=place.local)

    async def get(self, request: web.Request, place: _Place) -> web.StreamResponse:
        """The ask as it stands."""
        ask = await self._load(place)
        if ask is None:
            return self._missing(place)
        return self._ask_page(request, place, ask)

    async def events(self, request: web.Request, place: _Place) -> web.StreamResponse:
        """Says once that the ask is not at the page's revision any more."""
        seen = request.query.get("revision")

        async def event() -> str:
            with self._front.service.follow(place.ask_id) as following:
                ask = await self._load(place)
                while ask is not None and str(ask.revision) == seen:
                    ask = await following.changed()
            # Without an ask the process is stopping: the browser comes back by itself.
            return "moved" if ask is not None else "stopping"

        return await pages.tell_once(request, event)

    async def post(self, request: web.Request, place: _Place) -> web.StreamResponse:
        """What the page's form leads to: the page again, or on to it once something was done."""
        if request.content_type != _FORM:
            return self._front.notice(
                415, self._front.labels.page_refused, root="../", inbox=place.local
            )
        body = await _body(request)
        post = parse.read(body) if body is not None else None
        if post is None:
            return self._front.notice(
                413, self._front.labels.page_too_large, root="../", inbox=place.local
            )
        ask = await self._load(place)
        if ask is None:
            return self._missing(place)
        hosts = frozenset({request.host, urlsplit(self._front.public_url() or "").netloc})
        headers = request.headers
        if not access.is_own_page(headers.get("Origin"), headers.get("Sec-Fetch-Site"), hosts):
            return self._front.notice(
                403, self._front.labels.page_refused, root="../", inbox=place.local
            )
        if not self._front.access.is_token(post.one("token"), self._front.visitor(request), ask.id):
            notice = self._front.labels.page_expired
            return self._ask_page(request, place, ask, 403, post=post, notice=notice)
        meant = parse.action_of(post, ask, self._front.labels)
        if isinstance(meant, Wrong | Confirm | Stay) and post.revision != ask.revision:
            why = Why.STALE if ask.open else Why.ENDED
            return self._rejected(request, place, post, Rejected(why, ask))
        match meant:
            case Wrong():
                return self._ask_page(request, place, ask, 422, post=post, problems=meant.problems)
            case Confirm():
                return self._confirm(place, ask, post)
            case Stay():
                return self._ask_page(request, place, ask, post=post)
            case _:
                return await self._act(request, place, post, ask, meant)

    async def _act(
        self, request: web.Request, place: _Place, post: Post, ask: Ask, action: Action
    ) -> web.StreamResponse:
        # A double click sends the same post from the same page: it counts once, and as itself.
        delivery = f"{NAME}:{ask.id}:{post.digest}"
        try:
            told = await self._front.service.act(
                ask.id, action, Actor(VISITOR), revision=post.revision, delivery=delivery
            )
        except StoreError:
            logger.exception("A post failed", extra={"action": "page", "ask_id": ask.id})
            notice = self._front.labels.try_again
            return self._ask_page(request, place, ask, 503, post=post, notice=notice)
        if isinstance(told, Acted):
            return pages.see(place.here)
        return self._rejected(request, place, post, told)

    def _rejected(
        self, request: web.Request, place: _Place, post: Post, rejected: Rejected
    ) -> web.StreamResponse:
        ask = rejected.ask
        if ask is None:
            return self._missing(place)
        status = _STATUS[rejected.why]
        if rejected.why is Why.INVALID:
            problems = [_into_value(problem) for problem in rejected.problems]
            return self._ask_page(request, place, ask, status, post=post, problems=problems)
        who = ", ".join(ask.responders)
        notice = words.note(rejected, view_of(ask), self._front.labels, who)
        kept = render.typed_texts(post)
        return self._ask_page(request, place, ask, status, notice=notice, kept=kept)

    # --- answers to the browser ----------------------------------------------------------------------

    def _ask_page(
        self,
        request: web.Request,
        place: _Place,
        ask: Ask,
        status: int = 200,
        *,
        post: Post | None = None,
        problems: tuple[Problem, ...] | list[Problem] = (),
        notice: str | None = None,
        kept: tuple[str, ...] = (),
    ) -> web.Response:
        visitor = self._front.visitor(request)
        name = visitor or access.new_visitor()
        page = render.ask_page(
            ask, self._front.labels, post=post, problems=problems, notice=notice, kept=kept
        )
        response = pages.page(
            self._front.html(
                "ask",
                root="../",
                inbox=place.local,
                here=place.here,
                page=page,
                token=self._front.access.token(name, ask.id),
                share=self._front.public_link(ask.id) if place.local else None,
            ),
            status,
        )
        if visitor is None:
            behind_tls = not place.local and (self._front.public_url() or "").startswith("https:")
            self._front.set_cookie(response, "visitor", name, secure=request.secure or behind_tls)
        return response

    def _confirm(self, place: _Place, ask: Ask, post: Post) -> web.Response:
        """Asks whether the turn is to end, and carries along what was entered."""
        kept = [(name, value) for name, values in post.fields.items() for value in values]
        return pages.page(
            self._front.html(
                "confirm",
                root="../",
                inbox=place.local,
                here=place.here,
                page=render.ask_page(ask, self._front.labels),
                kept=[(name, value) for name, value in kept if name != "do"],
            )
        )

    def _missing(self, place: _Place) -> web.Response:
        return self._front.notice(
            404, self._front.labels.page_missing, root="../", inbox=place.local
        )

    async def _load(self, place: _Place) -> Ask | None:
        """The ask of a page; asks that are shown elsewhere have none."""
        ask = await self._front.service.get(place.ask_id)
        return ask if ask is not None and ask.destination.surface == NAME else None


async def _body(request: web.Request) -> bytes | None:
    """The body of a form post, or None where it is longer than we take."""
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > limits.MAX_POST:
            return None
    return bytes(body)


def _into_value(problem: Problem) -> Problem:
    """A problem as the page's inputs know it: its pointer leads into the value, not into the action."""
    return problem.model_copy(update={"pointer": problem.pointer.removeprefix("/value")})
