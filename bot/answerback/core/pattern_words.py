"""Patterns of JSON Schemas in words, for people who enter a text. Pure.

Common patterns are known as a whole. Others are read as a sequence of sets of characters and plain texts, each with how
often it may occur. What has anything else, such as alternatives, has no words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from answerback.core.format_labels import FormatLabels
from answerback_base.sanitize import quoted

_Text: TypeAlias = Callable[[FormatLabels], str]
_KNOWN: Final[Mapping[str, _Text]] = {
    r"\S": lambda labels: labels.pattern_not_blank,
    r"^\S": lambda labels: labels.pattern_not_blank,
    r"^.*\S.*$": lambda labels: labels.pattern_not_blank,
    r"^.+$": lambda labels: labels.pattern_any,
    r"^[a-z0-9]+(-[a-z0-9]+)*$": lambda labels: labels.pattern_name,
    r"^[0-9]+\.[0-9]+\.[0-9]+$": lambda labels: labels.pattern_version,
    r"^v?[0-9]+\.[0-9]+\.[0-9]+$": lambda labels: labels.pattern_version,
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$": lambda labels: labels.format_date,
    r"^[0-9]{2}:[0-9]{2}$": lambda labels: labels.pattern_clock,
    r"^([01][0-9]|2[0-3]):[0-5][0-9]$": lambda labels: labels.pattern_clock,
    r"^https?://": lambda labels: labels.format_address,
    r"^https?://.+": lambda labels: labels.format_address,
    r"^https?://.+$": lambda labels: labels.format_address,
    r"^https?://\S+$": lambda labels: labels.format_address,
    r"^\S+@\S+\.\S+$": lambda labels: labels.format_email,
    r"^[^@]+@[^@]+$": lambda labels: labels.format_email,
    r"^[^@]+@[^@]+\.[^@]+$": lambda labels: labels.format_email,
    r"^[^@\s]+@[^@\s]+\.[^@\s]+$": lambda labels: labels.format_email,
    r"^[^\s@]+@[^\s@]+\.[^\s@]+$": lambda labels: labels.format_email,
    r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$": lambda labels: labels.format_email,
    r"^([0-9]{1,3}\.){3}[0-9]{1,3}$": lambda labels: labels.pattern_ip,
    r"^[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}$": lambda labels: labels.pattern_ip,
    r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$": lambda labels: (
        labels.pattern_uuid
    ),
    r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$": lambda labels: (
        labels.pattern_uuid
    ),
    r"^#[0-9a-f]{6}$": lambda labels: labels.pattern_color,
    r"^#[0-9a-fA-F]{6}$": lambda labels: labels.pattern_color,
    r"^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$": lambda labels: labels.pattern_color,
}
r"""The labels of patterns that are known as a whole, with `[0-9]` for `\d` and with plain groups."""
_PART: Final = re.compile(
    r"(?:\[(?P<set>(?:[^\[\]\\]|\\.)+)\]|(?P<class>\\[dwsS]|\.))"
    r"(?P<times>[+*?]|\{[0-9]+(?:,[0-9]*)?\})?"
    r"|(?P<text>(?:\\[^A-Za-z0-9]|[^\\^$.|?*+()\[\]{}])+)(?![+*?{])"
)
_MEMBER: Final = re.compile(
    r"(?!\\[A-Za-z0-9])\\?(?P<low>.)-\\?(?P<high>.)|(?P<class>\\[A-Za-z0-9])|\\?(?P<one>.)"
)
_CLASSES: Final = {r"\d": ("0-9",), r"\w": ("a-z", "A-Z", "0-9", "_"), r"\s": (" ",)}
_HEXADECIMAL: Final = ({"0-9", "a-f"}, {"0-9", "A-F"}, {"0-9", "a-f", "A-F"})
_LETTERS: Final = ("a-z", "A-Z")
_NAMES: Final[Mapping[str, _Text]] = {
    "a-z": lambda labels: labels.pattern_small,
    "A-Z": lambda labels: labels.pattern_capitals,
    "0-9": lambda labels: labels.pattern_digits,
    "-": lambda labels: labels.pattern_hyphens,
    "_": lambda labels: labels.pattern_underscores,
    ".": lambda labels: labels.pattern_dots,
    "/": lambda labels: labels.pattern_slashes,
    " ": lambda labels: labels.pattern_spaces,
}


def describe_pattern(pattern: str, labels: FormatLabels) -> str | None:
    """Return what fits a pattern, such as ``only lower-case letters or digits``; None if there are no words for it."""
    known = _KNOWN.get(pattern.replace(r"\d", "[0-9]").replace("(?:", "(").replace(r"\/", "/"))
    if known is not None:
        return known(labels)
    is_start, is_end = pattern.startswith("^"), pattern.endswith("$")
    parts = _parts(pattern[is_start : len(pattern) - is_end], labels)
    if not parts:
        return None
    sequence = labels.pattern_then.join(parts)
    if is_start and is_end:
        return sequence if len(parts) > 1 else labels.pattern_only.format(what=sequence)
    frame = labels.pattern_ends if is_end else labels.pattern_contains
    return (labels.pattern_starts if is_start else frame).format(what=sequence)


def _parts(body: str, labels: FormatLabels) -> list[str]:
    """Return the parts of a sequence in words; none if one of them has no words."""
    parts: list[str] = []
    at = 0
    while at < len(body):
        match = _PART.match(body, at)
        if match is None:
            return []
        at = match.end()
        if match["text"] is not None:
            parts.append(quoted(re.sub(r"\\(.)", r"\1", match["text"])))
            continue
        what = _class_words(match["class"], labels) if match["class"] else None
        what = what or _set_words(match["set"] or match["class"], labels)
        if not what:
            return []
        parts.append(_with_times(what, match["times"] or "{1}", labels))
    return parts


def _class_words(name: str, labels: FormatLabels) -> str | None:
    return {".": labels.pattern_any, r"\S": labels.pattern_no_spaces}.get(name)


def _set_words(members: str, labels: FormatLabels) -> str:
    """Return a set of characters in words; empty if it has none."""
    if members.startswith("^"):
        return labels.pattern_no_spaces if members == r"^\s" else ""
    found: list[str] = []
    for match in _MEMBER.finditer(members):
        if match["class"] is not None and match["class"] not in _CLASSES:
            return ""
        one = match["one"] or f"{match['low']}-{match['high']}"
        found += _CLASSES[match["class"]] if match["class"] else (one,)
    *others, last = _names(list(dict.fromkeys(found)), labels)
    return f"{', '.join(others)}{labels.format_or}{last}" if others else last


def _names(members: Sequence[str], labels: FormatLabels) -> list[str]:
    if set(members) in _HEXADECIMAL:
        return [labels.pattern_hexadecimal]
    texts = []
    if set(_LETTERS) <= set(members):
        texts = [labels.pattern_letters]
        members = [each for each in members if each not in _LETTERS]
    for each in members:
        if each in _NAMES:
            texts.append(_NAMES[each](labels))
        elif len(each) > 1:
            texts.append(labels.bounds_between.format(low=each[0], high=each[2]))
        else:
            texts.append(quoted(each))
    return texts


def _with_times(what: str, times: str, labels: FormatLabels) -> str:
    """Return a set of characters with how many of them there may be; one or more needs no words."""
    if times == "+":
        return what
    low, comma, high = {"*": ("", ",", ""), "?": ("", ",", "1")}.get(times) or times[
        1:-1
    ].partition(",")
    if not comma:
        count = low
    elif low and high:
        count = labels.bounds_between.format(low=low, high=high)
    elif high:
        count = labels.bounds_high.format(high=high)
    else:
        count = labels.bounds_low.format(low=low) if low else labels.pattern_or_none
    return labels.pattern_times.format(what=what, count=count)
