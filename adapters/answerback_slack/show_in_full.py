"""Modals for what does not fit in a message: the full text of an ask, and an option's preview. Pure.

Owns the pages of these modals. A page has as much text as Slack accepts in one view.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from answerback.core.labels import Labels
from answerback.core.markdown import Heading, Paragraph, Span
from answerback.core.view import View
from answerback.presentation.context_layout import fit_text
from answerback.presentation.full_text import Kind, Part, full_text
from answerback.presentation.text_fitting import split_text
from answerback_base.sanitize import visible
from answerback_chat.control_codec import Control, Verb
from answerback_slack import blocks as kit
from answerback_slack import limits
from answerback_slack.blocks import Block
from answerback_slack.people_text import NO_NAMES, attribution_format
from answerback_slack.question_context import rich_text

_PAGE_BYTES: Final = limits.MODAL_BYTES // 2
_PART_BYTES: Final = 100
"""Bytes of a part's block beside its text."""
_PREVIEW_ROOM: Final = 6_000
"""Units of a preview that are rendered as Markdown. Its source is shown below that in full, whatever its length."""
_PREVIEW_BYTES: Final = limits.MODAL_BYTES // 4
_PREVIEW_PAGES: Final = 1_000
"""The page numbers reserved for each option's preview. As a page is identified by a single number, the first option's
pages start at this number, the second option's at twice this number, and so on."""


def full_text_modal(view: View, labels: Labels, page: int, metadata: str) -> Block:
    """One page of everything there is to read about an ask in its current state; past the end, the last page."""
    option, preview_page = divmod(page, _PREVIEW_PAGES)
    preview = preview_modal(view, labels, option - 1, metadata, preview_page) if option else None
    if preview is not None:
        return preview
    callback = Control(view.ask_id, view.revision, Verb.SHOW_IN_FULL).encode()
    pages = _split_into_pages(full_text(view, labels, attribution_format(NO_NAMES)))
    blocks = _page(view, labels, pages, page)
    return kit.modal_view(labels.details, callback, metadata, blocks, close=labels.close)


def preview_modal(
    view: View, labels: Labels, index: int, metadata: str, page: int = 0
) -> Block | None:
    """A page of an option's preview; None if no option with this index has one."""
    options = view.prompt.question.options if view.prompt else ()
    text = options[index].preview if index < len(options) else None
    if not text:
        return None
    callback = Control(view.ask_id, view.revision, Verb.PREVIEW, str(index)).encode()
    pages = _split_into_pages([Part(text)])
    blocks = _page(view, labels, pages, page, (index + 1) * _PREVIEW_PAGES)
    label = visible(options[index].label)
    rendered = rich_text(fit_text(text, _PREVIEW_ROOM).blocks)
    if page == 0 and rendered and kit.json_bytes(rendered) <= _PREVIEW_BYTES:
        blocks = [*rendered, kit.small_text(labels.as_written), *blocks]
    blocks = [*kit.sections(label), *blocks]
    return kit.modal_view(labels.preview, callback, metadata, blocks, close=labels.close)


def _split_into_pages(parts: Iterable[Part]) -> list[list[Block]]:
    """Split texts into pages, dropping nothing but blank paragraphs."""
    pages: list[list[Part]] = [[]]
    room = _PAGE_BYTES
    for text, kind in parts:
        is_markup = kind is Kind.MARKUP
        for piece in [text] if is_markup else split_text(visible(text), limits.SECTION_TEXT):
            if not piece.strip():
                continue
            size = kit.json_bytes(piece) + _PART_BYTES
            if pages[-1] and size > room:
                pages.append([])
                room = _PAGE_BYTES
            pages[-1].append(Part(piece, kind))
            room -= size
    return [[*_render(page)] for page in pages]


def _render(page: Iterable[Part]) -> Iterator[Block]:
    for is_markup, parts in groupby(page, lambda part: part.kind is Kind.MARKUP):
        if not is_markup:
            yield from rich_text(map(_markdown, parts))
            continue
        for part in parts:
            yield {"type": "section", "text": kit.mrkdwn(part.text)}


def _markdown(part: Part) -> Paragraph | Heading:
    spans = (Span(part.text),)
    return Heading(1, spans) if part.kind is Kind.TITLE else Paragraph(spans)


def _page(
    view: View, labels: Labels, pages: list[list[Block]], page: int, first: int = 0
) -> list[Block]:
    """A page, with buttons for its neighbours if there are several; ``first`` is the number of the first page."""
    page = min(page, len(pages) - 1)
    blocks = [*pages[page]]
    if len(pages) > 1:
        blocks.append(kit.small_text(labels.page_of.format(page=page + 1, pages=len(pages))))
        blocks.append(_page_buttons(view, labels, page, len(pages), first))
    return blocks


def _page_buttons(view: View, labels: Labels, page: int, pages: int, first: int) -> Block:
    def page_button(label: str, target: int) -> Block:
        control = Control(view.ask_id, view.revision, Verb.PAGE, str(first + target))
        return kit.button(label, f"{Verb.PAGE}.{target}", control.encode())

    buttons = [page_button(labels.previous, page - 1)] if page > 0 else []
    buttons += [page_button(labels.next, page + 1)] if page + 1 < pages else []
    return kit.actions_block(f"page.{page}", buttons)
