"""Parse a context into a tree: CommonMark with tables, for each surface to render in its own way. Pure.

No content is lost: except for ASCII punctuation used as markup, every character of the source is in the tree, in
order. A source for which that would not hold becomes a single block of verbatim text.

HTML, entities and reference definitions are kept as plain text. An image becomes a link. A link to anything but
http, https or mailto becomes text.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token

from answerback.core.form import ContextFormat


class Span(NamedTuple):
    """A run of text in one style. ``link`` is the full address if the text is part of a link."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    link: str | None = None


Spans: TypeAlias = tuple[Span, ...]
"""A paragraph's text; it may have line breaks."""


class Paragraph(NamedTuple):
    spans: Spans


class Heading(NamedTuple):
    """A heading; ``level`` is 1 to 6."""

    level: int
    spans: Spans


class Code(NamedTuple):
    """Code, verbatim and without a final line break; ``info`` is the text after the opening fence, or empty."""

    text: str
    info: str = ""

    @property
    def language(self) -> str:
        """The language of the code: the first word of ``info``, in lower case."""
        return self.info.split(maxsplit=1)[0].lower() if self.info.strip() else ""


class Quote(NamedTuple):
    """A block quote."""

    blocks: tuple[Block, ...]


class Item(NamedTuple):
    """An item of a list; ``number`` is None in a bullet list."""

    number: str | None
    blocks: tuple[Block, ...]


class List(NamedTuple):
    """A bullet list or a numbered list."""

    items: tuple[Item, ...]


class Rule(NamedTuple):
    """A thematic break."""


class Table(NamedTuple):
    """A table: rows of cells, of which the first is the header."""

    rows: tuple[tuple[Spans, ...], ...]
    alignments: tuple[str, ...] = ()
    """``left``, ``center`` or ``right`` for each column, or "" if the source does not say; empty: none says."""


class Verbatim(NamedTuple):
    """Text exactly as written, with its line breaks and spaces."""

    text: str


Block: TypeAlias = Paragraph | Heading | Code | Quote | List | Rule | Table | Verbatim

MAX_RENDERED_CHARS: Final = 4_000
"""The most source characters that most chat messages render as Markdown; they cannot hold more."""
_CACHED: Final = 128
"""Number of cached trees: a context is rendered again after every click, and 500 characters take a millisecond."""
_ADDRESS: Final = re.compile(
    r"(?:https?://|mailto:)[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII | re.IGNORECASE
)
"""Allowed link targets: only the characters of https://www.rfc-editor.org/rfc/rfc3986#section-2."""
_MARKUP: Final = str.maketrans("", "", string.punctuation + string.whitespace)
_NESTING: Final = 20
_UNMARKED: Final = frozenset({"paragraph_open", "paragraph_close", "fence", "code_block"})


def parse_context(context: str, context_format: ContextFormat) -> tuple[Block, ...]:
    """Parse a context, which is Markdown or plain text, into blocks."""
    return parse(context) if context_format == "markdown" else (Verbatim(context),)


def parse(source: str) -> tuple[Block, ...]:
    """Parse a Markdown context into blocks."""
    return _document(source).blocks


def hides_marks(source: str) -> bool:
    """Return True if a Markdown context has marks that its blocks do not show, such as those of emphasis, or a
    backslash.

    A fence does not count, nor do backticks around a whole paragraph: what they enclose is shown as code, verbatim.
    """
    return _document(source).hides_marks


def parse_start(source: str, most: int) -> tuple[tuple[Block, ...], bool]:
    """Parse at most ``most`` characters; also return whether that is all of it.

    Ends at a line break if one is near enough: what is decided may be a single line.
    """
    if len(source) <= most:
        return parse(source), True
    start = source[:most]
    at = start.rfind("\n", most // 2) + 1
    return parse(start[:at] or start), False


def blocks_to_text(blocks: Iterable[Block]) -> str:
    """Return the plain text of blocks, for screen readers and search."""
    return "\n".join(_lines(blocks))


def spans_to_text(spans: Iterable[Span]) -> str:
    """Return the plain text of spans. A link's text is followed by its address unless they are the same."""
    return "".join(span.text for span in append_link_addresses(spans))


def append_link_addresses(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans with each link's address in brackets after its text, unless the text is the address."""
    for address, linked in groupby(spans, attrgetter("link")):
        if address is None:
            yield from (span for span in linked if span.text)
            continue
        run = [*linked]
        yield from run
        if "".join(span.text for span in run) not in {address, address.removeprefix("mailto:")}:
            yield from (Span(" ("), Span(address, link=address), Span(")"))


def map_texts(blocks: Iterable[Block], change: Callable[[str], str]) -> tuple[Block, ...]:
    return tuple(_map_block(block, change) for block in blocks)


def _map_block(block: Block, change: Callable[[str], str]) -> Block:
    match block:
        case Paragraph(spans):
            return Paragraph(_map_spans(spans, change))
        case Heading(level, spans):
            return Heading(level, _map_spans(spans, change))
        case Code(text, info):
            return Code(change(text), change(info))
        case Quote(inner):
            return Quote(map_texts(inner, change))
        case List(items):
            return List(tuple(Item(number, map_texts(inner, change)) for number, inner in items))
        case Table(rows):
            changed = tuple(tuple(_map_spans(each, change) for each in row) for row in rows)
            return block._replace(rows=changed)
        case Verbatim(text):
            return Verbatim(change(text))
        case Rule():
            return block


def _map_spans(spans: Spans, change: Callable[[str], str]) -> Spans:
    return tuple(span._replace(text=change(span.text)) for span in spans)


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


def _markdown_reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING})
    reader.enable(["table", "strikethrough"])
    reader.disable(["reference", "entity", "html_block", "html_inline", "normalize", "image"])
    reader.validateLink = _is_allowed_link  # type: ignore[method-assign,assignment]
    # Show an address as written: encoding would make it unreadable.
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    reader.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return reader


def _is_allowed_link(address: str) -> bool:
    """Return whether a link may have this target; only ASCII, so no letter can pass for another."""
    return _ADDRESS.fullmatch(address) is not None


_READER: Final = _markdown_reader()


class _Document(NamedTuple):
    blocks: tuple[Block, ...]
    hides_marks: bool


def _document(source: str) -> _Document:
    return _read_short(source) if len(source) <= MAX_RENDERED_CHARS else _read(source)


@lru_cache(maxsize=_CACHED)
def _read_short(source: str) -> _Document:
    return _read(source)


def _read(source: str) -> _Document:
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    tokens = _READER.parse(source)
    blocks = tuple(_blocks(iter(tokens)))
    if blocks_to_text(blocks).translate(_MARKUP) != source.translate(_MARKUP):
        return _Document((Verbatim(source),), hides_marks=False)
    return _Document(blocks, any(map(_hides_mark, tokens)))


def _hides_mark(token: Token) -> bool:
    if token.type == "inline":
        children = token.children or []
        if [child.type for child in children] == ["code_inline"]:
            return False
        shown = "".join(child.content for child in children)
        return _squeeze(shown) != _squeeze(token.content)
    return token.type not in _UNMARKED


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _blocks(tokens: Iterator[Token]) -> Iterator[Block]:
    """Yield blocks up to the end of the enclosing block."""
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
                yield _table(tokens)
            case "hr":
                yield Rule()
            case _:
                assert token.nesting < 0, f"the reader has no rule that makes a {token.type}"
                return


def _items(tokens: Iterator[Token]) -> Iterator[Item]:
    while (token := next(tokens)).nesting >= 0:
        yield Item(token.info or None, tuple(_blocks(tokens)))


def _table(tokens: Iterator[Token]) -> Table:
    rows: list[list[Spans]] = []
    alignments: list[str] = []
    while (token := next(tokens)).type != "table_close":
        match token.type:
            case "tr_open":
                rows.append([])
            case "th_open" | "td_open":
                if token.type == "th_open":
                    alignments.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
                rows[-1].append(_spans(tokens))
            case _:
                pass
    return Table(tuple(map(tuple, rows)), tuple(alignments) if any(alignments) else ())


def _spans(tokens: Iterator[Token]) -> Spans:
    """Return the inline content of a block, consuming the block's closing token."""
    text = next(tokens)
    next(tokens)
    return tuple(_merge(_inline(text.children or ())))


def _inline(tokens: Sequence[Token]) -> Iterator[Span]:
    depth = {"strong": 0, "em": 0, "s": 0}
    style, title = Span(""), ""
    for token, after in pairwise([*tokens, None]):
        assert token is not None
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if kind in depth:
            depth[kind] += token.nesting
            bold, italic, strike = (level > 0 for level in depth.values())
            style = style._replace(bold=bold, italic=italic, strike=strike)
        elif token.type == "link_open":
            style = style._replace(link=str(token.attrs["href"]))
            title = str(token.attrs.get("title", ""))
        elif token.type == "link_close":
            style = style._replace(link=None)
            if title:  # it follows the address, which follows the text
                yield style._replace(text=f' "{title}"')
        elif kind in {"softbreak", "hardbreak"}:
            yield style._replace(text="\n")
        elif kind == "code_inline":
            yield style._replace(text=token.content, code=True)
        else:  # text; an image is a link, and a "!" before a link is an image's
            image = after is not None and after.type == "link_open"
            yield style._replace(text=token.content.removesuffix("!") if image else token.content)


def _merge(spans: Iterable[Span]) -> Iterator[Span]:
    """Merge adjacent spans of the same style."""
    written = filter(attrgetter("text"), spans)
    for style, alike in groupby(written, itemgetter(slice(1, None))):
        yield Span("".join(span.text for span in alike), *style)
