"""The web surface: an inbox and a page per ask, over aiohttp.

Owns the routes, what a form post leads to, and who is let in. There is no live message to keep up
to date: a page is made of the stored ask whenever it is asked for, and follows its ask while it is
open. The listeners need ``handler_cancellation``, or a stream whose browser left lives on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

from aiohttp import web
from aiohttp_sse import sse_response

from adapters import words
from adapters.web import access, limits, pages, parse, render
from adapters.web.access import Access
from adapters.web.parse import Confirm, Do, Post, Stay, Wrong
from bot.ask import ANYONE, Ask, Destination, Thread
from bot.errors import Problem, StoreError
from bot.labels import Labels
from bot.ports import Acted, Actor, Asks, Page, Rejected, Shown, Why
from bot.view import view_of
from bot.walker import Action, Person

NAME: Final = "web"
VISITOR: Final = Person(surface=NAME, user_id="visitor")
"""Whoever sees a page: the page knows no names."""
_STATUS: Final = {
    Why.NOT_FOUND: 404,
    Why.NOT_ALLOWED: 403,
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


class WebSurface:
    """The web page as a surface.

    Args:
        secret: 32 bytes that stay the same: links and tokens are made of them.
        labels: every word that is shown.
        local_url: the address of the agents' listener, known once it listens.
        public_url: the address of the public listener as the world sees it; None where there is none.
        key: what opens the inbox; None where every loopback visitor may see it.
        now: the time in seconds since the epoch.
    """

    name = NAME
    live = False

    def __init__(
        self,
        *,
        secret: bytes,
        labels: Labels,
        local_url: Callable[[], str],
        now: Callable[[], float],
        public_url: Callable[[], str | None] = lambda: None,
        key: str | None = None,
    ) -> None:
        self._access = Access(secret, key)
        self._labels = labels
        self._local_url = local_url
        self._public_url = public_url
        self._now = now
        self._asks: Asks | None = None

    # --- the surface -------------------------------------------------------------------------------

    async def start(self, asks: Asks) -> None:
        """Begins to serve."""
        self._asks = asks

    async def stop(self) -> None:
        """Nothing to disconnect: the listeners finish what is under way."""

    def ready(self) -> str | None:
        """A page can always be opened."""
        return None

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown:
        """Names the page; what it shows is the stored ask."""
        return Shown(ask.revision, {}, Thread(url=self.url(ask.id)))

    async def remind(self, ask: Ask, number: int) -> None:
        """A page pings nobody: the ask stays in the inbox."""

    async def moved(self, ask: Ask, left: object, to: Destination) -> None:
        """Nothing was left behind."""

    async def groups_of(self, person: Person, groups: frozenset[str]) -> frozenset[str]:
        """A visitor is in no group."""
        return frozenset()

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        """Whoever can open the page."""
        return (ANYONE,)

    def check(self, destination: Destination) -> str | None:
        """There is one page and no place on it."""
        if destination.channel or destination.thread or destination.user:
            return 'The web page has no channels and no users: write "web".'
        return None

    def url(self, ask_id: str) -> str:
        """Where an ask's page is.

        An agent is told this address. Where agents have tokens it is the inbox's, which asks for
        the key: an agent must not be able to approve itself.
        """
        shared = self.public_link(ask_id) if self._access.key is None else None
        return shared or f"{self._local_url()}/asks/{ask_id}"

    def public_link(self, ask_id: str) -> str | None:
        """The link with which anybody may answer; None without a public listener."""
        public = self._public_url()
        return f"{public.rstrip('/')}/a/{self._access.link(ask_id)}" if public else None

    def inbox_url(self) -> str:
        """The address that opens the inbox, with the key where one is needed: for the operator's eyes."""
        key = self._access.key
        return f"{self._local_url()}/" + (f"?key={quote(key)}" if key else "")

    # --- routes ------------------------------------------------------------------------------------

    def routes(self) -> list[web.RouteDef]:
        """What the agents' listener serves: the inbox, its pages, and everything public."""
        return [
            web.get("/", self._inbox),
            web.get("/events", self._inbox_events),
            web.get("/asks/{id}", self._local(self._get)),
            web.post("/asks/{id}", self._local(self._post)),
            web.get("/asks/{id}/events", self._local(self._events)),
            *self.public_routes(),
        ]

    def public_routes(self) -> list[web.RouteDef]:
        """What the public listener may serve: single asks by their links."""
        return [
            web.get("/a/-/{name}", pages.static),
            web.get("/a/{link}", self._linked(self._get)),
            web.post("/a/{link}", self._linked(self._post)),
            web.get("/a/{link}/events", self._linked(self._events)),
        ]

    def _local(
        self, handler: Callable[[web.Request, _Place], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            if not self._admits(request):
                return self._notice(403, self._labels.key_needed, root="../", inbox=False)
            ask_id = request.match_info["id"]
            return await handler(request, _Place(ask_id, quote(ask_id, safe=""), local=True))

        return handle

    def _linked(
        self, handler: Callable[[web.Request, _Place], Awaitable[web.StreamResponse]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            link = request.match_info["link"]
            ask_id = self._access.ask_of(link)
            if ask_id is None:
                return self._notice(404, self._labels.page_missing, root="../", inbox=False)
            return await handler(request, _Place(ask_id, link, local=False))

        return handle

    def _admits(self, request: web.Request) -> bool:
        return self._access.admits(request.cookies.get(self._access.cookie_name("key")))

    # --- the inbox ---------------------------------------------------------------------------------

    async def _inbox(self, request: web.Request) -> web.StreamResponse:
        if "key" in request.query and self._access.key is not None:
            if not self._access.opens(request.query["key"]):
                return self._notice(403, self._labels.key_needed, root="", inbox=False)
            response = pages.see("./")
            self._set_cookie(response, "key", self._access.pass_(), secure=request.secure)
            return response
        if not self._admits(request):
            return self._notice(403, self._labels.key_needed, root="", inbox=False)
        after = request.query.get("after")
        try:
            found = await self._service.inbox(NAME, after, limits.INBOX_PAGE)
        except ValueError:
            return self._notice(404, self._labels.page_missing, root="", inbox=True)
        cursor = f"&after={quote(after)}" if after else ""
        return pages.page(
            self._html(
                "inbox",
                root="",
                inbox=True,
                page=render.inbox_page(
                    found.rows, self._labels, now=self._now(), after=found.after, first=not after
                ),
                events=f"events?state={_state(found)}{cursor}",
                curl=self._curl(),
            )
        )

    async def _inbox_events(self, request: web.Request) -> web.StreamResponse:
        if not self._admits(request):
            return web.Response(status=403, headers=pages.HEADERS)
        after = request.query.get("after")
        async with sse_response(request, ping_interval=limits.PING_SECONDS) as stream:
            with self._service.follow(NAME) as following:
                try:
                    found = await self._service.inbox(NAME, after, limits.INBOX_PAGE)
                except ValueError:
                    return stream
                if _state(found) == request.query.get("state"):
                    await following.changed()
                await stream.send("", event="moved")
        return stream

    def _curl(self) -> str:
        token = ' -H "Authorization: Bearer $ANSWERBACK_TOKEN"' if self._access.key else ""
        return (
            f"curl -s {self._local_url()}/v1/asks{token} -H 'Content-Type: application/json' \\\n"
            """  -d '{"name": "ask_user", "arguments": {"question": "Which port?"}, "to": "web"}'"""
        )

    # --- one ask -----------------------------------------------------------------------------------

    async def _get(self, request: web.Request, place: _Place) -> web.StreamResponse:
        ask = await self._load(place)
        if ask is None:
            return self._missing(place)
        return self._ask_page(request, place, ask)

    async def _events(self, request: web.Request, place: _Place) -> web.StreamResponse:
        """Says once that the ask is not at the page's revision any more."""
        seen = request.query.get("revision")
        async with sse_response(request, ping_interval=limits.PING_SECONDS) as stream:
            with self._service.follow(place.ask_id) as following:
                ask = await self._load(place)
                while ask is not None and str(ask.revision) == seen:
                    ask = await following.changed()
                # Without an ask the process is stopping: the browser comes back by itself.
                await stream.send("", event="moved" if ask is not None else "stopping")
        return stream

    async def _post(self, request: web.Request, place: _Place) -> web.StreamResponse:
        body = await _body(request)
        post = parse.read(body) if body is not None else None
        if post is None:
            return self._notice(413, self._labels.page_too_large, root="../", inbox=place.local)
        ask = await self._load(place)
        if ask is None:
            return self._missing(place)
        hosts = frozenset({request.host, urlsplit(self._public_url() or "").netloc})
        headers = request.headers
        if not access.is_own_page(headers.get("Origin"), headers.get("Sec-Fetch-Site"), hosts):
            return self._notice(403, self._labels.page_refused, root="../", inbox=place.local)
        if not self._access.is_token(post.one("token"), self._visitor(request), ask.id):
            notice = self._labels.page_expired
            return self._ask_page(request, place, ask, 403, post=post, notice=notice)
        meant = parse.action_of(post, ask, self._labels)
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
            told = await self._service.act(
                ask.id, action, Actor(VISITOR), revision=post.revision, delivery=delivery
            )
        except StoreError:
            notice = self._labels.try_again
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
        notice = words.note(rejected, view_of(ask), self._labels, who)
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
        visitor = self._visitor(request)
        name = visitor or access.new_visitor()
        page = render.ask_page(
            ask, self._labels, post=post, problems=problems, notice=notice, kept=kept
        )
        response = pages.page(
            self._html(
                "ask",
                root="../",
                inbox=place.local,
                here=place.here,
                page=page,
                token=self._access.token(name, ask.id),
                share=self.public_link(ask.id) if place.local else None,
            ),
            status,
        )
        if visitor is None:
            behind_tls = not place.local and (self._public_url() or "").startswith("https:")
            self._set_cookie(response, "visitor", name, secure=request.secure or behind_tls)
        return response

    def _confirm(self, place: _Place, ask: Ask, post: Post) -> web.Response:
        """Asks whether the turn is to end, and carries along what was entered."""
        kept = [(name, value) for name, values in post.fields.items() for value in values]
        return pages.page(
            self._html(
                "confirm",
                root="../",
                inbox=place.local,
                here=place.here,
                page=render.ask_page(ask, self._labels),
                kept=[(name, value) for name, value in kept if name != "do"],
            )
        )

    def _missing(self, place: _Place) -> web.Response:
        return self._notice(404, self._labels.page_missing, root="../", inbox=place.local)

    def _notice(self, status: int, message: str, *, root: str, inbox: bool) -> web.Response:
        title = self._labels.inbox_title if inbox else "Answerback"
        body = self._html("notice", root=root, inbox=inbox, title=title, message=message)
        return pages.page(body, status)

    def _html(self, name: str, **context: object) -> str:
        lang = "en" if self._labels == Labels() else "und"
        return pages.html(name, labels=self._labels, lang=lang, Do=Do, **context)

    def _set_cookie(
        self, response: web.Response, purpose: str, value: str, *, secure: bool
    ) -> None:
        name = self._access.cookie_name(purpose)
        response.set_cookie(name, value, httponly=True, samesite="Strict", secure=secure, path="/")

    def _visitor(self, request: web.Request) -> str | None:
        return access.known_visitor(request.cookies.get(self._access.cookie_name("visitor")))

    async def _load(self, place: _Place) -> Ask | None:
        """The ask of a page; asks that are shown elsewhere have none."""
        ask = await self._service.get(place.ask_id)
        return ask if ask is not None and ask.destination.surface == NAME else None

    @property
    def _service(self) -> Asks:
        if self._asks is None:
            raise web.HTTPServiceUnavailable(headers=pages.HEADERS)
        return self._asks


async def _body(request: web.Request) -> bytes | None:
    """The body of a form post, or None where it is no form's or longer than we take."""
    if request.content_type != "application/x-www-form-urlencoded":
        return None
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > limits.MAX_POST:
            return None
    return bytes(body)


def _into_value(problem: Problem) -> Problem:
    """A problem as the page's inputs know it: its pointer leads into the value, not into the action."""
    return problem.model_copy(update={"pointer": problem.pointer.removeprefix("/value")})


def _state(found: Page[Ask]) -> str:
    """What a page of the inbox shows, in short: another state is another page."""
    text = " ".join(f"{ask.id}:{ask.revision}" for ask in found.rows) + f" {found.after}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
