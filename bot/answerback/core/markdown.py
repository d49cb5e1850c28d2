"""Context as a tree: CommonMark with tables, read once, drawn by each surface with its own means. Pure.

Nothing that the source says is left out: apart from ASCII punctuation that is markup, every character of the source is
in the tree, in order. A source for which that would not hold is one block of verbatim text.

HTML, entities and reference definitions stay the text that they are, an image is a link, and a link that leads
anywhere but to http, https or mailto is text.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token

from answerback.core.form import ContextFormat


class Span(NamedTuple):
    """Text of one look. ``link`` is the whole address where the text is a link's words."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    link: str | None = None


Spans: TypeAlias = tuple[Span, ...]
"""A paragraph's text; it may have line breaks."""


class Paragraph(NamedTuple):
    """A paragraph."""

    spans: Spans


class Heading(NamedTuple):
    """A heading; ``level`` is 1 to 6."""

    level: int
    spans: Spans


class Code(NamedTuple):
    """Code, verbatim and without a line end at its end; ``info`` is what stood behind the fence, or empty."""

    text: str
    info: str = ""

    @property
    def language(self) -> str:
        """The first word of ``info`` in lower case: what the code is written in."""
        return self.info.split(maxsplit=1)[0].lower() if self.info.strip() else ""


class Quote(NamedTuple):
    """A block quote."""

    blocks: tuple[Block, ...]


class Item(NamedTuple):
    """An item of a list; ``number`` is None in a bullet list."""

    number: str | None
    blocks: tuple[Block, ...]


class List(NamedTuple):
    """A bullet list or a numbered one."""

    items: tuple[Item, ...]


class Rule(NamedTuple):
    """A thematic break."""


class Table(NamedTuple):
    """A table: rows of cells, the first row its head."""

    rows: tuple[tuple[Spans, ...], ...]


class Verbatim(NamedTuple):
    """Text as it was written, its line breaks and blanks kept."""

    text: str


Block: TypeAlias = Paragraph | Heading | Code | Quote | List | Rule | Table | Verbatim

MAX_RENDERED_CHARS: Final = 4_000
"""Characters of a source that a message of a chat platform may draw as Markdown: no message has room for more."""
_CACHED: Final = 128
"""Sources whose trees are kept: one is drawn again after every click."""
_ADDRESS: Final = re.compile(
    r"(?:https?://|mailto:)[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII | re.IGNORECASE
)
"""What a link may lead to: the characters of https://www.rfc-editor.org/rfc/rfc3986#section-2, nothing else."""
_MARKUP: Final = str.maketrans("", "", string.punctuation + string.whitespace)
_NESTING: Final = 20


def parse_context(context: str, context_format: ContextFormat) -> tuple[Block, ...]:
    """The blocks of a context, which is Markdown or text."""
    return parse(context) if context_format == "markdown" else (Verbatim(context),)


def parse(source: str) -> tuple[Block, ...]:
    """The blocks of a context."""
    return _parse_short(source) if len(source) <= MAX_RENDERED_CHARS else _parse(source)


def parse_start(source: str) -> tuple[tuple[Block, ...], bool]:
    """The blocks of a context's first `MAX_RENDERED_CHARS` characters, up to a line's end, and whether that is all."""
    if len(source) <= MAX_RENDERED_CHARS:
        return parse(source), True
    start = source[:MAX_RENDERED_CHARS]
    return parse(start[: start.rfind("\n") + 1] or start), False


def blocks_to_text(blocks: Iterable[Block]) -> str:
    """What blocks say, without any markup: what a screen reader reads, and a search finds."""
    return "\n".join(_lines(blocks))


def spans_to_text(spans: Iterable[Span]) -> str:
    """What spans say: a link's words are followed by its address, unless they are the address."""
    return "".join(span.text for span in append_link_addresses(spans))


def append_link_addresses(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans, each link's address in brackets behind its last word, unless its words are the address."""
    run: list[Span] = []
    for span in (*spans, Span("")):
        if run and span.link != run[0].link:
            yield from run
            address = run[0].link or ""
            if "".join(part.text for part in run) not in {address, address.removeprefix("mailto:")}:
                yield Span(" (")
                yield Span(address, link=address)
                yield Span(")")
            run = []
        if span.link is not None:
            run.append(span)
        elif span.text:
            yield span


def _lines(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Paragraph(spans) | Heading(_, spans):
                yield spans_to_text(spans)
            case Code(text, info):
                yield from (info, text) if info else (text,)
            case Quote(inner):
                yield from _lines(inner)
            case List(items):
                for number, inner in items:
                    yield from (f"{number}.",) if number else ()
                    yield from _lines(inner)
            case Table(rows):
                yield from (" | ".join(map(spans_to_text, row)) for row in rows)
            case Verbatim(text):
                yield text
            case Rule():
                pass


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING})
    reader.enable(["table", "strikethrough"])
    reader.disable(["reference", "entity", "html_block", "html_inline", "normalize", "image"])
    reader.validateLink = _may_lead  # type: ignore[method-assign,assignment]
    # An address is shown as it was written: an encoded one hides what it says.
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    reader.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return reader


def _may_lead(address: str) -> bool:
    """Whether a link may lead to an address: no letter in it looks like another one's."""
    return _ADDRESS.fullmatch(address) is not None


_READER: Final = _reader()


@lru_cache(maxsize=_CACHED)
def _parse_short(source: str) -> tuple[Block, ...]:
    return _parse(source)


def _parse(source: str) -> tuple[Block, ...]:
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    blocks = tuple(_blocks(iter(_READER.parse(source))))
    if blocks_to_text(blocks).translate(_MARKUP) != source.translate(_MARKUP):
        return (Verbatim(source),)
    return blocks


def _blocks(tokens: Iterator[Token]) -> Iterator[Block]:
    """The blocks up to the end of the one that they are in."""
    for token in tokens:
        match token.type:
            case "paragraph_open":
                yield Paragraph(_spans(tokens))
            case "heading_open":
                yield Heading(int(token.tag[1:]), _spans(tokens))
            case "fence" | "code_block":
                yield Code(token.content.removesuffix("\n"), token.info.strip())
            case "blockquote_open":
                yield Quote(tuple(_blocks(tokens)))
            case "bullet_list_open" | "ordered_list_open":
                yield List(tuple(_items(tokens)))
            case "table_open":
                yield Table(tuple(_rows(tokens)))
            case "hr":
                yield Rule()
            case _:
                assert token.nesting < 0, f"the reader has no rule that makes a {token.type}"
                return


def _items(tokens: Iterator[Token]) -> Iterator[Item]:
    while (token := next(tokens)).nesting >= 0:
        yield Item(token.info or None, tuple(_blocks(tokens)))


def _rows(tokens: Iterator[Token]) -> Iterator[tuple[Spans, ...]]:
    row: list[Spans] = []
    while (token := next(tokens)).type != "table_close":
        match token.type:
            case "th_open" | "td_open":
                row.append(_spans(tokens))
            case "tr_close":
                yield tuple(row)
                row = []
            case _:
                pass


def _spans(tokens: Iterator[Token]) -> Spans:
    """The text of a block that holds inline markup, up to the block's end."""
    text = next(tokens)
    next(tokens)
    return tuple(_merged(_inline(text.children or ())))


def _inline(tokens: Sequence[Token]) -> Iterator[Span]:
    depth = {"strong": 0, "em": 0, "s": 0}
    look, title = Span(""), ""
    for token, after in pairwise([*tokens, None]):
        assert token is not None
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if kind in depth:
            depth[kind] += token.nesting
            bold, italic, strike = (level > 0 for level in depth.values())
            look = look._replace(bold=bold, italic=italic, strike=strike)
        elif token.type == "link_open":
            look = look._replace(link=str(token.attrs["href"]))
            title = str(token.attrs.get("title", ""))
        elif token.type == "link_close":
            look = look._replace(link=None)
            if title:  # it stands behind the address, which comes behind the words
                yield look._replace(text=f' "{title}"')
        elif kind in {"softbreak", "hardbreak"}:
            yield look._replace(text="\n")
        elif kind == "code_inline":
            yield look._replace(text=token.content, code=True)
        else:  # text; an image is a link, and a "!" before a link is an image's
            image = after is not None and after.type == "link_open"
            yield look._replace(text=token.content.removesuffix("!") if image else token.content)


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans, neighbours of one look as one."""
    last: Span | None = None
    for span in spans:
        if not span.text:
            continue
        if last is not None and last[1:] == span[1:]:
            last = last._replace(text=last.text + span.text)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
