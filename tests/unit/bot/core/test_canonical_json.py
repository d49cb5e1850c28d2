"""The canonical form is that of RFC 8785, whichever way it is made."""

from __future__ import annotations

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.canonical_json import canonical, digest

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
_NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)


def values(leaves: st.SearchStrategy[JsonValue]) -> st.SearchStrategy[JsonValue]:
    """Generate JSON with these numbers."""
    return st.recursive(
        st.none() | st.booleans() | leaves | _TEXTS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
        max_leaves=12,
    )


def with_doubles(value: JsonValue) -> JsonValue:
    """Return JSON with a double for each integer that no double holds exactly."""
    if isinstance(value, dict):
        return {name: with_doubles(member) for name, member in value.items()}
    if isinstance(value, list):
        return [*map(with_doubles, value)]
    return float(value) if isinstance(value, int) and abs(value) >= 2**53 else value


@pytest.mark.rule("RCPT-1")
@given(values(_NUMBERS))
@example({"\U0001f600": 1, "\ufb01": 2})
@example(["\U0001f600", "\x7f\x1f\u2028", 2**53 - 1, -(2**53) + 1])
@example({"a": [1.0, -0.0, 1e-7, 1e21, 1e16]})
def test_the_form_is_that_of_rfc_8785(value: JsonValue) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.rule("RCPT-1")
@given(values(st.integers(-(10**300), 10**300)))
@example([2**53, -(2**53)])
def test_long_integers_are_doubles(value: JsonValue) -> None:
    assert canonical(value) == rfc8785.dumps(with_doubles(value))


@pytest.mark.rule("RCPT-1")
def test_numbers_are_doubles() -> None:
    assert canonical({"b": [1.0, 2**60, -0.0, 1e21], "a": True}) == (
        b'{"a":true,"b":[1,1152921504606847000,0,1e+21]}'
    )


def test_a_digest_names_its_kind() -> None:
    assert digest(b"") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
