"""The pauses between retries grow, are bounded, and differ between processes."""

from __future__ import annotations

import pytest

from answerback_base import backoff
from answerback_base.backoff import Backoff


def test_a_pause_grows_up_to_its_bound_and_starts_again_after_a_success(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backoff, "_JITTER", 0.0)
    pauses = Backoff(0.5, 3.0)
    assert [pauses.next_delay() for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    pauses.reset()
    assert pauses.next_delay() == 0.5
    steep = Backoff(1.0, 120.0, factor=5.0)
    assert [steep.next_delay() for _ in range(5)] == [1.0, 5.0, 25.0, 120.0, 120.0]


def test_a_pause_stays_bounded_however_often_it_has_failed() -> None:
    for failures in (63, 64, 65, 5_000):
        assert 60.0 <= Backoff(0.5, 60.0).delay_after(failures) <= 60.0 * 1.25


def test_processes_that_failed_together_do_not_retry_together() -> None:
    pauses = {Backoff(1.0, 60.0).next_delay() for _ in range(50)}
    assert len(pauses) > 1
    assert all(1.0 <= pause <= 1.25 for pause in pauses)


async def test_a_platforms_own_pause_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("answerback_base.backoff.asyncio.sleep", sleep)
    await Backoff(1.0, 60.0).wait(7.0)
    await Backoff(0.001, 60.0).wait()
    assert waited[0] == 7.0
    assert 0.001 <= waited[1] <= 0.00125
