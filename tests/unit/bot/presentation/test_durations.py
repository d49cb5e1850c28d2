"""Durations in words."""

from __future__ import annotations

import pytest

from answerback.core.labels import ENGLISH
from answerback.presentation.durations import age, duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3.0, "0 s"),
        (59.9, "59 s"),
        (60.0, "1 min"),
        (3_599.0, "59 min"),
        (3_600.0, "1 h"),
        (172_799.0, "47 h"),
        (172_800.0, "2 d"),
    ],
)
def test_a_duration_has_one_unit(seconds: float, text: str) -> None:
    assert duration(seconds, ENGLISH) == text


def test_an_age_below_a_minute_is_just_now() -> None:
    assert age(59.0, ENGLISH) == "just now"
    assert age(60.0, ENGLISH) == "1 min ago"
