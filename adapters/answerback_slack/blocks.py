"""Builders for the Block Kit blocks and elements that Answerback uses, each within Slack's length limits.

Text from agents and people goes into ``plain_text`` with ``emoji`` off: Slack parses no mention, link, style or
``:shortcode:`` there, so nothing in it is live (https://docs.slack.dev/messaging/formatting-message-text).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

from answerback.presentation import text_fitting
from answerback.presentation.attribution import utc_clock, utc_time
from answerback_base.sanitize import visible
from answerback_slack import limits

_MOST_ESCAPED: Final = 10
"""Units that a character has at most once it is visible and escaped, as ``⟨U+E0001⟩``."""
ButtonStyle: TypeAlias = Literal["primary", "danger"] | None
"""The style of a button; None for the default."""
Block = dict[str, object]
"""A block, an element or a composition object, in the form that json.dumps turns into Slack's JSON."""


def plain_text(text: str, limit: int = limits.SECTION_TEXT) -> Block:
    """A text object that shows exactly these characters, shortened to the limit. Never empty: Slack rejects that."""
    return _plain(visible(text), limit)


def _plain(shown: str, limit: int = limits.SECTION_TEXT) -> Block:
    # A character has at most two units.
    short = shown if 2 * len(shown) <= limit else text_fitting.shorten(shown, limit)
    return {"type": "plain_text", "text": short if short.strip() else "–", "emoji": False}


def mrkdwn(text: str) -> Block:
    """An mrkdwn text object. Anything inserted into its text must have been passed through `escape`."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def escape(text: str) -> str:
    """Escape a text for mrkdwn and a message's ``text``, so that it cannot form a mention, link or date."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_within(text: str, limit: int) -> str:
    """`escape` a text into at most ``limit`` units. As escaping lengthens it, shorten further until it fits.

    Empty if not even one character fits.
    """
    if _MOST_ESCAPED * len(text) <= limit:
        return escape(text)
    # The visible text has at least half as many characters: a line end of two characters becomes one.
    shown = visible(text[: 2 * max(limit, 0) + 2])
    made, room = escape(text_fitting.shorten(shown, limit)), limit
    while (over := text_fitting.utf16_length(made) - limit) > 0:
        room -= max(over // 5, 1)
        if room <= 0:
            return ""
        made = escape(text_fitting.shorten(shown, room))
    return made


def section(text: str, accessory: Block | None = None) -> Block:
    """A paragraph."""
    block = paragraph(visible(text))
    return block if accessory is None else block | {"accessory": accessory}


def sections(text: str) -> list[Block]:
    """A text of any length, as the number of paragraphs that it needs."""
    return shown_sections(visible(text))


def shown_sections(shown: str) -> list[Block]:
    """Like `sections`, for a text that has been through `visible` already."""
    if text_fitting.utf16_length(shown) <= limits.SECTION_TEXT:
        return [paragraph(shown)] if shown.strip() else []
    pieces = text_fitting.split_text(shown, limits.SECTION_TEXT)
    return [paragraph(piece) for piece in pieces if piece.strip()]


def paragraph(shown: str) -> Block:
    """A paragraph of text that has been through `visible` already, and must not be lengthened by it again."""
    return {"type": "section", "text": _plain(shown), "expand": True}


def collapsed_container(title: str, blocks: Sequence[Block]) -> Block:
    """A collapsed container of at most ten sections, which a person can expand.

    A message never has more sections: any two of them together have more text than one holds.
    https://docs.slack.dev/reference/block-kit/blocks/container-block
    """
    return {
        "type": "container",
        "title": plain_text(title, limits.CONTAINER_TITLE),
        "child_blocks": [*blocks],
        "is_collapsible": True,
        "default_collapsed": True,
    }


def shown_heading(shown: str) -> list[Block]:
    """A visible text as a heading if it is one short line, else as paragraphs."""
    if "\n" in shown or text_fitting.utf16_length(shown) > limits.HEADER_TEXT:
        return shown_sections(shown)
    return [{"type": "header", "text": _plain(shown, limits.HEADER_TEXT)}]


def small_text(text: str) -> Block:
    """One or more lines of small grey text."""
    return shown_small_text(visible(text))


def shown_small_text(shown: str, ours: str = "") -> Block:
    """A visible text as small grey text, with our own mrkdwn beside it."""
    return _small(_plain(shown, limits.CONTEXT_TEXT), ours)


def small_mrkdwn(text: str, ours: str = "") -> Block:
    """Our own mrkdwn as small grey text, with more of it beside it."""
    return _small(mrkdwn(text), ours)


def _small(text: Block, ours: str) -> Block:
    return {"type": "context", "elements": [text, *([mrkdwn(ours)] if ours else [])]}


def button(text: str, action_id: str, value: str, style: ButtonStyle = None) -> Block:
    """A button; ``value`` is the encoded control."""
    return shown_button(visible(text), action_id, value, style)


def shown_button(shown: str, action_id: str, value: str, style: ButtonStyle = None) -> Block:
    """Like `button`, for a text that has been through `visible` already."""
    block: Block = {
        "type": "button",
        "text": _plain(shown, limits.BUTTON_TEXT),
        "action_id": action_id,
        "value": value,
    }
    return block if style is None else block | {"style": style}


def link_button(text: str, action_id: str, url: str, about: str) -> Block:
    """A button that opens a URL; ``about`` is what a screen reader says after the button's text."""
    return {
        "type": "button",
        "text": plain_text(text, limits.BUTTON_TEXT),
        "action_id": action_id,
        "url": url,
        "accessibility_label": text_fitting.shorten(
            visible(f"{text}: {about}"), limits.BUTTON_TEXT
        ),
    }


def date_mrkdwn(seconds: float) -> str:
    """A time as mrkdwn that Slack shows in each reader's own time zone.

    https://docs.slack.dev/messaging/formatting-message-text#date-formatting
    """
    return f"<!date^{int(seconds)}^{{date_short_pretty}}, {{time}}|{utc_time(seconds)}>"


def clock_mrkdwn(seconds: float) -> str:
    """A time of day as mrkdwn that Slack shows in each reader's own time zone; see `date_mrkdwn`."""
    return f"<!date^{int(seconds)}^{{time}}|{utc_clock(seconds)}>"


def actions_block(block_id: str, elements: Sequence[Block]) -> Block:
    return {"type": "actions", "block_id": block_id, "elements": list(elements)}


def option_object(label: str, value: str, description: str | None = None) -> Block:
    """An option of a menu, checkboxes or radio buttons; ``value`` is an index, never the label.

    ``label`` must come from `one_line`. To make a thousand labels visible again would take as long as all the rest.
    """
    made: Block = {"text": _plain(label, limits.OPTION_TEXT), "value": value}
    if description and description.strip():
        made["description"] = plain_text(description, limits.OPTION_DESCRIPTION)
    return made


def choice(
    kind: str, action_id: str, options: Sequence[Block], chosen: Iterable[int], placeholder: str
) -> Block:
    """A menu, checkboxes or radio buttons, by Slack's name; ``chosen`` are selected initially."""
    element: Block = {"type": kind, "action_id": action_id, **_options_or_groups(options)}
    if initial := [options[i] for i in chosen if 0 <= i < len(options)]:
        several = kind in {"checkboxes", "multi_static_select"}
        element |= {"initial_options": initial} if several else {"initial_option": initial[0]}
    if "select" in kind:
        element["placeholder"] = plain_text(placeholder, limits.PLACEHOLDER)
    return element


def _options_or_groups(options: Sequence[Block]) -> Block:
    """The options, split into groups if there are too many for one."""
    if len(options) <= limits.MENU_OPTIONS:
        return {"options": [*options]}
    starts = range(0, len(options), limits.MENU_OPTIONS)
    return {"option_groups": [_group(options, start) for start in starts]}


def _group(options: Sequence[Block], start: int) -> Block:
    inside = [*options[start : start + limits.MENU_OPTIONS]]
    label = plain_text(f"{start + 1}–{start + len(inside)}", limits.OPTION_TEXT)
    return {"label": label, "options": inside}


def input_block(
    label: str, block_id: str, element: Block, *, optional: bool = False, hint: str | None = None
) -> Block:
    """An input block, which sends nothing until a button elsewhere is pressed."""
    block: Block = {
        "type": "input",
        "block_id": block_id,
        "label": plain_text(label, limits.INPUT_LABEL),
        "element": element,
        "optional": optional,
    }
    return block | {"hint": plain_text(hint, limits.INPUT_HINT)} if hint else block


def text_length(blocks: Block | Sequence[object]) -> int:
    """Count the characters of text in blocks, as `limits.BLOCKS_TEXT` does."""
    own = blocks.get("text") if isinstance(blocks, dict) else None
    total = text_fitting.utf16_length(own) if isinstance(own, str) else 0
    for item in blocks.values() if isinstance(blocks, dict) else blocks:
        if isinstance(item, (dict, list)):
            total += text_length(item)
    return total


def json_bytes(value: object) -> int:
    """The size as JSON, in bytes, with all non-ASCII characters escaped."""
    return len(json.dumps(value))


def modal_view(
    title: str,
    callback_id: str,
    metadata: str,
    blocks: Iterable[Block],
    *,
    submit: str | None = None,
    close: str,
) -> Block:
    view: Block = {
        "type": "modal",
        "title": plain_text(title, limits.MODAL_TITLE),
        "callback_id": callback_id,
        "private_metadata": metadata,
        "close": plain_text(close, limits.MODAL_TITLE),
        "blocks": list(blocks),
    }
    return view | {"submit": plain_text(submit, limits.MODAL_TITLE)} if submit else view
