"""A claim is renewed while the work continues, and the work is abandoned if the claim cannot be renewed."""

from __future__ import annotations

import asyncio

import pytest

from answerback.core.errors import StoreError
from answerback.ports.claims import MIN_REMAINING_FRACTION, Claim
from answerback.service.claim_renewal import hold_claim
from tests.service_support import WAIT

SHORT_LEASE = Claim("ann", 0.2)


@pytest.mark.rule("CLAIM-3")
async def test_a_renewal_that_fails_for_a_moment_does_not_abandon_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results: list[bool | StoreError] = [
        StoreError("the server is starting"),
        True,
        True,
        True,
        True,
    ]
    renewed = asyncio.Event()

    async def renew() -> bool:
        result = results.pop(0)
        if not results:
            renewed.set()
            await asyncio.Event().wait()
        if isinstance(result, StoreError):
            raise result
        return result

    # The loop's time advances only while somebody sleeps, so a busy machine does not let a claim expire.
    loop, sleep = asyncio.get_running_loop(), asyncio.sleep
    since = now = loop.time()

    async def slept(seconds: float) -> None:
        nonlocal now
        now += seconds
        await sleep(0)

    monkeypatch.setattr(loop, "time", lambda: now)
    monkeypatch.setattr(asyncio, "sleep", slept)
    claim = Claim("ann", 2.0)
    async with hold_claim(renew, claim, WAIT):
        await renewed.wait()
    monkeypatch.undo()
    assert now - since > claim.seconds * MIN_REMAINING_FRACTION


@pytest.mark.rule("CLAIM-4")
@pytest.mark.parametrize("result", [False, StoreError("gone")])
async def test_work_whose_claim_cannot_be_renewed_is_abandoned(result: bool | StoreError) -> None:
    async def renew() -> bool:
        if isinstance(result, StoreError):
            raise result
        return result

    with pytest.raises(TimeoutError):
        async with hold_claim(renew, SHORT_LEASE, 3_600.0):
            await asyncio.Event().wait()


async def test_a_claim_that_lasts_longer_than_the_work_may_is_not_renewed() -> None:
    async def renew() -> bool:
        raise AssertionError("nobody needs that")

    with pytest.raises(TimeoutError):
        async with hold_claim(renew, Claim("ann", 60.0), 0.1):
            await asyncio.Event().wait()


@pytest.mark.rule("CLAIM-4")
async def test_work_does_not_begin_under_a_claim_that_may_have_expired() -> None:
    async def renew() -> bool:
        raise AssertionError("nobody needs that")

    asked = asyncio.get_running_loop().time() - SHORT_LEASE.seconds * MIN_REMAINING_FRACTION
    with pytest.raises(TimeoutError, match="may expire before the work begins"):
        async with hold_claim(renew, SHORT_LEASE, WAIT, asked):
            raise AssertionError("the work has begun")
