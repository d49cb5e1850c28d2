"""Patterns of schemas are said in words, for people who enter a text."""

from __future__ import annotations

import pytest

from answerback.core.format_labels import FormatLabels
from answerback.core.pattern_words import describe_pattern

pytestmark = pytest.mark.rule("SURFACE-7")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^[a-z0-9-]+$", "only lower-case letters, digits or hyphens"),
        (
            r"^[a-z0-9]+(?:-[a-z0-9]+)*$",
            "lower-case letters and digits, in parts joined by hyphens",
        ),
        (r"^[A-Z]{2,5}-\d+$", 'capital letters (2 to 5), then "-", then digits'),
        (r"^\d{4}$", "only digits (4)"),
        (r"^\w{3,}$", "only letters, digits or underscores (at least 3)"),
        (r"^[\w-.]*$", "only letters, digits, underscores, hyphens or dots (or none)"),
        (r"^#\d?$", '"#", then digits (at most 1)'),
        (r"^[0-9a-f]{40}$", "only hexadecimal digits (40)"),
        (r"^[1-9/ ]$", "only 1 to 9, slashes or spaces (1)"),
        (r"^[()]+$", 'only "(" or ")"'),
        (r"^[^\s]+$", "only characters other than spaces"),
        (r"^\S+.+$", "characters other than spaces, then any characters"),
        (r"^https?:\/\/", "an address such as https://example.com"),
        (r"^\d{4}-\d{2}-\d{2}$", "a date such as 2026-05-31"),
        (r"^v1\.", 'starts with "v1."'),
        (r"\.md$", 'ends with ".md"'),
        ("abc", 'contains "abc"'),
        ("^a\u202eb", 'starts with "a\\u202eb"'),
    ],
)
def test_a_pattern_in_words(pattern: str, text: str) -> None:
    assert describe_pattern(pattern, FormatLabels()) == text


@pytest.mark.parametrize(
    "pattern",
    ["", "^$", "a|b", "^(a)+$", "^[^x]+$", r"^\p{L}+$", r"^[\p{L}]+$", "^ab*$", r"\bx", "^a$b"],
)
def test_what_is_no_plain_sequence_has_no_words(pattern: str) -> None:
    assert describe_pattern(pattern, FormatLabels()) is None
