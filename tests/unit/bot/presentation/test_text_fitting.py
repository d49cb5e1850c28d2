"""Texts are cut to fit between what people see as characters, and nothing of them is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.presentation.text_fitting import count_fitting, shorten, split_text, utf16_length

FLAG, FAMILY, SYLLABLE = "🇩🇪", "👨\u200d👩\u200d👧", "क्षि"


@pytest.mark.rule("TEXT-2")
@pytest.mark.parametrize(
    ("text", "limit", "shortened"),
    [
        (FLAG * 4, 10, f"{FLAG * 2}…"),
        (f"a{FLAG * 30}", 40, f"a{FLAG * 9}…"),
        (FAMILY * 2, 12, f"{FAMILY}…"),
        (SYLLABLE * 3, 7, f"{SYLLABLE}…"),
        ("e\u0301" * 5, 6, "e\u0301e\u0301…"),
        ("one two three", 9, "one two…"),
        ("1. " + "\U0001f600" * 70, 75, "1. " + "\U0001f600" * 35 + "…"),
        ("x" * 50, 20, f"{'x' * 19}…"),
        ("fits", 4, "fits"),
    ],
)
def test_a_text_is_shortened_after_a_whole_word_or_a_whole_character(
    text: str, limit: int, shortened: str
) -> None:
    assert shorten(text, limit) == shortened


@pytest.mark.rule("TEXT-2")
def test_a_character_longer_than_the_space_for_it_is_cut() -> None:
    zalgo = "e" + "\u0301" * 100
    assert [len(piece) for piece in split_text(zalgo, 30)] == [30, 30, 30, 11]


@pytest.mark.rule("TEXT-2")
@pytest.mark.parametrize("limit", [0, -1, -2])
@pytest.mark.parametrize("text", ["", "a", "a b", "\U0001f600"])
def test_nothing_is_left_where_there_is_no_room(text: str, limit: int) -> None:
    assert shorten(text, limit) == ""


@given(
    st.text(st.sampled_from(f"ab \n\u0301{FLAG}{FAMILY}{SYLLABLE}"), max_size=60),
    st.integers(4, 20),
)
def test_the_pieces_of_a_text_fit_and_are_the_text(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    assert "".join(pieces) == text
    assert all(0 < utf16_length(piece) <= limit for piece in pieces)


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 1), (3, 2), (9, 2)])
def test_the_characters_that_fit_are_counted_in_units(limit: int, count: int) -> None:
    assert count_fitting("\U0001f600a", limit) == count
