"""Lookups of the hosts of webhooks: those that hang delay no others, and have a limit."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from answerback.outbox.address_policy import (
    MAX_LOOKUPS,
    AddressRules,
    BoundedResolver,
    GuardedResolver,
)
from tests.service_support import WAIT


async def test_hanging_lookups_do_not_delay_other_lookups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release, asked = threading.Event(), []
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *rest: Any, **more: Any) -> Any:
        if host.startswith("hangs"):
            asked.append(host)
            assert release.wait(WAIT)
            raise socket.gaierror("no answer")
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    inner = BoundedResolver()
    resolver = GuardedResolver(AddressRules(), inner)
    hanging = [
        asyncio.ensure_future(resolver.resolve(f"hangs{n % 40}.example", 80)) for n in range(80)
    ]
    async with asyncio.timeout(WAIT):
        (one,) = await inner.resolve("127.0.0.1", 8080)
    assert (one["host"], one["port"]) == ("127.0.0.1", 8080)
    hanging[0].cancel()
    release.set()
    outcomes = await asyncio.gather(*hanging, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert all(isinstance(outcome, OSError) for outcome in outcomes[1:])
    assert len(asked) == 40, "callers that look up the same host share one lookup"
    with pytest.raises(OSError, match="label"):
        await inner.resolve("a" * 70 + ".example", 80)
    await resolver.close()


@pytest.mark.rule("WEBHOOK-6")
async def test_no_number_of_hanging_lookups_takes_all_threads_or_delays_a_host_that_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release, release_late, asked = threading.Event(), threading.Event(), []
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *rest: Any, **more: Any) -> Any:
        if not host.startswith(("good", "forgotten")):
            asked.append(host)
            assert (release if host.startswith("hangs") else release_late).wait(WAIT)
            raise socket.gaierror("no answer")
        return real("127.0.0.1", *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    resolver = BoundedResolver(max_known=1)
    for host in ("forgotten.example", "good.example"):
        await resolver.resolve(host)
    count = 3 * MAX_LOOKUPS
    hanging = [
        asyncio.ensure_future(resolver.resolve(f"hangs{n // 2}.example")) for n in range(count)
    ]
    async with asyncio.timeout(WAIT):
        found = [await resolver.resolve("good.example") for _ in range(3)]
    assert {one["host"] for (one,) in found} == {"127.0.0.1"}
    hosts = ("forgotten.example", "late.example", "late.example")
    late = [asyncio.ensure_future(resolver.resolve(host)) for host in hosts]
    for waiting in hanging[-100:]:
        waiting.cancel()
    running = [each for each in threading.enumerate() if each.name.startswith("resolve hangs")]
    release.set()
    assert len(running) == MAX_LOOKUPS
    outcomes = await asyncio.gather(*hanging, return_exceptions=True)
    assert all(isinstance(outcome, OSError) for outcome in outcomes[:-100])
    async with asyncio.timeout(WAIT):
        await late[0]
    release_late.set()
    assert all(
        isinstance(each, OSError)
        for each in await asyncio.gather(*late[1:], return_exceptions=True)
    )
    assert len(asked) == (count - 100) // 2 + 1, "whose caller has left is not looked up any more"


async def test_a_lookup_without_a_thread_fails_and_the_next_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolver = BoundedResolver()

    def start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        for _ in range(MAX_LOOKUPS + 1):
            with pytest.raises(OSError, match="start new thread"):
                await resolver.resolve("127.0.0.1")
    (one,) = await resolver.resolve("127.0.0.1")
    assert one["host"] == "127.0.0.1"
