"""The client and a service that is away: what is said, and for how long it is called."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from answerback_client import AsyncClient, UnreachableError
from tests.ports import gone_after_one_request
from tests.service_support import WAIT
from tests.unit.bot.client.test_client import GO


async def test_an_unreachable_service_is_called_until_the_patience_ends() -> None:
    async with AsyncClient("http://127.0.0.1:1", patience=0.4) as client:
        began = asyncio.get_running_loop().time()
        message = r"^Cannot reach Answerback at http://127\.0\.0\.1:1: Connection refused\.$"
        with pytest.raises(UnreachableError, match=message):
            await client.submit("ask_user", GO)
        assert asyncio.get_running_loop().time() - began >= 0.2


@pytest.mark.rule("CLIENT-1")
async def test_an_error_says_whether_an_earlier_try_may_have_reached_the_service() -> None:
    async def fails(call: Callable[[AsyncClient], Awaitable[object]]) -> UnreachableError:
        async with gone_after_one_request() as url, AsyncClient(url, patience=0.5) as client:
            with pytest.raises(UnreachableError) as failed:
                await call(client)
        return failed.value

    assert (await fails(lambda client: client.submit("ask_user", GO))).may_have_acted
    assert not (await fails(lambda client: client.get("ask_1"))).may_have_acted
    async with AsyncClient("http://127.0.0.1:1", patience=0.0) as client:
        with pytest.raises(UnreachableError) as refused:
            await client.submit("ask_user", GO)
    assert not refused.value.may_have_acted


async def test_a_call_that_nobody_accepts_ends_at_its_timeout() -> None:
    async with AsyncClient("http://127.0.0.1:9", patience=3_600) as client, asyncio.timeout(WAIT):
        with pytest.raises(UnreachableError, match=r"within 0\.2 seconds\..*answerback"):
            await client.ask("ask_user", GO, timeout=0.2)


async def test_pauses_between_calls_grow_up_to_a_bound_and_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 9:
            raise asyncio.CancelledError

    async with AsyncClient("http://127.0.0.1:1") as client:
        monkeypatch.setattr("answerback_client.async_client.asyncio.sleep", sleep)
        with pytest.raises(asyncio.CancelledError):
            await client.submit("ask_user", GO)
        monkeypatch.undo()
    for pause, least in zip(pauses, [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0], strict=True):
        assert least <= pause <= least * 1.25
    assert len(set(pauses)) == len(pauses)
