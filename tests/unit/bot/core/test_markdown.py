"""Contexts are parsed as models intend, and no content is lost."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from answerback.core import markdown
from answerback.core.markdown import (
    MAX_RENDERED_CHARS,
    Block,
    Code,
    Heading,
    Item,
    List,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
    Verbatim,
    blocks_to_text,
    parse,
    parse_start,
)
from tests.timing import BLOCKED, seconds

PIECES = (
    *(
        "a",
        "b1",
        "ü",
        "語",
        "*",
        "**",
        "_",
        "`",
        "```",
        "~~~",
        ">",
        "-",
        "+",
        "1.",
        "007)",
        "#",
        "|",
        "|--|",
    ),
    *(
        "[",
        "](",
        "]",
        "(",
        ")",
        "!",
        "<",
        "&amp;",
        "\\",
        "~~",
        "---",
        "===",
        "<!--",
        "[x]:",
        "<b>",
        "=",
        ":",
    ),
    *("http://x.y", "<http://x.y/ü>", '![p](http://x.y "t")', "mailto:a@b", "javascript:x", '"t"'),
)
SOURCES = st.lists(
    st.sampled_from(
        [*PIECES, " ", " ", "    ", "\n", "\n", "\n\n", "\t", "\r\n", "\r", "\0", "\u2028"]
    )
    | st.text(max_size=3),
    max_size=40,
).map("".join)
"""Texts full of valid and invalid markup."""
_NOT_MARKUP = str.maketrans("", "", string.punctuation + string.whitespace)


@pytest.mark.rule("TEXT-6")
@given(source=SOURCES)
@example("| a |\n|---|\n| b | lost |")
@example("> " * 60 + "deep")
@example("1. a\n1. b\n\n007. c")
@example('[x]: http://x.y "t"\n\n[x]')
@example("``` lang more\ncode\n```")
def test_every_character_other_than_markup_is_in_the_tree_in_order(source: str) -> None:
    said = blocks_to_text(parse(source))
    assert said.translate(_NOT_MARKUP) == source.translate(_NOT_MARKUP)


@pytest.mark.rule("TEXT-5")
@pytest.mark.parametrize(
    ("source", "block"),
    [
        ("one\ntwo", Paragraph((Span("one\ntwo"),))),
        ("## A *b*", Heading(2, (Span("A "), Span("b", italic=True)))),
        ("A\n===", Heading(1, (Span("A"),))),
        ("```sql\nselect 1;\n\n```", Code("select 1;\n", "sql")),
        ("    indented", Code("indented")),
        ("> quoted", Quote((Paragraph((Span("quoted"),)),))),
        ("- a\n- b", List((Item(None, (Paragraph((Span("a"),)),)), Item(None, (Paragraph((Span("b"),)),))))),
        ("3. a", List((Item("3", (Paragraph((Span("a"),)),)),))),
        ("---", Rule()),
        ("|a|b|\n|-|-|\n|1|", Table((((Span("a"),), (Span("b"),)), ((Span("1"),), ())))),
        ("**b _c_**", Paragraph((Span("b ", bold=True), Span("c", bold=True, italic=True)))),
        ("`a*b*` ~~c~~", Paragraph((Span("a*b*", code=True), Span(" "), Span("c", strike=True)))),
        ("[w](https://x.y)", Paragraph((Span("w", link="https://x.y"),))),
        ("![w](https://x.y)", Paragraph((Span("w", link="https://x.y"),))),
        ("<mailto:a@b.c>", Paragraph((Span("mailto:a@b.c", link="mailto:a@b.c"),))),
        ("rm *.py", Paragraph((Span("rm *.py"),))),
    ],
)  # fmt: skip
def test_markdown_by_models_is_parsed_as_intended(source: str, block: Block) -> None:
    assert parse(source) == (block,)


@pytest.mark.rule("TEXT-5")
@pytest.mark.parametrize(
    "source",
    [
        "[w](javascript:alert(1))",
        "[w](data:text/html,x)",
        "[w](//x.y)",
        "[w](<https://x.y/a b>)",
        "[w](https://x.y/\u200b)",
        "<b>bold</b> <script>alert(1)</script>",
        "<!-- hidden -->",
        "&amp; &#42;",
        "[w][x]\n\n[x]: https://x.y",
    ],
)
def test_html_entities_and_other_kinds_of_links_stay_plain_text(
    source: str,
) -> None:
    assert blocks_to_text(parse(source)).split() == source.split()
    assert all(isinstance(block, Paragraph) for block in parse(source))
    spans = [
        span for block in parse(source) if isinstance(block, Paragraph) for span in block.spans
    ]
    assert all(span == Span(span.text) for span in spans)


@pytest.mark.rule("TEXT-5")
def test_a_link_shows_its_full_address_after_its_text() -> None:
    source = '[the **plan**](https://x.y/p?q=1 "a title"), [https://x.y](https://evil.example), <https://x.y>'
    assert blocks_to_text(parse(source)) == (
        'the plan (https://x.y/p?q=1) "a title", https://x.y (https://evil.example), https://x.y'
    )


@pytest.mark.rule("SUBMIT-17")
def test_a_plain_text_context_is_verbatim() -> None:
    assert markdown.parse_context("*a*", "text") == (Verbatim("*a*"),)
    assert markdown.parse_context("*a*", "markdown") == (Paragraph((Span("a", italic=True),)),)


@pytest.mark.rule("TEXT-6")
def test_a_long_context_is_rendered_up_to_a_line_break() -> None:
    line = "word " * 20 + "\n"
    fits = (line * 100)[:MAX_RENDERED_CHARS]
    assert parse_start(fits, MAX_RENDERED_CHARS) == (parse(fits), True)
    blocks, is_all = parse_start(fits + "x", MAX_RENDERED_CHARS)
    assert not is_all
    assert blocks_to_text(blocks).split() == fits[: fits.rfind("\n")].split()
    assert parse_start("x" * (MAX_RENDERED_CHARS + 1), MAX_RENDERED_CHARS) == (
        (Paragraph((Span("x" * MAX_RENDERED_CHARS),)),),
        False,
    )


@pytest.mark.rule("DATA-9")
@pytest.mark.parametrize(
    "piece", ["*a **b ", "[", "[a](", "![a", "a\n\n", "- a\n", "|a|\n|-|\n", "*_", "\\*", "<", "`a", "> - "]
)  # fmt: skip
def test_parsing_the_start_of_a_context_never_blocks_the_loop(piece: str) -> None:
    source = (piece * MAX_RENDERED_CHARS)[:MAX_RENDERED_CHARS]
    assert seconds(lambda: markdown._read(source)) < BLOCKED
