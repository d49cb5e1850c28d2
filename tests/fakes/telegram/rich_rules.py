"""Telegram's rules for rich messages, from its documentation: no library that is installed knows them yet.

https://core.telegram.org/bots/api#rich-message-formatting-options
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any, Final

from tests.fakes.telegram.rules import Parsed, bad

_INLINE: Final = frozenset(
    [
        "b",
        "strong",
        "i",
        "em",
        "u",
        "ins",
        "s",
        "strike",
        "del",
        "code",
        "mark",
        "sub",
        "sup",
        "tg-spoiler",
        "a",
        "br",
    ]
)
_TEXT_BLOCKS: Final = frozenset(
    ["h1", "h2", "h3", "h4", "h5", "h6", "p", "pre", "footer", "li", "summary", "cite", "th", "td"]
)
"""Elements that contain text and marks, but no other block."""
_CONTAINERS: Final = frozenset(["ul", "ol", "blockquote", "aside", "table", "tr", "details"])
_COUNTED: Final = (_TEXT_BLOCKS | _CONTAINERS) - {"summary", "cite", "th", "td"}
_ATTRIBUTES: Final = {
    "a": {"href", "name"},
    "code": {"class"},
    "ol": {"start", "type", "reversed"},
    "table": {"bordered", "striped"},
    "th": {"align", "valign", "colspan", "rowspan"},
    "td": {"align", "valign", "colspan", "rowspan"},
}
_ENTITY: Final = re.compile(
    r"&(?!(?:lt|gt|amp|quot|apos|nbsp|hellip|mdash|ndash|lsquo|rsquo|ldquo|rdquo);|#\d+;|#x[0-9a-f]+;)"
)
_BLANKS: Final = re.compile(r"[ \t\r\n]+")
MAX_CHARACTERS: Final = 32_768
MAX_BLOCKS: Final = 500
MAX_NESTED: Final = 16
MAX_COLUMNS: Final = 20


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.open: list[str] = []
        self.blocks = 0
        self.columns = 0
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _INLINE | _TEXT_BLOCKS | _CONTAINERS:
            raise bad(f'can\'t parse entities: Unsupported start tag "{tag}"')
        if {name for name, _ in attrs} - _ATTRIBUTES.get(tag, set()):
            raise bad(f'can\'t parse entities: unsupported attribute of "{tag}"')
        if tag not in _INLINE and any(each in _INLINE | _TEXT_BLOCKS for each in self.open):
            raise bad(f'can\'t parse entities: "{tag}" inside {self.open}')
        if tag == "br":
            self.text += "\n"
            return
        self.open.append(tag)
        if len(self.open) > MAX_NESTED:
            raise bad("RICH_MESSAGE_TOO_DEEP")
        self.blocks += tag in _COUNTED
        self.columns = 0 if tag == "tr" else self.columns + (tag in {"th", "td"})
        if self.columns > MAX_COLUMNS:
            raise bad("RICH_MESSAGE_TABLE_TOO_WIDE")
        self.links += [url or "" for name, url in attrs if name == "href"]

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            raise bad("can't parse entities: Unmatched end tag")
        self.text += {"th": "\t", "td": "\t", "tr": "\n"}.get(
            tag, "\n\n" if tag in _COUNTED else ""
        )

    def handle_data(self, data: str) -> None:
        if not self.open:
            raise bad("can't parse entities: text outside of a block")
        self.text += data if "pre" in self.open else _BLANKS.sub(" ", data)


def parse_rich(message: Any) -> Parsed:
    """Parse a rich message; raise what Telegram would."""
    assert {*message} == {"html", "skip_entity_detection"}, "names and commands become live"
    assert message["skip_entity_detection"] is True
    markup = message["html"]
    if _ENTITY.search(markup):
        raise bad("can't parse entities: unsupported entity")
    parser = _Parser()
    parser.feed(markup)
    parser.close()
    if parser.open:
        raise bad("can't parse entities: Can't find end tag")
    if not parser.text.strip():
        raise bad("text must be non-empty")
    if len(parser.text) > MAX_CHARACTERS:
        raise bad("message is too long")
    if parser.blocks > MAX_BLOCKS:
        raise bad("RICH_MESSAGE_TOO_MANY_BLOCKS")
    people = [url for url in parser.links if url.startswith("tg://user?id=")]
    mentioned = tuple(url.removeprefix("tg://user?id=") for url in people)
    links = tuple(url for url in parser.links if not url.startswith("tg://"))
    text = parser.text.strip().replace("\N{NO-BREAK SPACE}", " ")
    return Parsed(text, (), (), mentioned, links)
