"""A context on the page: semantic HTML with every character, and no markup from the agent."""

from __future__ import annotations

import re
import string
from html.parser import HTMLParser

import pytest
from hypothesis import given

from answerback.core.labels import Labels
from answerback.core.markdown import parse
from answerback_base.sanitize import visible
from answerback_web import question_context
from tests.unit.bot.core.test_markdown import SOURCES

LABELS = Labels()
_NOT_MARKUP = str.maketrans("", "", string.punctuation + string.whitespace)
_TAGS = {
    *(
        "p",
        "div",
        "pre",
        "code",
        "details",
        "summary",
        "blockquote",
        "ul",
        "ol",
        "li",
        "table",
        "thead",
        "tbody",
    ),
    *("tr", "th", "td", "hr", "a", "strong", "em", "s", "span"),
}
_ATTRIBUTES = {"class", "dir", "role", "aria-level", "tabindex", "value", "href", "target", "rel"}


class RenderedHtml(HTMLParser):
    """The text of rendered HTML, and its elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.open, self.tags, self.hrefs = "", list[str](), list[str](), list[str]()
        self.feed(html)
        self.close()
        assert not self.open, "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _TAGS
        assert {name for name, _ in attrs} <= _ATTRIBUTES
        self.tags.append(tag)
        self.hrefs += [value or "" for name, value in attrs if name == "href"]
        # A list's numbers are attributes, which browsers display.
        self.text += "".join(f"{value}." for name, value in attrs if name == "value")
        if tag != "hr":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def rendered(source: str) -> RenderedHtml:
    return RenderedHtml(str(question_context.render_blocks(parse(source), LABELS)))


@pytest.mark.rule("TEXT-5", "TEXT-6", "TEXT-1")
@given(source=SOURCES.map(visible))
def test_every_character_is_on_the_page_and_nothing_breaks_out(source: str) -> None:
    page = rendered(source)
    assert page.text.translate(_NOT_MARKUP) == source.translate(_NOT_MARKUP)
    assert all(href.startswith(("http://", "https://", "mailto:")) for href in page.hrefs)
    assert all(href in page.text for href in page.hrefs), "a link hides its target"


@pytest.mark.rule("TEXT-5")
def test_each_kind_of_block_has_its_element() -> None:
    source = (
        "# A\n\n> b\n\n- c\n\n2. d\n\n---\n\n|e|\n|-|\n|f|\n\n`g` **h** *i* ~~j~~ <https://x.y>\n"
    )
    tags = rendered(source).tags
    for tag in (
        "div",
        "blockquote",
        "ul",
        "ol",
        "li",
        "hr",
        "table",
        "th",
        "td",
        "code",
        "strong",
        "em",
        "s",
        "a",
    ):
        assert tag in tags
    assert rendered("2. d").text == "2.d"


@pytest.mark.rule("TEXT-5")
@pytest.mark.parametrize(
    ("source", "css"),
    [
        ("```sql\nselect 1 -- x\n```", ["keyword", "number", "comment"]),
        ('```python\ndef f(): return "s"\n```', ["keyword", "name", "string"]),
        ("```diff\n@@ -1 +1 @@\n-a\n+b\n c\n```", ["comment", "deleted", "inserted"]),
        ("```none-such\nselect 1\n```", []),
        ("    select 1", []),
    ],
)
def test_code_is_highlighted_if_its_language_is_known(source: str, css: list[str]) -> None:
    html = str(question_context.render_blocks(parse(source), LABELS))
    for name in ("keyword", "number", "comment", "string", "name", "deleted", "inserted"):
        assert (
            re.search(f'<span class="(line )?{name}"( data-n="[0-9]+")?>', html) is not None
        ) == (name in css), name


@pytest.mark.rule("WEB-23")
def test_lines_of_a_patch_are_numbered_in_each_file_and_its_headers_are_not() -> None:
    patch = (
        "--- a/x\n+++ b/x\n@@ -3 +3,2 @@\n-old\n+new\n+more\n--- a/y\n+++ b/y\n@@ -9 +9 @@\n-1\n+2"
    )
    html = str(question_context.render_blocks(parse(f"```diff\n{patch}\n```"), LABELS))
    lines = re.findall(r'<span class="line[^"]*"(?: data-n="(\d+)")?>(.*)', html)
    assert [line for line in lines if line[0]] == [
        ("3", "-old"),
        ("3", "+new"),
        ("4", "+more"),
        ("9", "-1"),
        ("9", "+2"),
    ]


@pytest.mark.rule("TEXT-5")
def test_a_table_is_aligned_as_its_source_says_and_breaks_only_words_that_do_not_fit() -> None:
    word = "w" * 13
    source = f"|a|b|c|d|\n|-|:-|:-:|-:|\n|{word}|{word[1:]}|x|1200|"
    cells = re.findall(
        '<t([hd]) class="([^"]*)"', str(question_context.render_blocks(parse(source), LABELS))
    )
    assert cells == [
        ("h", "text whole"),
        ("h", "text whole left"),
        ("h", "text whole center"),
        ("h", "text whole right"),
        ("d", "text"),
        ("d", "text whole left"),
        ("d", "text whole center"),
        ("d", "text whole right"),
    ]


@pytest.mark.rule("TEXT-4", "TEXT-6")
def test_long_code_is_collapsed_and_says_how_long_it_is() -> None:
    lines = [f"line {n}" for n in range(40)]
    fence = "```\n{}\n```"
    assert "details" not in rendered(fence.format("\n".join(lines))).tags
    lines.append("last")
    page = rendered(fence.format("\n".join(lines)))
    assert "Show all 41 lines" in page.text
    before = page.text.split("Show all")[0].splitlines()
    assert before == lines[:25]
    assert page.text.endswith("\n".join(lines[25:]))
