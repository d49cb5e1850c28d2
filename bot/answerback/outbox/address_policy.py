"""Where webhooks may go: addresses are checked after names are resolved, and pinned for the connection.

This module makes the decision, and owns the HTTP session that cannot bypass it. An agent chooses the URL, so it is
treated as hostile: a name is judged by what it resolves to when connecting, and the connection goes to exactly that
address.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
import threading
from collections.abc import Sequence
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from answerback.core.errors import ConfigError
from answerback.http.client_address import Address, Network, is_among, parse_address

_NUMERIC_HOST: Final = re.compile(
    r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE
)
"""Anything the C library would read as an IPv4 address in one of its old notations: 127.1, 0x7f000001, 2130706433."""
_HOST_NAME: Final = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?", re.IGNORECASE)
# https://www.rfc-editor.org/rfc/rfc6052#section-2.1 and https://www.rfc-editor.org/rfc/rfc8215
_LOCAL_NAT64: Final = IPv6Network("64:ff9b:1::/48")
"""Where in such an address the IPv4 address is, only the network's operator knows."""
_NAT64: Final = (IPv6Network("64:ff9b::/96"), _LOCAL_NAT64)
_NOT_GLOBAL: Final[tuple[Network, ...]] = (
    _LOCAL_NAT64,
    IPv4Network("192.0.0.0/24"),  # in it is a cloud's metadata service
    IPv6Network("3fff::/20"),
)
"""Networks that releases of Python do not know as special, https://www.iana.org/assignments/iana-ipv4-special-registry
and https://www.iana.org/assignments/iana-ipv6-special-registry."""
# https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16: a public address
# that is the platform's own control channel inside Azure.
_CLOUD_INTERNAL: Final = (IPv4Address("168.63.129.16"),)

MAX_LOOKUPS: Final = 100
"""Hosts that are looked up at once: of those that were found when they were last looked up, and of all others."""


class AddressRefusedError(OSError):
    """A host resolves to no address that callbacks may reach; the message says which address and why."""


class AddressRules:
    """Allows public addresses, those that the operator lists, and loopback addresses unless told otherwise.

    Args:
        allow: hosts (``hooks.internal``, ``*.internal``), addresses and networks (``10.0.0.0/8``).
        setting: the key that lists them.
        loopback: whether loopback addresses may be reached.

    Raises:
        ConfigError: an entry is something else.
    """

    def __init__(
        self,
        allow: Sequence[str] = (),
        *,
        setting: str = "callbacks.allow",
        loopback: bool = True,
    ) -> None:
        self._setting = setting
        self._loopback = loopback
        self._networks: list[Network] = []
        self._hosts: set[str] = set()
        for entry in allow:
            try:
                self._networks.append(ipaddress.ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                if not _HOST_NAME.fullmatch(entry) or _NUMERIC_HOST.fullmatch(entry):
                    raise ConfigError(
                        f"{setting}: {entry!r} is neither a host, an address nor a network "
                        "such as 10.0.0.0/8."
                    ) from None
                self._hosts.add(entry.lower().rstrip("."))

    def update_from(self, other: AddressRules) -> None:
        """Replace the allowed addresses by those of other rules."""
        self._networks, self._hosts = other._networks, other._hosts

    def refusal_reason(self, host: str, address: str) -> str | None:
        """Return why ``host`` may not be reached at ``address``, or None."""
        if (parsed := parse_address(address)) is None:
            return f"{address} is not an address"
        effective = _effective_address(parsed)
        if is_among(parsed, self._networks) or is_among(effective, self._networks):
            return None
        kind = _refused_kind(effective, loopback=self._loopback)
        if kind is None and (is_among(parsed, _NOT_GLOBAL) or is_among(effective, _NOT_GLOBAL)):
            kind = "private"
        if kind is None or (kind == "private" and self._is_allowed_host(host)):
            return None
        where = address if host == address else f"{host}, which resolves to {address},"
        return f"{where} is a {kind} address; only public addresses and those in {self._setting} may be reached"

    def lists(self, host: str) -> bool:
        """Return True if the operator lists a host, or the address that it is."""
        address = parse_address(host)
        return self._is_allowed_host(host) if address is None else is_among(address, self._networks)

    def _is_allowed_host(self, host: str) -> bool:
        name = host.lower().rstrip(".")
        parents = (f"*.{name.split('.', i)[-1]}" for i in range(1, name.count(".") + 1))
        return name in self._hosts or any(parent in self._hosts for parent in parents)

    def url_refusal_reason(self, url: str) -> str | None:
        """Return why a callback may not have this URL, as far as that is known without resolving its name; None if it
        may."""
        if re.search(r"[\s\\\x00-\x1f\x7f]", url):
            return "callback.url contains spaces, control characters or backslashes; percent-encode them."
        try:
            parsed = URL(url)
            host, port = parsed.host, parsed.port
        except ValueError as error:
            return f"callback.url is not a URL: {error}."
        if parsed.scheme not in {"http", "https"}:
            return "callback.url must begin with http:// or https://."
        if not host or port == 0:
            return "callback.url has no host, or a port that cannot be reached."
        if parsed.user is not None or parsed.password is not None:
            return "callback.url must not contain a user name or password; webhooks are signed instead."
        if parse_address(host) is not None:
            reason = self.refusal_reason(host, host)
            return None if reason is None else f"callback.url is refused: {reason}."
        if ":" in host or _NUMERIC_HOST.fullmatch(host):  # the session does not resolve these
            return "callback.url must write an address in its usual form, such as 127.0.0.1."
        return None


class BoundedResolver(AbstractResolver):
    """Resolves each host in a separate thread, `MAX_LOOKUPS` of each kind at once.

    An event loop resolves names in a pool of a few threads (uvloop has four). A name server that never answers blocks
    a thread for half a minute, so a few such names would stop all other names from being resolved. Agents can send any
    number of them: hosts that were found when they were last looked up have threads that no other host can take.

    Args:
        max_known: the number of hosts that are remembered as found.
    """

    def __init__(self, max_known: int = 10_000) -> None:
        self._max_known = max_known
        self._lookups: dict[tuple[str, int], asyncio.Future[list[ResolveResult]]] = {}
        self._free = {is_known: asyncio.Semaphore(MAX_LOOKUPS) for is_known in (True, False)}
        self._known: dict[str, None] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Resolve a host; callers that ask for the same host share one lookup.

        Raises:
            OSError: the host is unknown.
        """
        key = (host, int(family))
        if key not in self._lookups:
            free = self._free[host in self._known]
            await free.acquire()
            if key in self._lookups:
                free.release()
            else:
                self._start(key, free)
        # A caller that leaves (its time is up) must not cancel the lookup for the others.
        addresses = await asyncio.shield(self._lookups[key])
        return [ResolveResult({**address, "port": port}) for address in addresses]

    def _start(self, key: tuple[str, int], free: asyncio.Semaphore) -> None:
        host, _ = key
        future = self._lookups[key] = asyncio.get_running_loop().create_future()

        def finish(done: asyncio.Future[list[ResolveResult]]) -> None:
            free.release()
            del self._lookups[key]
            self._known.pop(host, None)
            if done.exception() is None:  # read even if all callers have left
                self._known[host] = None
                if len(self._known) > self._max_known:
                    del self._known[next(iter(self._known))]

        future.add_done_callback(finish)
        thread = threading.Thread(
            target=self._look_up, args=(*key, future), name=f"resolve {host}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # the process may have no more threads
            future.get_loop().call_soon(future.set_exception, OSError(str(error)))

    def _look_up(self, host: str, family: int, future: asyncio.Future[list[ResolveResult]]) -> None:
        try:
            infos = socket.getaddrinfo(
                host, 0, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
            )
            addresses = [
                ResolveResult(
                    hostname=host,
                    host=str(address[0]),
                    port=0,
                    family=kind,
                    proto=proto,
                    flags=socket.AI_NUMERICHOST,
                )
                for kind, _, proto, _, address in infos
            ]
            finish = partial(future.set_result, addresses)
        except OSError as error:
            finish = partial(future.set_exception, error)
        except UnicodeError as error:
            finish = partial(future.set_exception, OSError(str(error)))
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits any more
            future.get_loop().call_soon_threadsafe(finish)

    async def close(self) -> None:
        """Let the lookups in progress end on their own."""


class GuardedResolver(AbstractResolver):
    """Resolves names to addresses that may be reached; aiohttp connects to exactly these."""

    def __init__(self, rules: AddressRules, inner: AbstractResolver | None = None) -> None:
        self._rules = rules
        self._inner = inner or BoundedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Resolve a host to those of its addresses that may be reached.

        Raises:
            AddressRefusedError: none of its addresses may be reached.
        """
        resolved = await self._inner.resolve(host, port, family)
        reasons = [self._rules.refusal_reason(host, address["host"]) for address in resolved]
        allowed = [
            address for address, reason in zip(resolved, reasons, strict=True) if reason is None
        ]
        if not allowed:
            raise AddressRefusedError(next(filter(None, reasons), f"{host} has no address"))
        return allowed

    async def close(self) -> None:
        await self._inner.close()


def guarded_session(
    rules: AddressRules, resolver: AbstractResolver | None = None
) -> aiohttp.ClientSession:
    """A session for callbacks only: guarded names, no cookies, no proxy, no cached addresses, no decompression."""
    connector = aiohttp.TCPConnector(
        resolver=GuardedResolver(rules, resolver), use_dns_cache=False, limit=0
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
    )


def _effective_address(address: Address) -> Address:
    """The IPv4 address that an IPv6 address is routed to (NAT64, 6to4, Teredo), or the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _NAT64):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _refused_kind(address: Address, *, loopback: bool) -> str | None:
    """The kind of a refused address; None for public addresses and, if they are allowed, loopback ones."""
    if address.is_loopback:
        return None if loopback else "loopback"
    if address.is_unspecified or address.is_multicast:
        return "multicast or unspecified"
    if address.is_link_local or address in _CLOUD_INTERNAL:
        return "link-local"
    if (
        address.is_global
        and not address.is_reserved
        and not getattr(address, "is_site_local", False)
    ):
        return None
    # Private, shared (100.64.0.0/10), reserved, documentation and benchmarking networks.
    return "private"
