"""How a message will look on Slack and Discord, near enough to judge it by: payload → HTML. Pure.

Every text is escaped here, once; what an agent sent is never markup of the page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Final

from markupsafe import Markup, escape

Json = Mapping[str, object]

_SLACK_BOLD: Final = re.compile(r"(?<!\w)\*([^*\n]+)\*(?!\w)")
_SLACK_ITALIC: Final = re.compile(r"(?<!\w)_([^_\n]+)_(?!\w)")
_ESCAPED: Final = re.compile(r"\\([^A-Za-z0-9\s])")
_DISCORD: Final = (
    (re.compile(r"\*\*(.+?)\*\*", re.DOTALL), r"<b>\1</b>"),
    (re.compile(r"__(.+?)__", re.DOTALL), r"<u>\1</u>"),
    (re.compile(r"^-# (.*)$", re.MULTILINE), r"<small>\1</small>"),
    (re.compile(r"```(?:\w*\n)?(.*?)```", re.DOTALL), r"<code>\1</code>"),
)
_PRIVATE: Final = 0xE000
"""The first of the characters that stand for escaped ones while markup is read."""
_DISCORD_STYLES: Final = {1: "primary", 3: "success", 4: "danger"}
_SLACK_MENUS: Final = frozenset(
    {"static_select", "multi_static_select", "external_select", "multi_external_select", "overflow"}
)
_SLACK_BOXES: Final = {"radio_buttons": "radio", "checkboxes": "checkbox"}


def slack(blocks: Sequence[Json]) -> Markup:
    """A Slack message's blocks. See https://docs.slack.dev/reference/block-kit/blocks."""
    return Markup("\n").join(_slack_block(block) for block in blocks)


def _slack_block(block: Json) -> Markup:
    match block.get("type"):
        case "header":
            return _tag("h3", _slack_text(block.get("text")))
        case "context":
            parts = [_slack_text(one) for one in _list(block, "elements")]
            return _tag("p", Markup(" ").join(parts), "small")
        case "section":
            text = _tag("p", _slack_text(block.get("text")))
            accessory = block.get("accessory")
            return text + (_slack_element(accessory) if isinstance(accessory, dict) else Markup(""))
        case "actions":
            parts = [_slack_element(one) for one in _list(block, "elements")]
            return _tag("div", Markup(" ").join(parts), "row")
        case "input":
            element = block.get("element")
            label = _tag("p", _slack_text(block.get("label")), "small")
            return label + (_slack_element(element) if isinstance(element, dict) else Markup(""))
        case kind:
            return _tag("p", escape(f"({kind})"), "small")


def _slack_element(element: Json) -> Markup:
    kind = str(element.get("type"))
    if kind == "button":
        return _button(_slack_text(element.get("text")), str(element.get("style", "")))
    if kind in _SLACK_MENUS:
        groups = _list(element, "option_groups")
        options = _list(element, "options") or [o for g in groups for o in _list(g, "options")]
        return _menu(
            _slack_text(element.get("placeholder")),
            [_slack_text(option.get("text")) for option in options],
        )
    if kind in _SLACK_BOXES:
        chosen = [*_list(element, "initial_options"), element.get("initial_option")]
        rows = [
            _box(
                _SLACK_BOXES[kind],
                _slack_text(option.get("text")),
                _slack_text(option.get("description")),
                ticked=option in chosen,
            )
            for option in _list(element, "options")
        ]
        return Markup("").join(rows)
    return _tag("p", escape(f"({kind})"), "small")


def _slack_text(text: object) -> Markup:
    if not isinstance(text, dict):
        return Markup("")
    said = str(text.get("text", ""))
    if text.get("type") != "mrkdwn":
        return escape(said)
    # mrkdwn comes with &, < and > escaped already: https://docs.slack.dev/messaging/formatting-message-text
    safe = str(escape(html.unescape(said)))
    return Markup(_SLACK_ITALIC.sub(r"<i>\1</i>", _SLACK_BOLD.sub(r"<b>\1</b>", safe)))


def discord(message: Json) -> Markup:
    """A Discord message's components. See https://docs.discord.com/developers/components/reference."""
    return Markup("\n").join(_discord_component(one) for one in _list(message, "components"))


def _discord_component(component: Json) -> Markup:
    inside = _list(component, "components")
    match component.get("type"):
        case 17:
            return _tag("div", Markup("").join(map(_discord_component, inside)), "container")
        case 10:
            return _tag("p", _discord_text(str(component.get("content", ""))))
        case 1:
            return _tag("div", Markup(" ").join(map(_discord_component, inside)), "row")
        case 9:
            accessory = component.get("accessory")
            after = _discord_component(accessory) if isinstance(accessory, dict) else Markup("")
            return Markup("").join(map(_discord_component, inside)) + after
        case 2:
            style = component.get("style")
            look = _DISCORD_STYLES.get(style, "") if isinstance(style, int) else ""
            return _button(escape(str(component.get("label", ""))), look)
        case 3:
            options = [
                escape(str(option.get("label", ""))) for option in _list(component, "options")
            ]
            return _menu(escape(str(component.get("placeholder", ""))), options)
        case kind:
            return _tag("p", escape(f"({kind})"), "small")


def _discord_text(content: str) -> Markup:
    hidden = _ESCAPED.sub(
        lambda found: chr(_PRIVATE + ord(found[1])) if ord(found[1]) < 0x80 else found[0], content
    )
    safe = str(escape(hidden))
    for pattern, replacement in _DISCORD:
        safe = pattern.sub(replacement, safe)
    shown = "".join(
        str(escape(chr(ord(c) - _PRIVATE))) if _PRIVATE <= ord(c) < _PRIVATE + 0x80 else c
        for c in safe
    )
    return Markup(shown)


def _tag(name: str, inside: Markup, look: str = "") -> Markup:
    return Markup('<{} class="{}">{}</{}>').format(name, look, inside, name)


def _button(label: Markup, look: str) -> Markup:
    return Markup('<button type="button" class="{}">{}</button>').format(look, label)


def _menu(placeholder: Markup, options: Sequence[Markup]) -> Markup:
    rows = Markup("").join(Markup("<option>{}</option>").format(option) for option in options)
    return Markup("<select><option>{}</option>{}</select>").format(placeholder or "…", rows)


def _box(kind: str, label: Markup, description: Markup, *, ticked: bool) -> Markup:
    return Markup('<label><input type="{}"{}> {} <small>{}</small></label>').format(
        kind, Markup(" checked") if ticked else Markup(""), label, description
    )


def _list(of: Json, name: str) -> Sequence[Json]:
    found = of.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
