"""The requests of an open page's script: nobody else can read them, send them again, or read their answers.

The address of a person's page opens it, and another program can take the service's port while the service is down. So
no request of a script states an address. The script first has the service prove that it is there (`page_proof`). The
proof brings a ticket for one request. The address, and a form if there is one, are then encrypted for the ticket under
the secret that only this page and the service know, and the answer is encrypted under it, too. A program that takes
the port between the two requests learns nothing, and what it received is worth nothing to the service that comes back.

``cryptography`` is imported where it is used: it takes 7 MB, and a service may show no page.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from aiohttp import web
from multidict import CIMultiDict
from pydantic import BaseModel, ConfigDict, ValidationError
from yarl import URL

from answerback.http.request_body import BodyReader
from answerback_web import limits, responses
from answerback_web.page_proof import CHALLENGE_HEADER, PageProofs

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

TICKET_HEADER: Final = "Answerback-Ticket"
FORM: Final[web.RequestKey[bytes]] = web.RequestKey("form", bytes)
"""The form of a request that came encrypted."""
_IV: Final = 12
"""Bytes of an initialization vector of AES-GCM (NIST SP 800-38D, section 8.2)."""
_LIFETIME: Final = 10.0
"""Seconds for which a ticket is valid: the script sends its request at once."""
_MAX_REDIRECTS: Final = 4
_READ: Final = {"text/html", "application/json"}
_OF_THE_OUTER_REQUEST: Final = ("Content-Length", "Content-Type", CHALLENGE_HEADER, TICKET_HEADER)


class _Wanted(BaseModel):
    """The request of a script."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str
    """The path and the query."""
    form: str | None
    """The form to post, as ``application/x-www-form-urlencoded``; None to only show the page."""


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)

    status: int
    address: str
    """The address of the page, after redirects."""
    page: str
    """The page's markup, or the JSON that a script reads; empty if the response is neither."""


class Tickets:
    """Issues and redeems tickets: each is valid once, for one page and for some seconds.

    Args:
        key: the key of their signatures. Tickets of another process are valid only if it has the same key.
        now: returns the time in seconds since the epoch.
    """

    def __init__(self, key: bytes, now: Callable[[], float]) -> None:
        self._key = key
        self._now = now
        self._redeemed: dict[str, float] = {}

    def issue(self, page_id: str) -> str:
        until = f"{self._now() + _LIFETIME:.3f}.{secrets.token_hex(8)}"
        return f"{until}.{self._signature(page_id, until)}"

    def redeem(self, page_id: str, ticket: str) -> bool:
        """Use a ticket; False if it is not valid, or not any more."""
        until, _, signature = ticket.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(page_id, until).encode()):
            return False
        now, ends = self._now(), float(until.partition(".")[0])
        self._redeemed = {each: end for each, end in self._redeemed.items() if end >= now}
        if ends < now or ticket in self._redeemed:
            return False
        self._redeemed[ticket] = ends
        return True

    def _signature(self, page_id: str, until: str) -> str:
        message = f"answerback:web:ticket:{page_id}:{until}".encode()
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()


class WatchAddresses:
    """The addresses at which a script waits for changes: they name no page, and tell only that it has changed."""

    def __init__(self, secret: bytes) -> None:
        self._key = hmac.new(secret, b"answerback:web:watch", hashlib.sha256).digest()

    @cached_property
    def _cipher(self) -> AESGCM:
        return _cipher(self._key)

    def token(self, address: str) -> str:
        """Return the last part of the address that stands for another address of ours."""
        return base64.urlsafe_b64encode(_encrypt(self._cipher, address.encode(), b"")).decode()

    def resolve(self, token: str) -> str | None:
        """Return the address that a token stands for; None if it is not one of ours."""
        try:
            sealed = base64.urlsafe_b64decode(token.encode())
        except ValueError:
            return None
        address = _decrypt(self._cipher, sealed, b"")
        return None if address is None else address.decode()


class SealedRequests:
    """Handles the requests of scripts, for the pages of one listener.

    Args:
        pages: the routes of the pages.
    """

    def __init__(
        self,
        proofs: PageProofs,
        tickets: Tickets,
        watching: WatchAddresses,
        pages: Iterable[web.RouteDef],
    ) -> None:
        self._proofs = proofs
        self._tickets = tickets
        self._watching = watching
        self.bodies = BodyReader(limits.MAX_SEALED)
        self._pages = web.UrlDispatcher()
        self._pages.add_routes(pages)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/a/-/proof", self._prove),
            web.post("/a/-/sealed", self._open),
            web.get("/a/-/events/{token}", self._watch),
        ]

    async def _prove(self, request: web.Request) -> web.Response:
        """Return a ticket; the guard of all routes adds the proof."""
        page_id = self._proofs.challenged_page(request)
        ticket = "" if page_id is None else self._tickets.issue(page_id)
        return web.Response(text=ticket, headers=responses.HEADERS)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        address = self._watching.resolve(request.match_info["token"])
        if address is None:
            raise web.HTTPNotFound(headers=responses.HEADERS)
        return await self._dispatch(request, _Wanted(address=address, form=None))

    async def _open(self, request: web.Request) -> web.Response:
        """Handle an encrypted request, and encrypt its answer."""
        body = await self.bodies.read(request)
        if isinstance(body, web.Response):
            return body
        page_id, _, ticket = request.headers.get(TICKET_HEADER, "").partition(".")
        refused = web.Response(status=409, headers=responses.HEADERS)
        if not self._tickets.redeem(page_id, ticket):
            return refused
        cipher = _cipher(self._proofs.sealing_key(page_id, request.host))
        plain = _decrypt(cipher, body, ticket.encode())
        try:
            wanted = None if plain is None else _Wanted.model_validate_json(plain)
        except ValidationError:
            wanted = None
        if wanted is None:
            return refused
        answer = await self._follow(request, wanted)
        sealed = _encrypt(cipher, answer.model_dump_json().encode(), f"answer.{ticket}".encode())
        return web.Response(body=sealed, headers=responses.HEADERS)

    async def _follow(self, request: web.Request, wanted: _Wanted) -> _Answer:
        response = await self._dispatch(request, wanted)
        redirects = 0
        while response.status == 303 and redirects < _MAX_REDIRECTS:
            redirects += 1
            address = urljoin(wanted.address, response.headers["Location"])
            wanted = _Wanted(address=address, form=None)
            response = await self._dispatch(request, wanted)
        page = ""
        if isinstance(response, web.Response) and response.content_type in _READ:
            page = response.text or ""
        return _Answer(status=response.status, address=wanted.address, page=page)

    async def _dispatch(self, request: web.Request, wanted: _Wanted) -> web.StreamResponse:
        """Have the page's own handler handle what is wanted, as if the browser had requested it."""
        headers = CIMultiDict(request.headers)
        for name in _OF_THE_OUTER_REQUEST:
            headers.popall(name, None)
        method = "GET"
        if wanted.form is not None:
            method, headers["Content-Type"] = "POST", "application/x-www-form-urlencoded"
        url = URL(wanted.address, encoded=True)
        if url.absolute or not url.path.startswith("/"):
            return web.HTTPNotFound(headers=responses.HEADERS)
        inner = request.clone(method=method, rel_url=url, headers=headers)
        if wanted.form is not None:
            inner[FORM] = wanted.form.encode()
        found = await self._pages.resolve(inner)
        inner.match_info.clear()
        inner.match_info.update(found)
        try:
            return await found.handler(inner)
        except web.HTTPException as error:
            return error


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _encrypt(cipher: AESGCM, plain: bytes, context: bytes) -> bytes:
    iv = secrets.token_bytes(_IV)
    return iv + cipher.encrypt(iv, plain, context)


def _decrypt(cipher: AESGCM, sealed: bytes, context: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(sealed[:_IV], sealed[_IV:], context)
    except (InvalidTag, ValueError):
        return None
