"""Addresses that cannot be bound are reported before anything is started."""

from __future__ import annotations

import errno
import socket

import pytest

from answerback.core.errors import ConfigError
from answerback.runtime.sockets import (
    _bind_error_message,
    bind_listener,
    bind_socket,
    socket_url,
)


@pytest.mark.rule("CONFIG-6")
async def test_port_0_takes_a_free_port() -> None:
    with (
        await bind_socket("127.0.0.1", 0, "server") as one,
        await bind_socket("127.0.0.1", 0, "server") as other,
    ):
        assert socket_url(one).startswith("http://127.0.0.1:")
        assert socket_url(one) != socket_url(other)


async def test_an_ipv6_address_is_written_in_brackets() -> None:
    with await bind_socket("::1", 0, "server") as bound:
        assert socket_url(bound).startswith("http://[::1]:")


async def test_a_listener_on_every_address_has_a_url_that_a_browser_can_open() -> None:
    with await bind_socket("0.0.0.0", 0, "server") as bound:
        assert socket_url(bound).startswith("http://127.0.0.1:")


@pytest.mark.rule("AUTH-20")
@pytest.mark.parametrize(
    ("host", "other"), [("127.0.0.1", "::1"), ("::1", "127.0.0.1"), ("0.0.0.0", "::1")]
)
async def test_no_other_program_can_be_localhost(host: str, other: str) -> None:
    bound = await bind_listener(host, 0, "server")
    port = bound[0].getsockname()[1]
    assert [each.getsockname()[1] for each in bound] == [port, port]
    with pytest.raises(ConfigError, match=f"Port {port} on {other} is in use"):
        await bind_socket(other, port, "server")
    for each in bound:
        each.close()


@pytest.mark.rule("AUTH-20")
async def test_where_another_program_is_localhost_the_service_does_not_start() -> None:
    with await bind_socket("::1", 0, "server") as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"Port {port} on ::1 is in use.*public\.port"):
            await bind_listener("127.0.0.1", port, "public")
        (await bind_socket("127.0.0.1", port, "public")).close()


async def test_an_address_that_localhost_is_not_is_bound_alone() -> None:
    (bound,) = await bind_listener("127.0.0.2", 0, "server")
    bound.close()


async def test_without_ipv6_one_address_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_ipv6(family: int, *_args: object) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return real(family)

    real = socket.socket
    monkeypatch.setattr("answerback.runtime.sockets.socket.socket", without_ipv6)
    (bound,) = await bind_listener("127.0.0.1", 0, "server")
    bound.close()


@pytest.mark.rule("CONFIG-6")
async def test_a_port_in_use_is_named_with_the_key_to_change() -> None:
    with await bind_socket("127.0.0.1", 0, "public") as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigError, match=rf"Port {port} on 127\.0\.0\.1 is in use.*public\.port"
        ):
            await bind_socket("127.0.0.1", port, "public")


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host"])
async def test_an_address_of_another_machine_is_named(host: str) -> None:
    with pytest.raises(ConfigError, match=f"server.host {host} cannot be bound"):
        await bind_socket(host, 0, "server")


@pytest.mark.rule("CONFIG-6")
def test_a_port_reserved_for_root_is_named_with_the_key_to_change() -> None:
    refused = PermissionError(
        errno.EACCES, "Permission denied"
    )  # CI runs as root, which never gets this error
    assert _bind_error_message(refused, "127.0.0.1", 80, "server") == (
        "Port 80 is reserved for root: choose one above 1023 with server.port or "
        "ANSWERBACK_SERVER__PORT."
    )
