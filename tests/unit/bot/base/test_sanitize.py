"""Invisible text is made visible: every invisible character, by Unicode's data, and long runs of blanks."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from answerback_base.invisible_characters import INVISIBLE
from answerback_base.sanitize import (
    MAX_BLANKS,
    as_json,
    glyphs,
    one_line,
    unseen,
    visible,
)

DRAWN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Format characters (Cf) that are drawn."""
BLANK_LETTERS = {0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800}
NEIGHBOURS = (
    "a# 1\n\x85\u00ad\u0300\u0645\u0dca\u1820\u180b\u180d\u180f\u1000"
    "\u200c\u200d\u2764\u845b\ufe00\ufe0e\ufe0f"
)
"""Characters that belong next to some of the others only."""
IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}")


def draws_nothing(char: str) -> bool:
    """Return whether a character draws nothing or changes the order, by Unicode's properties."""
    category = unicodedata.category(char)
    if char in "\t\n\r" or ord(char) in DRAWN:
        return False
    return (
        category in {"Cc", "Cf", "Zl", "Zp"}
        or ord(char) in BLANK_LETTERS
        or IGNORABLE.match(char) is not None
    )


@pytest.mark.rule("TEXT-3")
def test_the_invisible_characters_are_those_of_unicodes_data() -> None:
    every = (chr(code) for code in range(sys.maxunicode + 1))
    wrong = [f"{ord(c):X}" for c in every if (INVISIBLE.match(c) is not None) != draws_nothing(c)]
    # Python's data may be older than the list: newer characters are not assigned there.
    assert [code for code in wrong if unicodedata.category(chr(int(code, 16))) != "Cn"] == []


@pytest.mark.rule("TEXT-3")
@pytest.mark.parametrize(
    "char",
    ["\u00ad", "\u200b", "\u200c", "\u200d", "\u2063", "\u3164", "\uffa0", "\u1160", "\u2800", "\u034f",
     "\ufe0f", "\ufe00", "\U000e0061", "\U000e0100", "\U000e0001", "\u202e", "\u061c", "\u180b"],
)  # fmt: skip
def test_an_invisible_character_is_shown_as_its_code(char: str) -> None:
    code = f"⟨U+{ord(char):04X}⟩"
    assert visible(f"rm a{char}b") == one_line(f"rm a{char}b") == f"rm a{code}b"
    assert glyphs(f"a{char}b") == ["a", code, "b"]
    assert unseen(f"a{char}b") == f"a{code}b"
    escaped = as_json(f"a{char}b")
    assert char not in escaped
    assert json.loads(escaped) == f"a{char}b"


@pytest.mark.rule("TEXT-3")
@pytest.mark.parametrize(
    "text",
    ["\u2764\ufe0f", "1\ufe0f\u20e3", "\U0001f469\u200d\U0001f469\u200d\U0001f467",
     "\U0001f469\U0001f3fd\u200d\U0001f4bb",
     "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
     "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0dc1\u0dca\u200d\u0dbb\u0dd3", "\u0d28\u0d4d\u200d",
     "\u845b\U000e0100", "\u1820\u180b"],
    ids=["heart", "keycap", "family", "skin", "rainbow flag", "Scotland", "Persian", "Sinhala", "Malayalam", "Han",
         "Mongolian"],
)  # fmt: skip
def test_what_an_emoji_or_a_script_needs_is_left(text: str) -> None:
    assert visible(f"a {text} b") == f"a {text} b"
    assert visible(text) == text
    assert unseen(text) is None
    assert "".join(glyphs(text)) == text
    assert json.loads(as_json(text)) == text


@pytest.mark.rule("TEXT-3")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u2764\ufe0f\ufe0f", "\u2764\ufe0f⟨U+FE0F⟩"),
        ("1\ufe0f", "1⟨U+FE0F⟩"),
        ("\U0001f469\u200dx", "\U0001f469⟨U+200D⟩x"),
        ("\u0645\u200c", "\u0645⟨U+200C⟩"),
        ("\u0645\u200d\u200d\u0645", "\u0645⟨U+200D⟩⟨U+200D⟩\u0645"),
        ("\U0001f3f4\U000e0061", "\U0001f3f4⟨U+E0061⟩"),
        ("\u2764\ufe0f\u00ad", "\u2764\ufe0f⟨U+00AD⟩"),
        ("\u1820\u180b\u180d", "\u1820\u180b⟨U+180D⟩"),
        ("x\u180d\u180f", "x⟨U+180D⟩⟨U+180F⟩"),
    ],
)
def test_what_no_emoji_or_script_needs_is_shown_next_to_one_too(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.rule("TEXT-3")
@settings(max_examples=500)
@given(st.text(NEIGHBOURS, max_size=6))
def test_what_is_shown_hides_nothing_that_is_found_when_it_is_shown_again(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@pytest.mark.rule("TEXT-3")
def test_control_characters_have_pictures_and_line_ends_end_lines() -> None:
    assert visible("a\x00b\x1bc\x7fd\x80e") == "a␀b␛c␡d⟨U+0080⟩e"
    assert visible("a\r\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h") == "a\nb\nc\nd\ne\nf\ng\nh"
    assert glyphs("a\r\n\t\x00\u2028") == ["a", "⟨U+000D⟩", "⟨U+000A⟩", "\t", "␀", "⟨U+2028⟩"]
    assert as_json("\x7f\u2028\ud800") == '"\\u007f\\u2028\\ud800"'


@pytest.mark.rule("TEXT-3")
@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "\u3000", "\u2003"])
def test_a_long_run_of_blanks_is_shown_as_their_number(blank: str) -> None:
    assert visible(f"ls{blank * MAX_BLANKS}; rm") == f"ls{blank * MAX_BLANKS}; rm"
    assert visible(f"ls{blank * (MAX_BLANKS + 1)}; rm") == "ls[41 spaces]; rm"
    assert one_line(f"ls{blank * 400}; rm") == "ls[400 spaces]; rm"
    assert visible(f"{'x' * 2_000}{blank * 400}") == f"{'x' * 2_000}[400 spaces]"
    assert visible(f"a{blank * 400}\n{blank * 60}b") == "a[400 spaces]\n[60 spaces]b"


@pytest.mark.rule("TEXT-3")
def test_a_blank_text_is_spelled_out() -> None:
    assert visible("\u0301\u0301") == "⟨U+0301⟩⟨U+0301⟩"
    assert visible("\u3164") == "⟨U+3164⟩"
    assert visible(" \u00a0") == " \u00a0"
