"""Request bodies: only valid JSON within bounds is accepted; errors give the position."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.core.errors import ProblemError
from answerback.service.json_bodies import dump_json, parse_json
from answerback_base.strict_json import MAX_DEPTH


def refusal(body: bytes) -> str:
    with pytest.raises(ProblemError) as caught:
        parse_json(body)
    assert caught.value.status == 400
    return str(caught.value.detail)


@pytest.mark.rule("API-6")
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "expecting value at line 1, column 1"),
        (b'{"a": 1,\n "b" 2}', "expecting ':' delimiter at line 2, column 6"),
        (b'{"a": 1,}', "illegal trailing comma before end of object at line 1, column 8"),
        (b'{"a": 1} x', "extra data at line 1, column 10"),
        (b"\xff\xfe", "byte 0 is not UTF-8"),
        (b'{"a": "\xed\xa0\x80"}', "byte 7 is not UTF-8"),
        (b'{"a": NaN}', "NaN is not a JSON value"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON value"),
        (b'{"a": 1e999}', "the number 1e999"),
        (b"1" * 400, "the number 1111"),
        (b"1" * 250_000, "the number 1111"),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', 'the key "c" occurs twice in one object'),
        (b"[" * 66 + b"]" * 66, "nested deeper than 64 levels"),
        (b"[" * 100_000, "nested deeper than 64 levels"),
        (b'{"a":' * 50_000, "nested deeper than 64 levels"),
    ],
)
def test_invalid_json_is_refused_with_its_position(body: bytes, text: str) -> None:
    assert text in refusal(body)


def test_nesting_is_accepted_up_to_the_limit() -> None:
    assert parse_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not None


def test_lone_surrogates_and_nul_are_accepted_unchanged() -> None:
    body = b'{"a":"\\ud800","b":"\\u0000"}'
    value = parse_json(body)
    assert value == {"a": "\ud800", "b": "\x00"}
    assert dump_json(value) == body


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_any_json_value_is_parsed_unchanged(value: object) -> None:
    assert parse_json(json.dumps(value).encode()) == value
    assert parse_json(dump_json(value)) == value


@pytest.mark.rule("API-6")
@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_refused_with_400(body: bytes) -> None:
    try:
        value = parse_json(body)
    except ProblemError as error:
        refusal = error.status
    else:
        assert value == json.loads(body)
        refusal = 400
    assert refusal == 400


def test_numbers_at_the_limits_of_a_double_are_parsed() -> None:
    assert parse_json(b"1.7976931348623157e308") == pytest.approx(1.7976931348623157e308)
    assert parse_json(b"1" + b"0" * 308) == 10**308
    assert math.copysign(1, float(str(parse_json(b"-0.0")))) == -1
