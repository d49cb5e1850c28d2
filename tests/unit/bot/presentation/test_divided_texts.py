"""Texts divided among inputs: none is too long, and none of the text is lost, even if inputs lose blanks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.presentation.divided_texts import divide_text, join_texts
from answerback.presentation.text_fitting import utf16_length

_TEXTS = st.text(st.sampled_from("ab \n\U0001f600"), max_size=60)


@pytest.mark.rule("SURFACE-8")
@given(_TEXTS, st.integers(2, 12), st.booleans())
def test_joined_parts_are_the_text(text: str, limit: int, blanks_are_layout: bool) -> None:
    parts = divide_text(text, limit, blanks_are_layout=blanks_are_layout)
    assert all(utf16_length(part) <= limit for part in parts.values())
    assert join_texts({f"3.{name}": part for name, part in parts.items()}) == {3: text}


@pytest.mark.rule("SURFACE-8")
@given(st.lists(st.text(st.sampled_from("ab"), min_size=3, max_size=9), min_size=1, max_size=9))
def test_inputs_that_lose_blanks_lose_none_of_a_text(tokens: list[str]) -> None:
    for separator in (" ", "\n", "\n  "):
        text = separator.join(tokens)
        parts = divide_text(text, 10)
        assert join_texts({f"0.{name}": part.strip() for name, part in parts.items()}) == {0: text}


def test_a_text_is_cut_at_a_line_end_if_there_is_one() -> None:
    assert divide_text("one two\nthree", 10) == {"0.n": "one two", "1": "three"}
    assert divide_text("[\n  12,\n  3\n]", 10, blanks_are_layout=True) == {
        "0.n": "[\n  12,",
        "1": "  3\n]",
    }
    assert divide_text("[\n  12,\n  3\n]", 10) == {"0": "[\n  12", "1": ",\n  3\n]"}
