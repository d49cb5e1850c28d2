"""Which characters draw nothing or reorder text, by Unicode's data. Pure.

They are the default-ignorable ones, format and control characters, and letters that are drawn as blanks. A joiner, a
variation selector or a flag's tag counts only where no emoji and no script needs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import regex

CONTROLS: Final = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029"
"""Control characters and separators, as a regular expression's set; without the line ends CR and LF, and the tab."""
_IGNORED: Final = (
    # Default_Ignorable_Code_Point: https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # the other format characters (Cf) that draw nothing, and the blank Braille cell
    "\ufff9-\ufffb\U00013430-\U0001343f\u2800"
)
INVISIBLE: Final = re.compile(f"[{CONTROLS}{_IGNORED}]")
"""An invisible character, whatever is next to it."""
_ASCII: Final = re.compile(f"[{CONTROLS}]")
"""The invisible characters in ASCII; a search for these alone takes a fifth of the time."""
_FOUND: Final = re.compile(
    f"[{CONTROLS}{_IGNORED}](?:"
    # what some emoji or script needs where it is
    "(?P<context>(?<=[\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]))"
    # the flags of England, Scotland and Wales
    "|(?P<flag>(?<=\U0001f3f4\U000e0067)\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f))?"
)
"""An invisible character. Without a group, no emoji and no script needs it."""


def replace_invisible(text: str, show: Callable[[str], str]) -> str:
    """Replace each invisible character, except those that an emoji or a script needs where they are."""
    if (_ASCII if text.isascii() else INVISIBLE).search(text) is None:
        return text
    return _FOUND.sub(
        lambda match: match[0] if match.lastgroup and _is_needed(match) else show(match[0]), text
    )


def invisible_places(text: str) -> set[int]:
    """Return the indexes of the characters that `replace_invisible` replaces."""
    if INVISIBLE.search(text) is None:
        return set()
    return {match.start() for match in _FOUND.finditer(text) if not _is_needed(match)}


def _is_needed(found: re.Match[str]) -> bool:
    """Return True if an emoji or a script needs an invisible character where it is."""
    if found.lastgroup != "context":
        return found.lastgroup == "flag"
    return _needed().match(found.string, found.start()) is not None


@cache
def _needed() -> regex.Pattern[str]:
    """An invisible character that belongs where it is.

    `regex` knows scripts and emoji. It is imported when a text needs it, for a quick start.
    """
    import regex

    scripts = "".join(
        rf"\p{{scx={script}}}"
        for script in (
            "Arab", "Beng", "Deva", "Gujr", "Guru", "Khmr", "Knda", "Mlym", "Mong", "Mymr", "Nko", "Orya", "Sinh",
            "Syrc", "Taml", "Telu", "Tibt",
        )
    )  # fmt: skip
    joined = rf"[[{scripts}]--[\u180b-\u180f]]"
    needed = (
        # parts of one emoji, and how it is drawn: https://www.unicode.org/reports/tr51/#Definitions
        r"(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?)\u200d(?=\p{Extended_Pictographic})",
        r"(?<=[\p{Emoji}--[#*0-9]])[\ufe0e\ufe0f]",
        r"(?<=[#*0-9])\ufe0f(?=\u20e3)",
        # joiners between letters, and after one that would be joined
        rf"(?<={joined})\u200c(?={joined})",
        rf"(?<={joined})\u200d(?![\u200c\u200d])",
        # variants of ideographs and letters
        r"(?<=\p{Han})[\ufe00-\ufe02\U000e0100-\U000e01ef]",
        r"(?<=[\p{Mongolian}&&\p{L}])[\u180b-\u180d\u180f]",
        r"(?<=[\p{Myanmar}\p{Phags_Pa}])\ufe00",
    )
    return regex.compile("|".join(needed), regex.V1)
