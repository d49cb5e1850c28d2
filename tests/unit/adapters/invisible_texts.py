"""A strategy for texts of invisible characters."""

from __future__ import annotations

from hypothesis import strategies as st

INVISIBLE_TEXTS = st.lists(
    st.tuples(
        st.sampled_from("a* \n`1.\u0301\u0489\u200b\u3164\u00ad\ufe0f\u200d😀\U0001f3fd"),
        st.sampled_from([1, 2, 40, 1_000, 5_000]),
    ),
    max_size=6,
).map(lambda runs: "".join(char * times for char, times in runs))
"""Combining marks, zero-width characters and parts of emoji, in runs longer than any limit."""
