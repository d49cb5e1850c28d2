"""Limits for what callers may do in a minute: whoever has done little is served whatever the others do."""

from __future__ import annotations

import pytest

from answerback.http.request_rates import RequestRates

pytestmark = pytest.mark.rule("ONBOARD-6")


def done(rates: RequestRates, caller: str, times: int) -> int:
    """Try something so often; return how often it was allowed."""
    allowed = 0
    for _ in range(times):
        if rates.pause(caller) is None:
            rates.count(caller)
            allowed += 1
    return allowed


@pytest.mark.parametrize(("each", "in_all", "attackers"), [(60, 300, 5), (10, 1_000, 100)])
def test_callers_that_do_all_they_may_leave_room_for_those_who_have_done_little(
    each: int, in_all: int, attackers: int
) -> None:
    rates = RequestRates(each, in_all, lambda: 0.0)
    allowed = sum(done(rates, f"attacker {n}", 2 * each) for n in range(attackers))
    assert allowed < in_all
    assert done(rates, "somebody else", each) == each // 5


def test_a_whole_office_may_begin_at_once() -> None:
    rates = RequestRates(60, 300, lambda: 0.0)
    assert [done(rates, f"person {n}", 1) for n in range(300)] == [1] * 300
    assert done(rates, "person 300", 1) == 0


def test_one_caller_alone_may_do_all_that_is_allowed() -> None:
    rates = RequestRates(60, 300, lambda: 0.0)
    assert done(rates, "office", 100) == 60
    pause = rates.pause("office")
    assert pause == 60


def test_all_together_never_do_more_than_is_allowed_and_begin_anew_in_the_next_window() -> None:
    now = 0.0
    rates = RequestRates(2, 5, lambda: now)
    assert sum(done(rates, f"caller {n}", 9) for n in range(50)) <= 5
    now = 60.0
    assert done(rates, "caller 49", 9) == 2
