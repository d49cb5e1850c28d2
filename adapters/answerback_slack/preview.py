"""Render blocks as HTML that approximates how a message looks in Slack. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import Final, cast

from markupsafe import Markup, escape
from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.plugin import Preview
from answerback.presentation.preview_html import Json, box, button, menu, objects, tag
from answerback_slack import render
from answerback_slack.people_text import mention

_BOLD: Final = re.compile(r"(?<!\w)\*([^*\n]+)\*(?!\w)")
_ITALIC: Final = re.compile(r"(?<!\w)_([^_\n]+)_(?!\w)")
_ENTITY: Final = re.compile(r"<[!@]([^>|]*)(?:\|([^>]*))?>")
"""A date or a mention, with its fallback text."""
_MENUS: Final = frozenset(
    {"static_select", "multi_static_select", "external_select", "multi_external_select", "overflow"}
)
_STYLES: Final = {"code": "code", "bold": "b", "italic": "i", "strike": "s"}
_BOXES: Final = {"radio_buttons": "radio", "checkboxes": "checkbox"}


def preview(view: View, labels: Labels) -> Preview:
    message = render.render(view, labels, {who: mention(who) for who in view.responders})
    blocks = cast("JsonValue", message.blocks)
    return Preview(
        payload={"text": message.text, "blocks": blocks},
        html=blocks_to_html(message.blocks),
        source={"blocks": blocks},
        hint="It can be pasted into Slack's Block Kit Builder.",
    )


def blocks_to_html(blocks: Sequence[Json]) -> Markup:
    """Render the blocks of a Slack message. See https://docs.slack.dev/reference/block-kit/blocks."""
    return Markup("\n").join(_block(block) for block in blocks)


def _block(block: Json) -> Markup:
    match block.get("type"):
        case "header":
            return tag("h3", _text(block.get("text")))
        case "rich_text":
            return Markup("").join(map(_rich_text_element, objects(block, "elements")))
        case "context":
            parts = [_text(one) for one in objects(block, "elements")]
            return tag("p", Markup(" ").join(parts), "small")
        case "section":
            text = tag("p", _text(block.get("text")))
            accessory = block.get("accessory")
            return text + (_element(accessory) if isinstance(accessory, dict) else Markup(""))
        case "actions":
            parts = [_element(one) for one in objects(block, "elements")]
            return tag("div", Markup(" ").join(parts), "row")
        case "input":
            element = block.get("element")
            label = tag("p", _text(block.get("label")), "small")
            return label + (_element(element) if isinstance(element, dict) else Markup(""))
        case kind:
            return tag("p", escape(f"({kind})"), "small")


def _rich_text_element(element: Json) -> Markup:
    """Render an element of rich text: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block."""
    inside = objects(element, "elements")
    if element.get("type") == "rich_text_list":
        items = Markup("").join(
            tag("li", Markup("").join(map(_run, objects(i, "elements")))) for i in inside
        )
        indent = element.get("indent")
        listed = tag("ol" if element.get("style") == "ordered" else "ul", items)
        return tag("div", listed, f"indent{indent if isinstance(indent, int) else 0}")
    shown = Markup("").join(map(_run, inside))
    match element.get("type"):
        case "rich_text_preformatted":
            return tag("pre", shown)
        case "rich_text_quote":
            return tag("blockquote", shown)
        case _:
            return tag("p", shown)


def _run(run: Json) -> Markup:
    shown = escape(str(run.get("text", "")))
    style = run.get("style")
    for name, element in _STYLES.items():
        if isinstance(style, dict) and style.get(name):
            shown = tag(element, shown)
    return tag("u", shown) if run.get("type") == "link" else shown


def _element(element: Json) -> Markup:
    kind = str(element.get("type"))
    if kind == "button":
        return button(_text(element.get("text")), str(element.get("style", "")))
    if kind in _MENUS:
        groups = objects(element, "option_groups")
        options = objects(element, "options") or [o for g in groups for o in objects(g, "options")]
        return menu(
            _text(element.get("placeholder")),
            [_text(option.get("text")) for option in options],
        )
    if kind in _BOXES:
        chosen = [*objects(element, "initial_options"), element.get("initial_option")]
        rows = [
            box(
                _BOXES[kind],
                _text(option.get("text")),
                _text(option.get("description")),
                checked=option in chosen,
            )
            for option in objects(element, "options")
        ]
        return Markup("").join(rows)
    return tag("p", escape(f"({kind})"), "small")


def _text(text: object) -> Markup:
    if not isinstance(text, dict):
        return Markup("")
    content = str(text.get("text", ""))
    if text.get("type") != "mrkdwn":
        return escape(content)
    # In mrkdwn, &, < and > are escaped already: https://docs.slack.dev/messaging/formatting-message-text
    safe = str(escape(unescape(_ENTITY.sub(_entity_text, content))))
    return Markup(_ITALIC.sub(r"<i>\1</i>", _BOLD.sub(r"<b>\1</b>", safe)))


def _entity_text(entity: re.Match[str]) -> str:
    target, fallback = entity.groups()
    return fallback or f"@{target.removeprefix('subteam^')}"
