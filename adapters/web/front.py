"""What every page shares: who is let in, the words, the addresses, cookies, and the service behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from adapters.web import access, pages
from adapters.web.access import Access
from bot.labels import Labels
from bot.ports import Asks

NAME: Final = "web"


@dataclass(slots=True)
class Front:
    """The one thing that the handlers of all pages are given. ``asks`` is None until the surface starts."""

    access: Access
    labels: Labels
    local_url: Callable[[], str]
    public_url: Callable[[], str | None]
    now: Callable[[], float]
    asks: Asks | None = None

    @property
    def service(self) -> Asks:
        """The service; before the surface has started a page says 503."""
        if self.asks is None:
            raise web.HTTPServiceUnavailable(headers=pages.HEADERS)
        return self.asks

    def admits(self, request: web.Request) -> bool:
        """Whether this browser may see the inbox and its pages."""
        return self.access.admits(request.cookies.get(self.access.cookie_name("key")))

    def visitor(self, request: web.Request) -> str | None:
        """The browser's name, where it has one of ours."""
        return access.known_visitor(request.cookies.get(self.access.cookie_name("visitor")))

    def public_link(self, ask_id: str) -> str | None:
        """The link with which anybody may answer; None without a public listener."""
        public = self.public_url()
        return f"{public.rstrip('/')}/a/{self.access.link(ask_id)}" if public else None

    def notice(self, status: int, message: str, *, root: str, inbox: bool) -> web.Response:
        """A page that says one thing."""
        title = self.labels.inbox_title if inbox else "Answerback"
        body = self.html("notice", root=root, inbox=inbox, title=title, message=message)
        return pages.page(body, status)

    def html(self, name: str, **context: object) -> str:
        """A page's markup, in the configured words."""
        lang = "en" if self.labels == Labels() else "und"
        return pages.html(name, labels=self.labels, lang=lang, **context)

    def set_cookie(self, response: web.Response, purpose: str, value: str, *, secure: bool) -> None:
        """Gives the browser a cookie that no script and no other site can use."""
        name = self.access.cookie_name(purpose)
        response.set_cookie(name, value, httponly=True, samesite="Strict", secure=secure, path="/")
