"""Reads pages and submits their forms like a browser without JavaScript."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser

import aiohttp
from aiohttp import hdrs

_UNSEEN = frozenset({"script", "style", "title", "dialog"})
_VOID = frozenset({"input", "link", "meta", "img", "br"})
_NO_ENTER = frozenset({"hidden", "button", "submit", "reset", "file"})
"""The types of inputs in which Enter submits no form."""
NO_BUTTON = "no_button"
"""The value of the button that Enter presses where it could mean several; nobody sees it."""


@dataclass
class Document(HTMLParser):
    """A page: its visible text, and its form as it would be submitted."""

    markup: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    text: str = ""
    title: str = ""
    fields: list[tuple[str, str]] = field(default_factory=list)
    """Name and value of every field that the form would submit."""
    buttons: dict[str, str] = field(default_factory=dict)
    """The value that each button submits, and its text."""
    action: str | None = None
    links: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self._select: tuple[str, bool] | None = None
        self._area: str | None = None
        self._first = False
        self._form: str | None = None
        self._entered: set[str] = set()
        self._submitting: dict[str, list[str]] = {}
        self.feed(self.markup)
        self.close()
        for form in self._entered:
            values = self._submitting.get(form, [])
            assert values[:1] == [NO_BUTTON] or len(set(values)) <= 1, "Enter presses the first one"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag not in _VOID:
            self._open.append((tag, attributes))
        name = attributes.get("name") or ""
        value = attributes.get("value") or ""
        self._add_to_form(tag, attributes)
        match tag:
            case "form":
                self.action = attributes.get("action")
            case "button" if value != NO_BUTTON:
                self.buttons[value] = ""
            case "a":
                self.links.append(attributes.get("href") or "")
            case "input":
                box = attributes.get("type") in {"radio", "checkbox"}
                if name and (not box or "checked" in attributes):
                    self.fields.append((name, value))
            case "textarea":
                self._area, self._first = name, True
                self.fields.append((name, ""))
            case "select":
                self._select = (name, False)
            case "option":
                self._option(value, "selected" in attributes)
            case _:
                pass

    def _add_to_form(self, tag: str, attributes: dict[str, str | None]) -> None:
        """Begin a form, or add to its form a control in which Enter submits it, or a button that Enter could press."""
        if tag == "form":
            self._form = attributes.get("id") or f"#{len(self.tags)}"
        form, kind = attributes.get("form") or self._form, attributes.get("type")
        if form is None:
            return
        if tag == "select" or (tag == "input" and kind not in _NO_ENTER):
            self._entered.add(form)
        elif tag == "button" and kind != "button":
            self._submitting.setdefault(form, []).append(attributes.get("value") or "")

    def _option(self, value: str, selected: bool) -> None:
        """Add an option: a menu submits its selected option, or else its first one."""
        if self._select is None:
            return
        name, filled = self._select
        if filled and selected:
            self.fields.pop()
        if selected or not filled:
            self.fields.append((name, value))
            self._select = (name, True)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass
        if tag == "textarea":
            self._area = None
        if tag == "select":
            self._select = None
        if tag == "form":
            self._form = None

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            # The first line break after the tag is not part of the text.
            data = data.removeprefix("\n") if self._first else data
            self._first = False
            name, value = self.fields[-1]
            self.fields[-1] = (name, value + data)
        tags = [tag for tag, _ in self._open]
        if "title" in tags:
            self.title += data
        for tag, attrs in self._open:
            if tag == "button" and attrs.get("value") != NO_BUTTON:
                self.buttons[attrs.get("value") or ""] += data.strip()
        if not _UNSEEN & set(tags):
            self.text += data

    def primary_choices(self) -> list[str]:
        """Return the choices whose buttons stand out: what was chosen before, or else the default."""
        answers = [
            (b.get("value") or "", (b.get("class") or "").split())
            for tag, b in self.tags
            if tag == "button" and (b.get("value") or "").startswith("answer:")
        ]
        chosen, default = (
            [value.removeprefix("answer:") for value, css in answers if name in css]
            for name in ("primary", "default")
        )
        return chosen or default

    def value(self, name: str) -> str | None:
        """Return the value that the first field of this name would submit."""
        return next((value for field, value in self.fields if field == name), None)

    def values(self, name: str) -> list[str]:
        """Return the values that all fields of this name would submit."""
        return [value for field, value in self.fields if field == name]


@dataclass
class Reader:
    """A person who reads pages and presses their buttons."""

    http: aiohttp.ClientSession
    base: str
    headers: dict[str, str] = field(default_factory=dict)

    async def open(self, path: str) -> Document:
        """Open a page."""
        async with self.http.get(path, headers=self.headers) as response:
            return Document(await response.text(), response.status, dict(response.headers))

    async def press(
        self,
        page: Document,
        path: str,
        do: str,
        entered: Iterable[tuple[str, str]] | dict[str, str] = (),
        *,
        follow: bool = True,
        headers: dict[str, str] | None = None,
    ) -> Document:
        """Submit a page's form with a button; ``entered`` replaces its fields' values."""
        pairs = list(entered.items() if isinstance(entered, dict) else entered)
        names = {name for name, _ in pairs}
        body = [(n, v) for n, v in page.fields if n not in names] + pairs + [("do", do)]
        sent = self.headers | (headers or {})
        sent[hdrs.CONTENT_TYPE] = "application/x-www-form-urlencoded"
        data = aiohttp.FormData(body)()
        async with self.http.post(
            path, data=data, headers=sent, allow_redirects=follow
        ) as response:
            return Document(await response.text(), response.status, dict(response.headers))


@asynccontextmanager
async def reader(base: str) -> AsyncIterator[Reader]:
    """A reader with its own cookies."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(base, cookie_jar=jar) as http:
        yield Reader(http, base)
