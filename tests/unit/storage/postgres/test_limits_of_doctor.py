"""The limits beyond which `answerback doctor` warns, at their edge."""

from __future__ import annotations

from answerback_postgres.health_checks import clock_finding
from tests.limit_edges import edge


@edge("MAX_CLOCK_DIFFERENCE")
def test_clocks_may_differ_by_five_seconds() -> None:
    for agreeing in (0.0, 5.0, -5.0):
        assert clock_finding(agreeing).wrong is None
    for off in (5.001, -5.001):
        assert clock_finding(off).warning
        assert "5 s" in (clock_finding(off).wrong or "")
