"""The codec of control ids."""

import pytest

from answerback_chat.control_codec import Control, Verb, decode

LONGEST = "ask_" + "z" * 40


@pytest.mark.parametrize(
    ("verb", "argument"),
    [
        *((verb, "a.b_c-" * 5) for verb in Verb),
        *((Verb.BACK, argument) for argument in ("", "0", "true", "p12")),
    ],
)
def test_an_encoded_control_can_be_decoded_and_fits_every_platform(
    verb: Verb, argument: str
) -> None:
    text = Control(LONGEST, 999_999_999, verb, argument).encode()
    assert len(text) <= 100
    assert decode(text) == Control(LONGEST, 999_999_999, verb, argument)


@pytest.mark.parametrize(
    ("ask_id", "revision", "argument"),
    [
        ("ask_" + "z" * 41, 1, ""),
        ("ask_A", 1, ""),
        ("web_1", 1, ""),
        ("ask_1", -1, ""),
        ("ask_1", 10**9, ""),
        ("ask_1", 1, "a:b"),
        ("ask_1", 1, "z" * 31),
    ],
)
def test_a_control_that_could_not_be_decoded_is_not_encoded(
    ask_id: str, revision: int, argument: str
) -> None:
    with pytest.raises(ValueError, match="control"):
        Control(ask_id, revision, Verb.BACK, argument).encode()


@pytest.mark.rule("SURFACE-15")
@pytest.mark.parametrize(
    "text",
    [
        None, 7, "", "ab1", "ab1:ask_1:1:", "ab1:ask_1:1:nothing", "ab2:ask_1:1:back",
        "ab1:ask_1:1:back:a b", "ab1:ask_1:1:back\n", "ab1:ask_1:x:back",
    ],
)  # fmt: skip
def test_other_values_decode_to_none(text: object) -> None:
    assert decode(text) is None
