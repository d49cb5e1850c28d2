"""Identify people by the header that an authenticating proxy sets; only proxies that the operator trusts count.

A proxy is recognised by the peer address of the connection, because anyone can forge ``X-Forwarded-For``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback.http.client_address import Network, is_among, parse_address
from answerback.ports.person_key import name_problem

logger = logging.getLogger(__name__)

_SURFACE: Final = "web"


class TrustedProxies:
    """The proxies that are trusted to identify people.

    Args:
        header: the header with the name; None if no proxy signs people in.
        networks: the networks that the trusted proxies connect from.
        address: the address at which people reach the proxy. A request for another host is not for us: a malicious
            page can make its own host name resolve to this address (DNS rebinding).
        name_of: returns a person's display name for the name in the header.
    """

    def __init__(
        self,
        header: str | None = None,
        networks: Sequence[Network] = (),
        address: str | None = None,
        name_of: Callable[[str], str] = lambda name: name,
    ) -> None:
        self._header = header
        self._networks = networks
        self._address = address
        self._name_of = name_of
        self._logged: set[str] = set()

    @property
    def is_configured(self) -> bool:
        return self._header is not None

    def signed_in_person(self, request: web.Request) -> Person | None:
        """Return the person whom a trusted proxy names; None if none does."""
        if self._header is None or not (sent := request.headers.getall(self._header, [])):
            return None
        name = sent[0].strip()
        peer, address = parse_address(request.remote or ""), self._address or ""
        problem = name_problem(name, _SURFACE)
        if not is_among(peer, self._networks):
            self._ignore("peer", f"it comes from {peer}, which web.trusted_proxies does not list")
        elif len(sent) > 1:
            self._ignore(
                "twice", "it was sent twice; the proxy has to remove the one from the browser"
            )
        elif _host(f"//{request.host}") != _host(address):
            self._ignore(
                "host",
                f"the request is not for {address}; the proxy has to pass on the Host header",
            )
        elif name and problem is not None:
            self._ignore("name", f"the name in it is not allowed: {problem}")
        elif name:
            return Person(
                surface=_SURFACE, user_id=name, name=self._name_of(name), known=AuthMethod.PROXY
            )
        return None

    def _ignore(self, kind: str, why: str) -> None:
        """Log why the header is ignored, once per kind of reason: anyone can repeat such requests at will."""
        if kind not in self._logged:
            self._logged.add(kind)
            extra = {"action": "header_ignored", "reason": kind}
            logger.warning("The header %s is ignored: %s.", self._header, why, extra=extra)


def _host(url: str) -> tuple[str | None, int | None]:
    """Return host and port of an address; a default port is None."""
    try:
        parts = urlsplit(url)
        return parts.hostname, None if parts.port in {80, 443} else parts.port
    except ValueError:
        return None, None
