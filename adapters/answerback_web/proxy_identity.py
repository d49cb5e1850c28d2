"""Who a proxy says somebody is that signs people in: taken from proxies that the operator trusts, and from nobody else.

What counts is the peer of the connection. ``X-Forwarded-For`` says what anybody writes into it.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from aiohttp import web

from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback.ports.person_key import name_problem

logger = logging.getLogger(__name__)

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
_SURFACE: Final = "web"


class TrustedProxies:
    """The proxies that are trusted to name people.

    Args:
        header: the header with the name; None where no proxy signs people in.
        networks: where the trusted proxies' connections come from.
        address: the address at which people reach the proxy. A request for another host is not for us: a page that
            somebody visits can have its own name lead here (DNS rebinding).
        name_of: what somebody is called, by the name in the header.
    """

    def __init__(
        self,
        header: str | None = None,
        networks: Sequence[Network] = (),
        address: Callable[[], str | None] = lambda: None,
        name_of: Callable[[str], str] = lambda name: name,
    ) -> None:
        self._header = header
        self._networks = networks
        self._address = address
        self._name_of = name_of
        self._told: set[str] = set()

    @property
    def is_configured(self) -> bool:
        """Whether a proxy signs people in."""
        return self._header is not None

    def signed_in_person(self, request: web.Request) -> Person | None:
        """Whom a trusted proxy names; None where none does."""
        if self._header is None or not (sent := request.headers.getall(self._header, [])):
            return None
        name = sent[0].strip()
        peer, address = _peer(request), self._address() or ""
        wrong = name_problem(name, _SURFACE)
        if not any(peer in network for network in self._networks if peer is not None):
            self._ignore("peer", f"it comes from {peer}, which web.trusted_proxies does not list")
        elif len(sent) > 1:
            self._ignore(
                "twice", "it is there twice; the proxy has to remove the one that the browser sent"
            )
        elif _host(f"//{request.host}") != _host(address):
            self._ignore(
                "host",
                f"the request is not for {address}; the proxy has to pass on the Host header",
            )
        elif name and wrong is not None:
            self._ignore("name", f"nobody can be called that: {wrong}")
        elif name:
            return Person(
                surface=_SURFACE, user_id=name, name=self._name_of(name), known=AuthMethod.PROXY
            )
        return None

    def _ignore(self, kind: str, why: str) -> None:
        """Says why the header is ignored: each kind of reason once, since strangers can repeat it as they like."""
        if kind not in self._told:
            self._told.add(kind)
            extra = {"action": "header_ignored", "reason": kind}
            logger.warning("The header %s is ignored: %s.", self._header, why, extra=extra)


def _peer(request: web.Request) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The other end of the connection; an IPv4 address within an IPv6 address is that IPv4 address."""
    name = request.transport.get_extra_info("peername") if request.transport else None
    if not isinstance(name, tuple):
        return None  # it has gone
    address = ipaddress.ip_address(name[0])
    return getattr(address, "ipv4_mapped", None) or address


def _host(url: str) -> tuple[str | None, int | None]:
    """Host and port of an address; a port that goes without saying is None."""
    try:
        parts = urlsplit(url)
        return parts.hostname, None if parts.port in {80, 443} else parts.port
    except ValueError:
        return None, None
