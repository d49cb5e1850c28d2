"""Reads what people type: texts are compared the way people see them, lists are split and numbers are read. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from answerback_base.invisible_characters import INVISIBLE

_SEPARATORS: Final = re.compile(r"[,，﹐､、،;；\n\r\u2028\u2029]")
_EMOJI_KEY: Final = re.compile("([0-9])\ufe0f?\u20e3")
_TEN: Final = "\U0001f51f"
_NUMBER: Final = re.compile(r"#?\s*\(?(?P<sign>[+-]?)(?P<digits>\d+)(?P<fraction>\.\d+)?[.)]*")
YES: Final = frozenset({"y", "yes"})
NO: Final = frozenset({"n", "no"})
DENIALS: Final = frozenset({"no", "nope", "stop", "cancel", "deny"})
"""Words that deny a permission, unless an option is called so. None allows one: that takes a label or a number."""
_MAX_DIGITS: Final = 6
"""No question has as many options as a longer number says."""


def plain(text: str) -> str:
    """Return a text under NFKC, without characters that draw nothing, and with emoji keys as digits."""
    if text.isascii() and text.isprintable():
        return text  # the same, faster
    if "\u20e3" in text:
        text = _EMOJI_KEY.sub(r"\1", text)
    return unicodedata.normalize("NFKC", INVISIBLE.sub("", text.replace(_TEN, "10")))


def is_blank(text: str) -> bool:
    """Return True if a text has nothing but blanks and characters that draw nothing, so that a person has said nothing
    with it."""
    return not text.strip() or not INVISIBLE.sub("", text).strip()


def fold(text: str) -> str:
    """Return a text such that two texts that people take for the same are equal."""
    return " ".join(plain(text).casefold().replace("’", "'").split())


def plain_word(text: str) -> str:
    """Return a folded text without a full stop at its end."""
    return fold(text).removesuffix(".").rstrip()


def split_list(text: str) -> tuple[str, ...]:
    """Return the items of a list, without blank ones."""
    return tuple([item for part in _SEPARATORS.split(text) if (item := part.strip())])


def parse_position(text: str) -> int | None:
    """Return the number that a text is; 0: a number that is not a position in a list; None: not a number.

    A number may be in any script, be an emoji key, follow ``#`` or be followed by ``.`` or ``)``.
    """
    stripped = text.strip()
    if len(stripped) == 1 and (value := unicodedata.numeric(stripped, None)) is not None:
        return int(value) if value.is_integer() and 0 <= value < 10**_MAX_DIGITS else 0
    if found := _NUMBER.fullmatch(plain(stripped).strip()):
        is_position = not found["sign"] and not found["fraction"]
        return int(found["digits"]) if is_position and len(found["digits"]) <= _MAX_DIGITS else 0
    is_number = all(unicodedata.numeric(character, None) is not None for character in stripped)
    return 0 if stripped and is_number else None


def is_only_numbers(text: str) -> bool:
    """Return True if a text is nothing but numbers: one, several, or one that is written with blanks or commas."""
    parts = [text] if parse_position(text) is not None else " ".join(split_list(text)).split()
    return bool(parts) and all(parse_position(part) is not None for part in set(parts))
