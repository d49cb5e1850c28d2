"""Render a Discord message as HTML, close enough to how it will look to judge it by. Pure."""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup, escape

from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.plugin import Preview
from answerback.presentation.attribution import utc_time
from answerback.presentation.preview_html import Json, button, menu, objects, tag
from answerback_discord import render

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
_PRIVATE_USE: Final = 0xE000
"""The first of the private-use characters that stand in for escaped ones while markup is read."""
_STYLES: Final = {1: "primary", 3: "success", 4: "danger"}


def preview(view: View, labels: Labels) -> Preview:
    message = render.message(view, labels)
    return Preview(payload=message, html=html(message))


def html(message: Json) -> Markup:
    """Render a Discord message's components. See https://docs.discord.com/developers/components/reference."""
    return Markup("\n").join(_render_component(each) for each in objects(message, "components"))


def _render_component(component: Json) -> Markup:
    inside = objects(component, "components")
    match component.get("type"):
        case 17:
            return tag("div", Markup("").join(map(_render_component, inside)), "container")
        case 10:
            return tag("div", _render_text(str(component.get("content", ""))), "text")
        case 14:
            return Markup("<hr>")
        case 1:
            return tag("div", Markup(" ").join(map(_render_component, inside)), "row")
        case 9:
            accessory = component.get("accessory")
            after = _render_component(accessory) if isinstance(accessory, dict) else Markup("")
            content = tag("div", Markup("").join(map(_render_component, inside)))
            return tag("div", content + after, "section")
        case 2:
            style = component.get("style")
            css_class = _STYLES.get(style, "") if isinstance(style, int) else ""
            return button(escape(str(component.get("label", ""))), css_class)
        case 3:
            options = [
                escape(str(option.get("label", ""))) for option in objects(component, "options")
            ]
            return menu(escape(str(component.get("placeholder", ""))), options)
        case kind:
            return tag("p", escape(f"({kind})"), "small")


def _render_text(content: str) -> Markup:
    parts = _FENCE.split(content)  # the text between fences has odd indexes
    shown = (
        tag("pre", escape(p)) if i % 2 else _render_outside_fences(p.strip("\n"))
        for i, p in enumerate(parts)
    )
    return Markup("").join(shown)


def _render_outside_fences(content: str) -> Markup:
    """Text outside of fences: inline code, and the text around it."""
    parts = _CODE.split(content)
    texts, codes = parts[::3], parts[2::3]
    pieces = [_render_markup(texts[0])]
    for code, text in zip(codes, texts[1:], strict=True):
        pieces += (tag("code", escape(code)), _render_markup(text))
    return Markup("").join(pieces)


def _render_markup(content: str) -> Markup:
    hidden = _ESCAPED.sub(
        lambda found: chr(_PRIVATE_USE + ord(found[1])) if ord(found[1]) < 0x80 else found[0],
        content,
    )
    safe = _TIME.sub(lambda time: utc_time(int(time[1])), str(escape(hidden)))
    for pattern, replacement in _MARKUP:
        safe = pattern.sub(replacement, safe)
    shown = "".join(
        str(escape(chr(ord(c) - _PRIVATE_USE)))
        if _PRIVATE_USE <= ord(c) < _PRIVATE_USE + 0x80
        else c
        for c in safe
    )
    return Markup(shown)
