"""The canonical form is that of RFC 8785, whichever way it is made."""

from __future__ import annotations

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.canonical_json import canonical, canonical_of_texts, digest

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.rule("RCPT-1")
@given(_VALUES)
def test_the_fast_form_is_that_of_rfc_8785(value: JsonValue) -> None:
    assert canonical_of_texts(value) == canonical(value) == rfc8785.dumps(value)


@pytest.mark.rule("RCPT-1")
def test_numbers_are_doubles() -> None:
    assert canonical({"b": [1.0, 2**60, -0.0, 1e21], "a": True}) == (
        b'{"a":true,"b":[1,1152921504606847000,0,1e+21]}'
    )


def test_a_digest_names_its_kind() -> None:
    assert digest(b"") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
