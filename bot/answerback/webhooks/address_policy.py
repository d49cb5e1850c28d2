"""Where webhooks may go: which addresses are allowed, checked after names are resolved and pinned for the connection.

Owns the decision and the HTTP session that cannot get around it. An agent names the address, so
everything here takes it for hostile: a name is judged by what it resolves to at the moment of
connecting, and the connection goes to just that address.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from answerback.core.errors import ConfigError
from answerback.service.submission_request import Agent

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NUMERIC: Final = re.compile(
    r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*\.?", re.IGNORECASE
)
"""What the C library would read as an IPv4 address in one of its old spellings: 127.1, 0x7f000001, 2130706433."""
_NAME: Final = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?", re.IGNORECASE)
# https://www.rfc-editor.org/rfc/rfc6052#section-2.1 and https://www.rfc-editor.org/rfc/rfc8215
_NAT64: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
# https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16: a public number
# that inside Azure is the platform's own control channel.
_CLOUD_INSIDES: Final = (IPv4Address("168.63.129.16"),)


class AddressRefusedError(OSError):
    """A host resolves to no address that callbacks may reach; the message says which and why."""


class AddressRules:
    """Loopback and public addresses, and what the operator lists beside them.

    Args:
        allow: hosts (``hooks.internal``, ``*.internal``), addresses and networks (``10.0.0.0/8``).

    Raises:
        ConfigError: an entry is none of these.
    """

    def __init__(self, allow: Sequence[str] = ()) -> None:
        self._networks: list[Network] = []
        self._hosts: set[str] = set()
        for entry in allow:
            try:
                self._networks.append(ipaddress.ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                if not _NAME.fullmatch(entry) or _NUMERIC.fullmatch(entry):
                    raise ConfigError(
                        f"callbacks.allow: {entry!r} is neither a host, an address nor a network "
                        "such as 10.0.0.0/8."
                    ) from None
                self._hosts.add(entry.lower().rstrip("."))

    def update_from(self, other: AddressRules) -> None:
        """Allows what others allow from now on."""
        self._networks, self._hosts = other._networks, other._hosts

    def refusal_reason(self, host: str, address: str) -> str | None:
        """Why ``host`` may not be reached at ``address``, or None."""
        try:
            found = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return f"{address} is no address"
        found = _embedded(found)
        if any(found in network for network in self._networks):
            return None
        kind = _kind(found)
        if kind is None or (kind == "private" and self._listed(host)):
            return None
        where = address if host == address else f"{host}, which resolves to {address},"
        return f"{where} is a {kind} address; callbacks.allow lists what may be reached beside public addresses"

    def _listed(self, host: str) -> bool:
        name = host.lower().rstrip(".")
        parents = (f"*.{name.split('.', i)[-1]}" for i in range(1, name.count(".") + 1))
        return name in self._hosts or any(parent in self._hosts for parent in parents)

    def url_refusal_reason(self, url: str) -> str | None:
        """Why a callback may not have this URL, as far as it can be told without resolving its name."""
        if re.search(r"[\s\\\x00-\x1f\x7f]", url):
            return (
                "callback.url holds spaces, control characters or backslashes; percent-encode them."
            )
        try:
            parsed = URL(url)
            host, port = parsed.host, parsed.port
        except ValueError as error:
            return f"callback.url is no URL: {error}."
        if parsed.scheme not in {"http", "https"}:
            return "callback.url must begin with http:// or https://."
        if not host or port == 0:
            return "callback.url names no host, or no port that can be reached."
        if parsed.user is not None or parsed.password is not None:
            return (
                "callback.url must not hold a user name or password; webhooks are signed instead."
            )
        if _is_address(host):
            refused = self.refusal_reason(host, host)
            return None if refused is None else f"callback.url is refused: {refused}."
        if _NUMERIC.fullmatch(host):
            return "callback.url must write an address in its usual form, such as 127.0.0.1."
        return None


class CallbackPolicy:
    """What a callback needs beforehand: an address that may be reached, and a secret that signs.

    Args:
        rules: which addresses.
        secrets: the signing secrets by agent; None stands for callers without a token.
    """

    def __init__(self, rules: AddressRules, secrets: Mapping[str | None, Sequence[str]]) -> None:
        self.rules = rules
        self._secrets = secrets

    def update_from(self, other: CallbackPolicy) -> None:
        """Goes by other rules and secrets from now on."""
        self.rules.update_from(other.rules)
        self._secrets = other._secrets

    def secrets_of(self, agent: str | None) -> Sequence[str]:
        """The secrets that sign an agent's webhooks, each of them while one replaces another."""
        return self._secrets.get(agent, ())

    def check(self, url: str, agent: Agent | None) -> str | None:
        """None when an agent's webhooks may be sent there, else a sentence that says what to do."""
        if not self.secrets_of(agent.name if agent else None):
            key = f"agents.{agent.name}.callback_secret" if agent else "callbacks.secret"
            return (
                f"Webhooks are signed, and there is no secret for it: set {key} to whsec_ and 24 to "
                "64 random bytes in base64, or leave the callback out."
            )
        return self.rules.url_refusal_reason(url)


class ThreadPerLookupResolver(AbstractResolver):
    """Looks each host up in a thread of its own.

    An event loop resolves names in a pool of a few threads (uvloop has four). A name server that never answers holds
    a thread for half a minute: a few such names would stop every other name from being resolved.
    """

    def __init__(self) -> None:
        self._under_way: dict[tuple[str, int], asyncio.Future[list[ResolveResult]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host; callers that ask for the same host share one lookup.

        Raises:
            OSError: the host is not known.
        """
        key = (host, int(family))
        if (future := self._under_way.get(key)) is None:
            future = asyncio.get_running_loop().create_future()
            thread = threading.Thread(
                target=self._look_up, args=(*key, future), name=f"resolve {host}", daemon=True
            )
            thread.start()
            self._under_way[key] = future
        # Whoever leaves (its time is up) must not cancel the others' lookup.
        found = await asyncio.shield(future)
        return [ResolveResult({**one, "port": port}) for one in found]

    def _look_up(self, host: str, family: int, future: asyncio.Future[list[ResolveResult]]) -> None:
        found: list[ResolveResult] | OSError
        try:
            infos = socket.getaddrinfo(
                host, 0, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
            )
            found = [
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
        except (OSError, UnicodeError) as error:
            found = error if isinstance(error, OSError) else OSError(str(error))

        def tell() -> None:
            del self._under_way[host, family]
            if isinstance(found, OSError):
                future.set_exception(found)
                future.exception()  # everybody who wanted it may have left
            else:
                future.set_result(found)

        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            future.get_loop().call_soon_threadsafe(tell)

    async def close(self) -> None:
        """Leaves the lookups under way to end by themselves."""


class GuardedResolver(AbstractResolver):
    """Resolves names, and gives only addresses that may be reached: aiohttp connects to just these."""

    def __init__(self, rules: AddressRules, inner: AbstractResolver | None = None) -> None:
        self._rules = rules
        self._inner = inner or ThreadPerLookupResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host that may be reached.

        Raises:
            AddressRefusedError: there are none.
        """
        found = await self._inner.resolve(host, port, family)
        refusals = [self._rules.refusal_reason(host, one["host"]) for one in found]
        allowed = [one for one, refused in zip(found, refusals, strict=True) if refused is None]
        if not allowed:
            raise AddressRefusedError(next(filter(None, refusals), f"{host} has no address"))
        return allowed

    async def close(self) -> None:
        """Closes the resolver inside."""
        await self._inner.close()


def guarded_session(
    rules: AddressRules, resolver: AbstractResolver | None = None
) -> aiohttp.ClientSession:
    """A session for callbacks alone: guarded names, no cookies, no proxy, no cached addresses, nothing decompressed."""
    connector = aiohttp.TCPConnector(
        resolver=GuardedResolver(rules, resolver), use_dns_cache=False, limit=0
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
    )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for on the way (mapped, NAT64, 6to4, Teredo), or itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _NAT64):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _kind(address: Address) -> str | None:
    """What kind of refused address this is; None for loopback and public ones."""
    if address.is_loopback:
        return None
    if address.is_unspecified or address.is_multicast:
        return "multicast or unspecified"
    if address.is_link_local or address in _CLOUD_INSIDES:
        return "link-local"
    if (
        address.is_global
        and not address.is_reserved
        and not getattr(address, "is_site_local", False)
    ):
        return None
    # Private, shared (100.64.0.0/10), reserved, documentation and benchmarking networks.
    return "private"
