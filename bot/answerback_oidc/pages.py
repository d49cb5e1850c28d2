"""The pages on which people sign in and out, on the public listener."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import resources
from typing import Final
from urllib.parse import parse_qs, urlsplit

from aiohttp import web
from markupsafe import Markup

from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.core.person import AuthMethod
from answerback.http.client_address import client_address
from answerback.http.request_rates import RequestRates
from answerback.http.unverified_connections import mark_request_verified
from answerback.ports.person_key import KeyHolder
from answerback_oidc.parts import SignInParts
from answerback_oidc.provider import ProviderError
from answerback_oidc.tokens import TokenRefusedError
from answerback_web import responses
from answerback_web.extension_pages import ExtensionPages, PageLink
from answerback_web.posts import Post
from answerback_web.site import Site
from answerback_web.visitors import Visitor, VisitorPages, Visitors

logger = logging.getLogger(__name__)

_SIGN_IN: Final = "oidc/sign-in"
_SIGN_OUT: Final = "sign-out"
_CALLBACK: Final = "oidc/callback"
SIGN_INS: Final = (300, 1_200)
"""Sign-ins that may begin in a minute, and as many that may end: from one address, and in all."""
_MAX_FIELDS: Final = 20
_MAX_RESPONSE: Final = 8_000
_SCRIPT: Final = (resources.files("answerback_oidc") / "static" / "oidc.js").read_bytes()
_PAGE: Final = Markup(
    """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <meta name="robots" content="noindex">
  <title>{title} · Answerback</title>
  <link rel="icon" href="../a/-/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="../a/-/page.css">
  <script src="oidc.js" defer></script>
</head>
<body data-step="{step}">
  <header class="top"><span class="brand">Answerback</span></header>
  <main id="main">
    <section class="card door">
      <h1>{title}</h1>
      <p id="said" role="status">{waiting}</p>
      <p id="again" hidden><a href="sign-in">{again}</a></p>
      <noscript><p>{no_script}</p></noscript>
    </section>
  </main>
</body>
</html>
"""
)


class OidcPages(ExtensionPages):
    """The pages; the agents' listener has none."""

    def __init__(self, parts: SignInParts) -> None:
        self._parts = parts

    def routes(self, site: Site, visitors: Visitors) -> Sequence[web.RouteDef]:
        if visitors.operators:
            return ()
        out = _SignOut(site, visitors, self._parts)
        return (*_SignIn(site, visitors, self._parts).routes(), *out.routes())

    async def links(self, visitor: Visitor, labels: Labels) -> Sequence[PageLink]:
        is_ours = visitor.person.known is AuthMethod.OIDC
        return [PageLink(_SIGN_OUT, labels.sign_out)] if is_ours else []

    def sign_in(self) -> str | None:
        return _SIGN_IN


class _SignIn:
    """The handlers of a sign-in: a page begins it, the provider returns to another, and their script posts."""

    def __init__(self, site: Site, visitors: Visitors, parts: SignInParts) -> None:
        self._site, self._visitors = site, visitors
        self._own = parts
        self._redirect_uri = f"{(site.public_url or '').rstrip('/')}/{_CALLBACK}"
        monotonic = parts.clock.monotonic
        self._begun, self._ended = (RequestRates(*SIGN_INS, monotonic) for _ in range(2))

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get(f"/{_SIGN_IN}", self._page),
            web.get(f"/{_CALLBACK}", self._page),
            web.get("/oidc/oidc.js", self._script),
            web.post("/oidc/begin", self._limited(self._begun, self._begin)),
            web.post("/oidc/finish", self._limited(self._ended, self._finish)),
            web.post("/oidc/resume", self._or_unavailable(self._resume)),
        ]

    async def _page(self, request: web.Request) -> web.Response:
        labels = self._site.labels
        page = _PAGE.format(
            title=labels.sign_in,
            step=request.path.rpartition("/")[2],
            waiting=labels.oidc_waiting,
            again=labels.page_again,
            no_script=labels.oidc_no_script,
        )
        return responses.page_response(page)

    async def _script(self, _request: web.Request) -> web.Response:
        headers = responses.HEADERS | {"Cache-Control": "no-cache"}
        return web.Response(
            body=_SCRIPT, content_type="text/javascript", charset="utf-8", headers=headers
        )

    def _limited(self, rates: RequestRates, handler: responses.Handler) -> responses.Handler:
        limited = self._or_unavailable(handler)

        async def handle(request: web.Request) -> web.StreamResponse:
            source = client_address(request, self._own.proxies).source
            if (pause := rates.pause(source)) is not None:
                response = _problem(429, self._site.labels.oidc_too_many)
                response.headers["Retry-After"] = str(pause)
                return response
            rates.count(source)
            return await limited(request)

        return handle

    def _or_unavailable(self, handler: responses.Handler) -> responses.Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                return await handler(request)
            except ProviderError as error:
                logger.warning("%s", error, extra={"action": "sign_in_unavailable"})
                return _problem(502, self._site.labels.oidc_unavailable)
            except StoreError:
                logger.exception("A sign-in failed", extra={"action": "page"})
                return _problem(503, self._site.labels.unavailable)

        return handle

    async def _read(self, request: web.Request) -> Post | web.Response:
        """Return a post of our own script."""
        if request.headers.get("Origin") is None:  # every browser names it with a post
            return _problem(403, self._site.labels.page_refused)
        return await self._site.read_post(request, root="../", home=None)

    async def _begin(self, request: web.Request) -> web.StreamResponse:
        post = await self._read(request)
        if isinstance(post, web.Response):
            return post
        own, now = self._own, self._own.clock.now()
        settings = own.settings
        begun, sealed = own.attempts.begin(
            settings.issuer, settings.client_id, post.first("to"), now
        )
        url = await own.provider.authorization_url(begun.attempt, self._redirect_uri)
        return _json({"attempt": sealed, "url": url})

    async def _finish(self, request: web.Request) -> web.StreamResponse:
        post = await self._read(request)
        if isinstance(post, web.Response):
            return post
        own, labels, now = self._own, self._site.labels, self._own.clock.now()
        given = _response_of(post.first("response"))
        begun = own.attempts.open(post.first("attempt"), given.get("state", ""), now)
        settings, code = own.settings, given.get("code", "")
        if begun is None or not code or "error" in given:
            return _problem(403, labels.oidc_failed)
        if (begun.issuer, begun.client_id) != (settings.issuer, settings.client_id):
            return _problem(403, labels.oidc_failed)
        try:
            subject = await own.provider.subject(
                code, given.get("iss"), begun.attempt, self._redirect_uri, now
            )
        except TokenRefusedError as error:
            logger.warning("A sign-in was refused: %s", error, extra={"action": "sign_in_refused"})
            return _problem(403, labels.oidc_failed)
        person = own.sessions.person(subject)
        if not own.sessions.may_sign_in(person):
            extra = {"action": "sign_in_refused", "person": person.user_id}
            logger.warning("Somebody signed in whom `people` does not name", extra=extra)
            return _problem(403, labels.oidc_unknown.format(id=person.user_id))
        holder = await own.sessions.begin(person, begun.attempt.state, now, settings.hours)
        if holder is None:
            return _problem(403, labels.oidc_failed)
        logger.info("A person signed in", extra={"action": "signed_in", "person": person.user_id})
        mark_request_verified(request)
        return await self._opened(holder, begun.to)

    async def _resume(self, request: web.Request) -> web.StreamResponse:
        """Answer with the address of what a tab wants to open, by its session."""
        post = await self._read(request)
        if isinstance(post, web.Response):
            return post
        holders = await self._own.signed_in()
        holder = self._visitors.access.find_inbox_holder(post.first("session"), holders)
        if holder is None:
            return _problem(403, self._site.labels.sign_in_again)
        mark_request_verified(request)
        return await self._opened(holder, post.first("to"))

    async def _opened(self, holder: KeyHolder, to: str) -> web.Response:
        access = self._visitors.access
        session = access.inbox_name(holder)
        target = access.resolve(to, ())
        address = (
            f"../inbox/{session}"
            if target is None
            else f"../a/{access.answering_link(target.ask_id, holder)}"
        )
        return _json({"session": session, "address": address})


class _SignOut(VisitorPages):
    """The page on which a person signs out."""

    def __init__(self, site: Site, visitors: Visitors, parts: SignInParts) -> None:
        super().__init__(site, visitors)
        self._own = parts

    def routes(self) -> list[web.RouteDef]:
        path = f"/inbox/{{name}}/{_SIGN_OUT}"
        return [
            web.get(path, self._for_visitor(self._show)),
            web.post(path, self._for_visitor(self._change)),
        ]

    async def _show(self, _request: web.Request, visitor: Visitor) -> web.Response:
        labels = self._site.labels
        if visitor.person.known is not AuthMethod.OIDC:
            return self._site.notice_page(404, labels.page_missing, root="../../", home=None)
        content = Markup(
            '<form method="post"><div class="answers">'
            '<button class="primary" name="do" value="here">{}</button>'
            '<button name="do" value="all">{}</button></div></form>'
        ).format(labels.sign_out_here, labels.sign_out_everywhere)
        return self._extension_page(visitor, labels.sign_out, content)

    async def _change(self, request: web.Request, visitor: Visitor) -> web.StreamResponse:
        post = await self._read(request, visitor)
        if isinstance(post, web.Response):
            return post
        if visitor.holder is None or visitor.person.known is not AuthMethod.OIDC:
            return web.Response(status=422, headers=responses.HEADERS)
        if post.first("do") == "all":
            await self._own.sessions.end_all(visitor.person)
        else:
            await self._own.sessions.end(visitor.holder)
        extra = {"action": "signed_out", "person": visitor.person.user_id}
        logger.info("A person signed out", extra=extra)
        labels, url = self._site.labels, await self._own.provider.sign_out_url()
        message = Markup.escape(labels.signed_out)
        if url is not None:
            link = Markup('<a href="{}" rel="noreferrer">{}</a>')
            host = urlsplit(url).hostname or ""
            message += " " + link.format(url, labels.sign_out_provider.format(host=host))
        body = self._site.render_template(
            "notice", root="../../", home=None, title=labels.sign_out, message=message
        )
        return responses.page_response(body)


def _response_of(query: str) -> dict[str, str]:
    """Return the parameters of an authorization response; none if one is there twice, or there are too many."""
    try:
        given = parse_qs(query, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        return {}
    once = {name: values[0] for name, values in given.items() if len(values) == 1}
    return once if len(once) == len(given) and len(query) <= _MAX_RESPONSE else {}


def _json(value: dict[str, str], status: int = 200) -> web.Response:
    return web.json_response(value, status=status, headers=responses.HEADERS)


def _problem(status: int, text: str) -> web.Response:
    return _json({"error": text}, status)
