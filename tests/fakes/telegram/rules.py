"""Telegram's rules for messages: strict HTML, short data, few buttons. Judged by the library's own types, too."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Final

from telegram import (
    Bot,
    ForceReply,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    ReplyParameters,
)
from telegram.constants import InlineKeyboardButtonLimit, InlineKeyboardMarkupLimit, MessageLimit

from answerback.presentation.text_fitting import utf16_length

TAGS: Final = {
    "b": "bold",
    "i": "italic",
    "u": "underline",
    "s": "strikethrough",
    "code": "code",
    "pre": "pre",
    "a": "text_link",
    "blockquote": "blockquote",
}
_ALONE: Final = frozenset({"code", "pre"})
MAX_ENTITIES: Final = 100
_MENTION: Final = re.compile(r"(?<!\w)@(\w{2,32})")
_COMMAND: Final = re.compile(r"(?<![\w/@])/[A-Za-z]\w*")


class RefusedError(Exception):
    """An error of the Bot API."""

    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


def bad(description: str, **parameters: Any) -> RefusedError:
    """Return a 400."""
    return RefusedError(400, f"Bad Request: {description}", **parameters)


@dataclass(frozen=True)
class Parsed:
    """A text and its entities."""

    text: str
    entities: tuple[dict[str, Any], ...]
    live: tuple[str, ...]
    """Names and commands that became live by themselves."""
    mentioned: tuple[str, ...]
    """The ids of people whom a link to their account notifies."""
    links: tuple[str, ...]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.open: list[tuple[str, int, dict[str, str | None]]] = []
        self.entities: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            raise bad(f'can\'t parse entities: Unsupported start tag "{tag}"')
        inside = [name for name, _, _ in self.open]
        if any(name in _ALONE for name in inside) and inside != ["pre"]:
            raise bad("can't parse entities: code contains another entity")
        if tag in _ALONE and inside not in ([], ["pre"]):
            raise bad("can't parse entities: code is in another entity")
        self.open.append((tag, len(self.text), dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1][0] != tag:
            raise bad("can't parse entities: Unmatched end tag")
        name, start, attributes = self.open.pop()
        piece = self.text[start:]
        if piece.strip():
            entity: dict[str, Any] = {
                "type": TAGS[name],
                "offset": utf16_length(self.text[:start]),
                "length": utf16_length(piece),
            }
            if name == "a":
                entity["url"] = attributes.get("href") or ""
            self.entities.append(entity)

    def handle_data(self, data: str) -> None:
        self.text += data


def parse_html(markup: str) -> Parsed:
    """Parse the text of a message; raise what Telegram would."""
    if re.search(r"&(?!lt;|gt;|amp;|quot;|#\d+;|#x[0-9a-f]+;)", markup):
        raise bad("can't parse entities: unsupported entity")
    parser = _Parser()
    parser.feed(markup)
    parser.close()
    if parser.open:
        raise bad("can't parse entities: Can't find end tag")
    if len(parser.entities) > MAX_ENTITIES:
        raise bad("can't parse entities: too many entities")
    text = parser.text.strip()
    if not text:
        raise bad("text must be non-empty")
    if utf16_length(text) > MessageLimit.MAX_TEXT_LENGTH:
        raise bad("message is too long")
    if "\x00" in text or re.search("[\ud800-\udfff]", text):
        raise bad("text must be encoded in UTF-8")
    people = [e["url"] for e in parser.entities if e["type"] == "text_link"]
    mentioned = [
        url.removeprefix("tg://user?id=") for url in people if url.startswith("tg://user?id=")
    ]
    links = [url for url in people if not url.startswith("tg://")]
    plain = _without_code(parser)
    live = (*_MENTION.findall(plain), *_COMMAND.findall(plain))
    return Parsed(text, tuple(parser.entities), live, tuple(mentioned), tuple(links))


def _without_code(parser: _Parser) -> str:
    units = parser.text.encode("utf-16-le")
    for entity in parser.entities:
        if entity["type"] in _ALONE or entity["type"] == "text_link":
            start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
            units = units[:start] + "\u00b7".encode("utf-16-le") * entity["length"] + units[end:]
    return units.decode("utf-16-le")


def check_markup(markup: dict[str, Any] | None) -> None:
    """Check a keyboard, or a request to reply."""
    if markup is None:
        return
    if markup.get("force_reply"):
        asked = ForceReply.de_json(markup, None)
        if not 1 <= len(asked.input_field_placeholder or "x") <= 64:
            raise bad("input field placeholder is too long")
        return
    keyboard = InlineKeyboardMarkup.de_json(markup, None)
    buttons = [each for row in keyboard.inline_keyboard for each in row]
    if len(buttons) > InlineKeyboardMarkupLimit.TOTAL_BUTTON_NUMBER:
        raise bad("reply_markup is too long")
    if any(
        len(row) > InlineKeyboardMarkupLimit.BUTTONS_PER_ROW for row in keyboard.inline_keyboard
    ):
        raise bad("reply_markup row is too long")
    for each in buttons:
        _check_button(each)


def _check_button(each: InlineKeyboardButton) -> None:
    if not each.text.strip():
        raise bad("text buttons are unallowed in the inline keyboard")
    if each.url is not None:
        return
    size = len(str(each.callback_data or "").encode())
    if (
        not InlineKeyboardButtonLimit.MIN_CALLBACK_DATA
        <= size
        <= InlineKeyboardButtonLimit.MAX_CALLBACK_DATA
    ):
        raise bad("BUTTON_DATA_INVALID")
    if each.style not in {None, "primary", "success", "danger"}:
        raise bad("unknown button style")


_SNAKE: Final = re.compile(r"(?<!^)(?=[A-Z])")


def check_parameters(method: str, body: dict[str, Any]) -> None:
    """Check that the library's own method takes these parameters, and that its types can read them."""
    if method == "sendRichMessage":
        method, body = "sendMessage", {"text": "", **body}
    body = {name: value for name, value in body.items() if name != "rich_message"}
    own = getattr(Bot, _SNAKE.sub("_", method).lower(), None)
    if own is None:
        raise RefusedError(404, "Not Found")
    known = inspect.signature(own).parameters
    unknown = [name for name in body if name not in known]
    if unknown:
        raise bad(f"unknown parameter {unknown}")
    if (preview := body.get("link_preview_options")) is not None:
        LinkPreviewOptions.de_json(preview, None)
    if (replied := body.get("reply_parameters")) is not None:
        ReplyParameters.de_json(replied, None)
