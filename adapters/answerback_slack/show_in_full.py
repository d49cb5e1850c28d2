"""What does not fit a message, to be read in a modal: everything in full, and an option's preview. Pure.

Owns the pages of such a modal; a page has as much text as Slack takes in one view.
"""

from __future__ import annotations

from typing import Final

from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback_chat import answer_summary, text_fitting, wording
from answerback_chat.asides import asides_text
from answerback_chat.control_codec import Control, Verb
from answerback_chat.question_context import fit_text
from answerback_chat.sanitize import as_json, visible
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
"""Bytes of a page; as every paragraph but the last is long, their number needs no bound of its own."""
_PREVIEW_ROOM: Final = 6_000
"""Units of a preview that are drawn; below the picture it stands as it was written, whatever its length."""
_PREVIEW_BYTES: Final = limits.MODAL_BYTES // 4
_PREVIEW_PAGES: Final = 1_000
"""A page is known by one number: from here on each option's preview has so many of them, the first option's first."""


def full_text_modal(view: View, labels: Labels, page: int, metadata: str) -> Block:
    """One page of everything there is to read about an ask as it stands; a page too far is the last one."""
    option, page_there = divmod(page, _PREVIEW_PAGES)
    shown = preview_modal(view, labels, option - 1, metadata, page_there) if option else None
    if shown is not None:
        return shown
    callback = Control(view.ask_id, view.revision, Verb.SHOW_IN_FULL).encode()
    found = split_into_pages(full_text(view, labels))
    blocks = _page(view, labels, found, page)
    return modal_view(labels.details, callback, metadata, blocks, close=labels.close)


def preview_modal(
    view: View, labels: Labels, index: int, metadata: str, page: int = 0
) -> Block | None:
    """A page of an option's preview, or None where there is none of this index."""
    options = view.prompt.question.options if view.prompt else ()
    text = options[index].preview if index < len(options) else None
    if not text:
        return None
    callback = Control(view.ask_id, view.revision, Verb.PREVIEW, str(index)).encode()
    found = split_into_pages(visible(text))
    blocks = _page(view, labels, found, page, (index + 1) * _PREVIEW_PAGES)
    label = visible(options[index].label)
    picture = rich_text(fit_text(text, _PREVIEW_ROOM).blocks)
    if page == 0 and picture and json_bytes(picture) <= _PREVIEW_BYTES:
        blocks = [*picture, small_text(labels.as_written), *blocks]
    blocks = [*sections(label), *blocks]
    return modal_view(labels.preview, callback, metadata, blocks, close=labels.close)


def split_into_pages(text: str) -> list[list[str]]:
    """A text in pages of paragraphs; together they are the text."""
    found: list[list[str]] = [[]]
    room = _PAGE_BYTES
    for piece in text_fitting.split_text(visible(text), limits.SECTION_TEXT):
        if not piece.strip():
            continue
        if found[-1] and json_bytes(piece) > room:
            found.append([])
            room = _PAGE_BYTES
        found[-1].append(piece)
        room -= json_bytes(piece)
    return found


def full_text(view: View, labels: Labels) -> str:
    """Everything that a person may read of an ask: the question, its options, what was answered, how it ended."""
    parts = [wording.asks_line(view, labels)]
    if view.prompt is not None:
        parts += question_parts(view.prompt.question, labels)
        parts.append(asides_text(view, labels))
        prefill = view.prompt.prefill
        if prefill is not None:
            text = prefill if isinstance(prefill, str) else as_json(prefill)
            parts.append(labels.prefilled.format(text=visible(text)))
    if view.prompt is not None and view.lines:
        parts.append(f"{labels.answered_so_far}:")
    for line in view.lines:
        answer = (f"➜ {visible(each)}" for each in answer_summary.answer_texts(line, labels))
        parts.append("\n".join([visible(line.question.text), *answer]))
    if view.reply is not None:
        parts.append(f"“{visible(view.reply)}”")
    parts.append(wording.ending(view, labels))
    return "\n\n".join(part for part in parts if part.strip())


def question_parts(question: Question, labels: Labels) -> list[str]:
    """All of a question: header, context, text, options with descriptions and previews, or its schema."""
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
    view: View, labels: Labels, found: list[list[str]], page: int, first: int = 0
) -> list[Block]:
    """A page and, where there are several, the way to its neighbours; ``first`` is the number of the first one."""
    page = min(page, len(found) - 1)
    blocks: list[Block] = [paragraph(piece) for piece in found[page]]
    if len(found) > 1:
        blocks.append(small_text(labels.page_of.format(page=page + 1, pages=len(found))))
        blocks.append(_turn(view, labels, page, len(found), first))
    return blocks


def _turn(view: View, labels: Labels, page: int, pages: int, first: int) -> Block:
    def to(label: str, target: int) -> Block:
        control = Control(view.ask_id, view.revision, Verb.PAGE, str(first + target))
        return button(label, f"{Verb.PAGE}.{target}", control.encode())

    turns = [to(labels.previous, page - 1)] if page > 0 else []
    turns += [to(labels.next, page + 1)] if page + 1 < pages else []
    return actions_block(f"page.{page}", turns)
