"""Modals for what does not fit in a message: the full text of an ask, and an option's preview. Pure.

Owns the pages of these modals. A page has as much text as Slack accepts in one view.
"""

from __future__ import annotations

from typing import Final

from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.presentation import answer_summary, text_fitting, wording
from answerback.presentation.asides import asides_text
from answerback.presentation.context_layout import fit_text
from answerback.presentation.sanitize import as_json, visible
from answerback.presentation.sent_call import sent_call_text
from answerback_chat.control_codec import Control, Verb
from answerback_slack import limits, option_controls
from answerback_slack.blocks import (
    Block,
    actions_block,
    button,
    json_bytes,
    modal_view,
    paragraph,
    sections,
    small_text,
)
from answerback_slack.question_context import rich_text

_PAGE_BYTES: Final = limits.MODAL_BYTES // 2
"""Bytes of a page. As every paragraph but the last is long, the number of paragraphs needs no separate limit."""
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
    pages = split_into_pages(full_text(view, labels))
    blocks = _page(view, labels, pages, page)
    return modal_view(labels.details, callback, metadata, blocks, close=labels.close)


def preview_modal(
    view: View, labels: Labels, index: int, metadata: str, page: int = 0
) -> Block | None:
    """A page of an option's preview; None if no option with this index has one."""
    options = view.prompt.question.options if view.prompt else ()
    text = options[index].preview if index < len(options) else None
    if not text:
        return None
    callback = Control(view.ask_id, view.revision, Verb.PREVIEW, str(index)).encode()
    pages = split_into_pages(visible(text))
    blocks = _page(view, labels, pages, page, (index + 1) * _PREVIEW_PAGES)
    label = visible(options[index].label)
    rendered = rich_text(fit_text(text, _PREVIEW_ROOM).blocks)
    if page == 0 and rendered and json_bytes(rendered) <= _PREVIEW_BYTES:
        blocks = [*rendered, small_text(labels.as_written), *blocks]
    blocks = [*sections(label), *blocks]
    return modal_view(labels.preview, callback, metadata, blocks, close=labels.close)


def split_into_pages(text: str) -> list[list[str]]:
    """Split a text into pages of paragraphs, dropping nothing but blank paragraphs."""
    pages: list[list[str]] = [[]]
    room = _PAGE_BYTES
    for piece in text_fitting.split_text(visible(text), limits.SECTION_TEXT):
        if not piece.strip():
            continue
        if pages[-1] and json_bytes(piece) > room:
            pages.append([])
            room = _PAGE_BYTES
        pages[-1].append(piece)
        room -= json_bytes(piece)
    return pages


def full_text(view: View, labels: Labels) -> str:
    """Everything that a person may read about an ask: the question, its options, the answers, how it ended."""
    parts = [wording.asks_line(view, labels)]
    if view.confirmation is not None:
        parts += [
            visible(view.confirmation.about.question.context or ""),
            asides_text(view, labels),
        ]
    if view.prompt is not None:
        parts += question_parts(view.prompt.with_every_option, labels)
        parts.append(asides_text(view, labels))
        prefill = view.prompt.prefill
        if prefill is not None:
            text = prefill if isinstance(prefill, str) else as_json(prefill)
            parts.append(labels.prefilled.format(text=visible(text)))
    if view.prompt is not None and view.lines:
        parts.append(f"{labels.answered_so_far}:")
    for line in view.lines:
        if view.outcome is not None:
            parts.append(visible(line.question.context or ""))
        answer = (f"➜ {visible(each)}" for each in answer_summary.answer_texts(line, labels))
        parts.append("\n".join([visible(line.text), *answer]))
    if view.reply is not None:
        parts.append(f"“{visible(view.reply)}”")
    parts += [wording.ending(view, labels), *sent_call_text(view.sent, labels)]
    return "\n\n".join(part for part in parts if part.strip())


def question_parts(question: Question, labels: Labels) -> list[str]:
    """All parts of a question: header, context, text, options with descriptions and previews, or its schema."""
    parts = [visible(part or "") for part in (question.header, question.context, question.text)]
    for each, text in zip(
        question.options, option_controls.numbered_options(question), strict=True
    ):
        parts.append(
            f"{text}\n{labels.preview}:\n{visible(each.preview)}" if each.preview else text
        )
    if question.answer_type is AnswerType.SCHEMA:
        parts.append(as_json(question.json_schema))
    return parts


def _page(
    view: View, labels: Labels, pages: list[list[str]], page: int, first: int = 0
) -> list[Block]:
    """A page, with buttons for its neighbours if there are several; ``first`` is the number of the first page."""
    page = min(page, len(pages) - 1)
    blocks: list[Block] = [paragraph(piece) for piece in pages[page]]
    if len(pages) > 1:
        blocks.append(small_text(labels.page_of.format(page=page + 1, pages=len(pages))))
        blocks.append(_page_buttons(view, labels, page, len(pages), first))
    return blocks


def _page_buttons(view: View, labels: Labels, page: int, pages: int, first: int) -> Block:
    def page_button(label: str, target: int) -> Block:
        control = Control(view.ask_id, view.revision, Verb.PAGE, str(first + target))
        return button(label, f"{Verb.PAGE}.{target}", control.encode())

    buttons = [page_button(labels.previous, page - 1)] if page > 0 else []
    buttons += [page_button(labels.next, page + 1)] if page + 1 < pages else []
    return actions_block(f"page.{page}", buttons)
