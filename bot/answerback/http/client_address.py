"""Tell the address from which a request comes, and its scheme, if trusted proxies are in between."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, NamedTuple, TypeAlias

from aiohttp import web

Network: TypeAlias = IPv4Network | IPv6Network
Address: TypeAlias = IPv4Address | IPv6Address
_HOST_BITS: Final = 64
"""One household or machine has a whole IPv6 network of this size."""


class ClientAddress(NamedTuple):
    text: str
    is_reported: bool
    """True if a trusted proxy reported it."""

    @property
    def source(self) -> str:
        """The caller for limits: an IPv4 address, or an IPv6 network, since one machine has many addresses of it."""
        address = parse_address(self.text)
        if not isinstance(address, IPv6Address):
            return self.text
        return str(ipaddress.ip_network((address, _HOST_BITS), strict=False))


def parse_address(text: str) -> Address | None:
    """Parse an IP address, an IPv4-mapped IPv6 address as its IPv4 address; None if the text is not an address."""
    try:
        address = ipaddress.ip_address(text.strip().partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def peer_address(request: web.BaseRequest) -> Address | None:
    """Return the address of the connection's other side; None if the connection is closed."""
    name = request.transport.get_extra_info("peername") if request.transport else None
    return parse_address(name[0]) if isinstance(name, tuple) else None


def client_address(request: web.BaseRequest, proxies: Sequence[Network]) -> ClientAddress:
    """Return the last address before the trusted proxies; anyone may have written those before it."""
    peer = peer_address(request)
    address, is_reported = peer, False
    hops = ",".join(request.headers.getall("X-Forwarded-For", [])).split(",")
    for hop in reversed(hops):
        reported = parse_address(hop)
        if reported is None or not is_among(address, proxies):
            break
        address, is_reported = reported, True
    return ClientAddress(str(address), is_reported)


def scheme_of(request: web.BaseRequest, proxies: Sequence[Network]) -> str:
    """Return the scheme that the client used, as a trusted proxy says."""
    sent = request.headers.get("X-Forwarded-Proto", "").lower()
    is_trusted = sent in {"http", "https"} and is_among(peer_address(request), proxies)
    return sent if is_trusted else request.scheme


def is_among(address: Address | None, networks: Sequence[Network]) -> bool:
    return address is not None and any(address in network for network in networks)
