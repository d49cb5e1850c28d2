"""Agents' waits, as they are counted."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback_numbers.waits import ERROR, quantile, seconds_of, step_of


@pytest.mark.rule("NUMBERS-3")
@given(st.floats(min_value=0.1, max_value=1e8))
def test_a_wait_is_stated_within_the_error_that_is_named(seconds: float) -> None:
    assert seconds_of(step_of(seconds)) == pytest.approx(seconds, rel=ERROR)


@pytest.mark.rule("NUMBERS-3")
@given(st.lists(st.floats(min_value=0.1, max_value=1e7), min_size=1), st.sampled_from([0.5, 0.9]))
def test_a_quantile_is_one_of_the_waits_within_that_error(waits: list[float], part: float) -> None:
    exact = sorted(waits)[max(-int(-part * len(waits) // 1) - 1, 0)]
    assert quantile(Counter(map(step_of, waits)), part) == pytest.approx(exact, rel=ERROR)


@pytest.mark.rule("NUMBERS-3")
def test_without_waits_there_is_no_quantile() -> None:
    assert quantile({}, 0.5) is None
    assert step_of(-5.0) == step_of(0.0) == step_of(0.1) == 0
