"""A claim is kept while the work goes on, and the work is given up where the claim cannot be kept."""

from __future__ import annotations

import asyncio
import time

import pytest

from answerback.core.errors import StoreError
from answerback.ports.claims import Claim
from answerback.service.keeping import kept

BRIEF = Claim("ann", 0.2)


@pytest.mark.rule("CLAIM-3")
async def test_a_renewal_that_fails_for_a_moment_gives_nothing_up() -> None:
    results: list[bool | StoreError] = [StoreError("the server is starting"), True, True, True]
    renewed = asyncio.Event()

    async def renew() -> bool:
        result = results.pop(0)
        if not results:
            renewed.set()
        if isinstance(result, StoreError):
            raise result
        return result

    since = time.monotonic()
    async with asyncio.timeout(5), kept(renew, BRIEF, 5.0):
        await renewed.wait()
    assert time.monotonic() - since >= BRIEF.seconds * 0.75 - 0.01


@pytest.mark.rule("CLAIM-4")
@pytest.mark.parametrize("result", [False, StoreError("gone")])
async def test_work_whose_claim_cannot_be_kept_is_given_up(result: bool | StoreError) -> None:
    async def renew() -> bool:
        if isinstance(result, StoreError):
            raise result
        return result

    since = time.monotonic()
    with pytest.raises(TimeoutError):
        async with kept(renew, BRIEF, 5.0):
            await asyncio.Event().wait()
    assert time.monotonic() - since < 2


async def test_a_claim_that_lasts_longer_than_the_work_may_is_not_renewed() -> None:
    async def renew() -> bool:
        raise AssertionError("nobody needs that")

    with pytest.raises(TimeoutError):
        async with kept(renew, Claim("ann", 60.0), 0.1):
            await asyncio.Event().wait()
