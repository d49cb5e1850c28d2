"""The view of a person's Home tab: the asks that wait for them, and those they answered last. Pure.

https://docs.slack.dev/surfaces/app-home
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View, view_of
from answerback.ports.store_values import Page
from answerback.presentation import text_fitting, wording
from answerback.presentation.batch_rows import BatchRows
from answerback.presentation.context_layout import fit_context
from answerback_base.sanitize import one_line, visible
from answerback_chat.control_codec import BATCH_VERBS, NO_ASK, Control, Verb
from answerback_slack import blocks as kit
from answerback_slack import limits, people_text
from answerback_slack.blocks import Block, ButtonStyle, escape
from answerback_slack.people_text import place_mrkdwn
from answerback_slack.question_context import rich_text

PAGE_SIZE: Final = 30
"""Asks per page. With two or three blocks each, they stay within the hundred blocks that a view holds."""
RECENT_SIZE: Final = 5
"""The number of recently answered asks to show."""
NEXT_ACTION: Final = "home.next"
PREVIOUS_ACTION: Final = "home.previous"
NOT_ENABLED_CODE: Final = "not_enabled"
"""The error of an app whose Home tab is off: https://docs.slack.dev/reference/methods/views.publish"""
_OPEN: Final = "home.open"
_QUESTION_ROOM: Final = 300
_ASKER_ROOM: Final = 200
_CONTEXT_BYTES: Final = limits.MODAL_BYTES // PAGE_SIZE - 4_000
"""Bytes of a context in the modal, so that a page of rows fits it: 4,000 are left for what is beside it."""


def build_home_view(
    waiting: Page[Ask],
    recent: Sequence[Ask],
    labels: Labels,
    *,
    open_to_anyone: Sequence[Ask] = (),
    first: bool = True,
) -> Block:
    """Build the view of one page.

    Args:
        waiting: the asks on this page.
        recent: the asks that the person answered last.
        open_to_anyone: the asks that wait for nobody in particular; only needed if none wait for the person.
        first: whether this is the first page.
    """
    blocks = [_heading(labels.inbox_title)]
    for ask in waiting.rows:
        blocks += _waiting_blocks(ask, labels)
    rows, several = BATCH.of(waiting.rows), []
    if any(row.shown is not None for row in rows):
        several.append(_batch_button(labels.allow_several, Verb.ALLOW_SEVERAL, "primary"))
    if rows:
        several.append(_batch_button(labels.deny_several, Verb.DENY_SEVERAL))
    blocks += [kit.actions_block("home.several", several)] if several else []
    if not waiting.rows:
        empty = wording.empty_inbox(open_to_anyone, labels, escape, place_mrkdwn)
        blocks.append({"type": "section", "text": kit.mrkdwn(empty)})
    turns = [] if first else [kit.button(labels.previous, PREVIOUS_ACTION, PREVIOUS_ACTION)]
    turns += [kit.button(labels.next, NEXT_ACTION, waiting.after)] if waiting.after else []
    blocks += [kit.actions_block("home.turn", turns)] if turns else []
    if recent:
        blocks += [{"type": "divider"}, _heading(labels.recently_answered)]
    for ask in recent:
        blocks += _answered_blocks(ask, labels)
    return {"type": "home", "callback_id": "home", "blocks": blocks}


def _batch_button(label: str, verb: Verb, style: ButtonStyle = None) -> Block:
    return kit.button(label, str(verb), Control(NO_ASK, 0, verb).encode(), style)


def _whole_context(prompt: Prompt) -> list[Block] | None:
    fitted = fit_context(prompt, limits.SECTION_TEXT)
    shown = rich_text(fitted.blocks)
    fits = _headline(prompt.question.text) == visible(prompt.question.text)
    whole = fitted.says_all and fits and kit.json_bytes(shown) <= _CONTEXT_BYTES
    return shown if whole else None


def _headline(text: str) -> str:
    return text_fitting.shorten(visible(text), _QUESTION_ROOM)


BATCH: Final = BatchRows(_whole_context)


def batch_modal(asks: Sequence[Ask], verb: Verb, labels: Labels) -> Block | None:
    """Build the modal in which permissions are ticked; None if no permission is left."""
    allow = BATCH_VERBS[verb]
    decision = labels.allow_once if allow else labels.deny
    rows = BATCH.decidable(asks, allow=allow)
    blocks: list[Block] = []
    for number, row in enumerate(rows, 1):
        asker = wording.asks_line(view_of(row.ask), labels, briefly=True)
        boxes: Block = {
            "type": "checkboxes",
            "action_id": str(verb),
            "options": [kit.option_object(one_line(decision), "0")],
        }
        blocks += [kit.paragraph(f"{number}. {_headline(row.text)}"), *(row.shown or ())]
        label = text_fitting.shorten(one_line(asker), _ASKER_ROOM)
        blocks.append(kit.input_block(label, row.tick, boxes, optional=True))
    control = Control(NO_ASK, 0, verb).encode()
    return (
        kit.modal_view(decision, control, "", blocks, submit=decision, close=labels.cancel)
        if rows
        else None
    )


def batch_notice(text: str, labels: Labels) -> Block:
    """Build the modal that tells the person something about what they wanted to decide."""
    return kit.modal_view(
        labels.inbox_title, "ab1:notice", "", [kit.section(text)], close=labels.close
    )


def _heading(text: str) -> Block:
    return {"type": "header", "text": kit.plain_text(text, limits.HEADER_TEXT)}


def _waiting_blocks(ask: Ask, labels: Labels) -> list[Block]:
    view = view_of(ask)
    times = [escape(labels.waits_since).format(time=kit.date_mrkdwn(ask.created_at))]
    if ask.schedule.expires_at is not None:
        times.append(escape(labels.closes).format(time=kit.date_mrkdwn(ask.schedule.expires_at)))
    asker = kit.plain_text(one_line(wording.asks_line(view, labels, briefly=True)), _ASKER_ROOM)
    return [_entry(ask, view, labels), _small(asker, kit.mrkdwn(" · ".join(times)))]


def _answered_blocks(ask: Ask, labels: Labels) -> list[Block]:
    view = view_of(ask)
    asker = kit.plain_text(
        one_line(wording.marked(wording.who_asks(view, labels), view, labels)), _ASKER_ROOM
    )
    return [
        _entry(ask, view, labels),
        _small(asker, kit.mrkdwn(people_text.ending_mrkdwn(view, labels))),
    ]


def _entry(ask: Ask, view: View, labels: Labels) -> Block:
    """Return the block of an ask, with a link to its message, or with a "Show in full" button if the link is not
    known."""
    asked = wording.subject(view, labels)
    shown = text_fitting.shorten(visible(asked), _QUESTION_ROOM)
    url = ask.placement.thread.url if ask.placement.thread else None
    if url:
        return kit.section(
            shown, kit.link_button(labels.open_message, f"{_OPEN}.{ask.id}", url, asked)
        )
    control = Control(view.ask_id, view.revision, Verb.SHOW_IN_FULL).encode()
    return kit.section(shown, kit.button(labels.details, str(Verb.SHOW_IN_FULL), control))


def _small(*elements: Block) -> Block:
    return {"type": "context", "elements": [*elements]}
