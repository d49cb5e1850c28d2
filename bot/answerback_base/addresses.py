"""IP addresses of connections and listeners."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv6Address


def ip_address(host: str) -> IPv4Address | IPv6Address:
    """Parse an IP address of a connection; an IPv4-mapped IPv6 address becomes its IPv4 address."""
    address = ipaddress.ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def is_loopback(host: str) -> bool:
    """Return True if an address can only be reached from this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
