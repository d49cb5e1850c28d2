"""What every page shares: whose keys are valid, the words, the addresses, form posts, and the service behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from answerback.core.labels import Labels
from answerback.ports.person_key import KeyHolderSource
from answerback.ports.surface import Asks
from answerback_chat.platform_bodies import BodyReader
from answerback_web import limits, page_access, parse, responses
from answerback_web.page_access import PageLinks
from answerback_web.parse import Post

NAME: Final = "web"
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(slots=True)
class Site:
    """The one thing that the handlers of all pages are given. ``asks`` is None until the surface starts."""

    access: PageLinks
    labels: Labels
    local_url: Callable[[], str]
    public_url: Callable[[], str | None]
    now: Callable[[], float]
    holders: KeyHolderSource
    agents: Mapping[str, str]
    asks: Asks | None = None
    bodies: BodyReader = field(default_factory=lambda: BodyReader(limits.MAX_POST))

    @property
    def service(self) -> Asks:
        """The service; before the surface has started a page says 503."""
        if self.asks is None:
            raise web.HTTPServiceUnavailable(headers=responses.HEADERS)
        return self.asks

    def link(self, ask_id: str) -> str:
        """The address that shows an ask: where the world reaches it, else on this machine."""
        return f"{(self.public_url() or self.local_url()).rstrip('/')}/a/{self.access.link(ask_id)}"

    async def read_post(
        self,
        request: web.Request,
        *,
        root: str,
        home: str | None,
        signed_in: bool = False,
    ) -> Post | web.Response:
        """A form post of one of our own pages, or the page that says why it is refused.

        Args:
            signed_in: whether a proxy says who sends it: a browser then answers for its person on any site's behalf,
                so it has to say where the post comes from.
        """
        if request.content_type != _FORM:
            return self.notice_page(415, self.labels.page_refused, root=root, home=home)
        body = await self.bodies.read(request)
        if isinstance(body, web.Response) and body.status != 413:
            return body
        post = parse.parse_post(body) if isinstance(body, bytes) else None
        if post is None:
            return self.notice_page(413, self.labels.page_too_large, root=root, home=home)
        headers = request.headers
        said = headers.get("Origin"), headers.get("Sec-Fetch-Site")
        own = page_access.is_own_page(*said, request.host) or self._is_public_page(*said)
        if own and (any(said) or not signed_in):
            return post
        return self.notice_page(403, self.labels.page_refused, root=root, home=home)

    def _is_public_page(self, origin: str | None, site: str | None) -> bool:
        """Whether the post comes from our page at the address that people use, where a proxy changes the Host."""
        return page_access.is_own_page(origin, site, urlsplit(self.public_url() or "").netloc)

    def notice_page(
        self, status: int, message: str, *, root: str, home: str | None
    ) -> web.Response:
        """A page that says one thing; ``home`` is where the inbox is, for whom may open it."""
        title = self.labels.inbox_title if home is not None else "Answerback"
        body = self.render_template("notice", root=root, home=home, title=title, message=message)
        return responses.page_response(body, status)

    def render_template(self, name: str, **context: object) -> str:
        """A page's markup, in the configured words."""
        lang = "en" if self.labels == Labels() else "und"
        return responses.render_template(name, labels=self.labels, lang=lang, **context)
