"""Text from agents and people is shown literally: no part of it becomes markup on Discord."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from answerback.presentation.text_fitting import divide_budget, utf16_length
from answerback_base.sanitize import visible
from answerback_discord.markdown_text import (
    escape,
    fit_line,
    shorten,
    shorten_code_block,
    split_into_pages,
    split_into_pieces,
)
from tests.fakes.discord.markdown import to_html
from tests.unit.adapters.discord.sight import remove_escapes
from tests.unit.adapters.invisible_texts import INVISIBLE_TEXTS

ANY = st.text(max_size=80)
MARKS = st.text(st.sampled_from("*_~|`<@#>[]():/\\ -+.1\n\tat"), max_size=60)


@pytest.mark.rule("TEXT-1")
@pytest.mark.parametrize(
    "text",
    [
        "@everyone", "<@80351110224678912>", "<@&5>", "<#5>", "<t:0:R>", "</run:5>", "<:a:5>", "<id:home>",
        "https://evil.example", "discord://x", "[ok](https://evil.example)", "<https://evil.example>",
        "# big", "-# small", "> quote", ">>> quotes", "- item", "* item", "+ item", "1. item", "2) item",
        "**b**", "__u__", "~~s~~", "||secret||", "`code`", "```\ncode\n```", ":smile:", "\\*x\\*",
    ],
)  # fmt: skip
def test_markdown_is_shown_as_it_is_written(text: str) -> None:
    shown = re.sub(r"<[^>]+>|&#8203;", "", to_html(escape(text)))
    assert "<b>" not in to_html(escape(text))
    assert shown == text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace(
        "\n", ""
    )


@given(MARKS | ANY)
@example("1.\\*x")
def test_removing_the_escapes_restores_the_text(text: str) -> None:
    assert remove_escapes(escape(text)) == visible(text)
    assert not re.search(r"(?<!\\)(?:\\\\)*[*_~|`<@\[\]]", escape(text))


@given(MARKS | ANY, st.integers(4, 60))
def test_pages_fit_and_lose_only_blanks(text: str, most: int) -> None:
    pages = split_into_pages(text, most)
    assert all(0 < utf16_length(page) <= most for page in pages)
    shown = "".join(remove_escapes(page) for page in pages)
    assert "".join(shown.split()) == "".join(visible(text).split())


@given(MARKS | ANY, st.integers(2, 60))
def test_a_shortened_text_fits_and_cuts_no_escape(text: str, most: int) -> None:
    shown, left_out = shorten(text, most)
    assert utf16_length(shown) <= most
    if not left_out:
        assert remove_escapes(shown) == visible(text).strip()
    assert not re.search(r"(?<!\\)(?:\\\\)*\\…$", shown)


@given(MARKS | ANY)
def test_the_pieces_of_a_text_add_up_to_it(text: str) -> None:
    together = "".join(remove_escapes(piece) for piece in split_into_pieces(text * 30))
    assert re.sub(r"\s", "", together) == re.sub(r"\s", "", visible(text * 30))


@given(INVISIBLE_TEXTS)
def test_pieces_of_an_invisible_text_are_no_longer_than_others(text: str) -> None:
    made = split_into_pieces(text)
    assert all(utf16_length(piece) <= 2_000 for piece in made)
    together = "".join(remove_escapes(piece) for piece in made)
    assert re.sub(r"\s", "", together) == re.sub(r"\s", "", visible(text))


@pytest.mark.rule("TEXT-1")
@pytest.mark.parametrize("run", ["`" * count for count in range(1, 10)])
@pytest.mark.parametrize(
    "text", ["{} [x](https://evil.example)", "[x](https://evil.example) {}", "a{}b"]
)
def test_a_text_cannot_break_out_of_a_code_block(text: str, run: str) -> None:
    text = text.format(run)
    shown, left_out = shorten_code_block(text, 100)
    assert shown.count("```") == 2
    assert "href" not in to_html(shown)
    assert shown[4:-4].replace("\u200b", "") == text
    assert not left_out


def test_a_code_block_is_shortened_to_its_budget() -> None:
    assert shorten_code_block("x" * 200, 100)[1]
    assert len(shorten_code_block("x" * 200, 100)[0]) <= 100


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_label_is_only_shortened_past_its_limit(over: int) -> None:
    text = "x" * (80 + over)
    assert (fit_line(text, 80) == text) == (over <= 0)
    assert len(fit_line(text, 80)) <= 80


def test_the_budget_is_shared_so_that_short_texts_are_shown_in_full() -> None:
    assert divide_budget([10, 500, 20, 500], 430) == [10, 200, 20, 200]
    assert divide_budget([], 100) == []
    assert divide_budget([5, 5], 100) == [5, 5]
