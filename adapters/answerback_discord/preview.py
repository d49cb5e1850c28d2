"""How a message will look on Discord, near enough to judge it by: components → HTML. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup, escape

from answerback_chat.preview_html import Json, button, menu, objects, tag

_ESCAPED: Final = re.compile(r"\\([^A-Za-z0-9\s])")
_FENCE: Final = re.compile(r"```(?:[\w+-]*\n)?(.*?)\n?```", re.DOTALL)
_CODE: Final = re.compile(r"(`+)(.+?)\1")
_MARKUP: Final = (
    (re.compile(r"\*\*(.+?)\*\*", re.DOTALL), r"<b>\1</b>"),
    (re.compile(r"__(.+?)__", re.DOTALL), r"<u>\1</u>"),
    (re.compile(r"~~(.+?)~~", re.DOTALL), r"<s>\1</s>"),
    (re.compile(r"\*(.+?)\*", re.DOTALL), r"<i>\1</i>"),
    (re.compile(r"&lt;(https?://\S+?)&gt;"), r"<u>\1</u>"),
    (re.compile(r"&lt;@[!&]?(\d+)&gt;"), r"<u>@\1</u>"),
    (re.compile(r"^-# (.*)$", re.MULTILINE), r"<small>\1</small>"),
    (re.compile(r"^((?:&gt; .*\n?)+)", re.MULTILINE), r"<blockquote>\1</blockquote>"),
    (re.compile(r"^(<blockquote>)?&gt; ", re.MULTILINE), r"\1"),
    (re.compile(r"^( *)- ", re.MULTILINE), r"\1• "),
)
_TIME: Final = re.compile(r"&lt;t:(\d+):[a-zA-Z]&gt;")
_PRIVATE: Final = 0xE000
"""The first of the characters that stand for escaped ones while markup is read."""
_STYLES: Final = {1: "primary", 3: "success", 4: "danger"}


def html(message: Json) -> Markup:
    """A Discord message's components. See https://docs.discord.com/developers/components/reference."""
    return Markup("\n").join(_component(one) for one in objects(message, "components"))


def _component(component: Json) -> Markup:
    inside = objects(component, "components")
    match component.get("type"):
        case 17:
            return tag("div", Markup("").join(map(_component, inside)), "container")
        case 10:
            return tag("div", _text(str(component.get("content", ""))), "text")
        case 14:
            return Markup("<hr>")
        case 1:
            return tag("div", Markup(" ").join(map(_component, inside)), "row")
        case 9:
            accessory = component.get("accessory")
            after = _component(accessory) if isinstance(accessory, dict) else Markup("")
            said = tag("div", Markup("").join(map(_component, inside)))
            return tag("div", said + after, "section")
        case 2:
            style = component.get("style")
            look = _STYLES.get(style, "") if isinstance(style, int) else ""
            return button(escape(str(component.get("label", ""))), look)
        case 3:
            options = [
                escape(str(option.get("label", ""))) for option in objects(component, "options")
            ]
            return menu(escape(str(component.get("placeholder", ""))), options)
        case kind:
            return tag("p", escape(f"({kind})"), "small")


def _text(content: str) -> Markup:
    parts = _FENCE.split(content)  # what is between fences has an odd place
    shown = (
        tag("pre", escape(p)) if i % 2 else _outside(p.strip("\n")) for i, p in enumerate(parts)
    )
    return Markup("").join(shown)


def _outside(content: str) -> Markup:
    """Text that is in no fence: pieces of code, and what is between them."""
    parts = _CODE.split(content)
    texts, codes = parts[::3], parts[2::3]
    made = [_marked(texts[0])]
    for code, text in zip(codes, texts[1:], strict=True):
        made += (tag("code", escape(code)), _marked(text))
    return Markup("").join(made)


def _marked(content: str) -> Markup:
    hidden = _ESCAPED.sub(
        lambda found: chr(_PRIVATE + ord(found[1])) if ord(found[1]) < 0x80 else found[0], content
    )
    safe = _TIME.sub(_read, str(escape(hidden)))
    for pattern, replacement in _MARKUP:
        safe = pattern.sub(replacement, safe)
    shown = "".join(
        str(escape(chr(ord(c) - _PRIVATE))) if _PRIVATE <= ord(c) < _PRIVATE + 0x80 else c
        for c in safe
    )
    return Markup(shown)


def _read(time: re.Match[str]) -> str:
    return datetime.fromtimestamp(int(time[1]), UTC).strftime("%Y-%m-%d %H:%M UTC")
