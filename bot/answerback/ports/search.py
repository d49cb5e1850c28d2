"""Search and the inbox: by which words an ask is found, and what a store is asked for.

Every store takes its words from here, so that all of them find the same. An ask is found by the words of its questions
from when it is stored, and by those of its answers from when it has ended.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Status
from answerback.core.walker import Person
from answerback.ports.store_values import Page

_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Kana and Han characters: written without spaces, so that each counts as a word."""
_WORD: Final = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
_WHOLE: Final = 64
"""Characters by which a word is known: PostgreSQL takes no lexeme of 2 KB."""


def split_words(*texts: str) -> tuple[str, ...]:
    """The words of texts, each once: without case and accents."""
    found: dict[str, None] = {}
    for text in texts:
        folded = text.casefold() if text.isascii() else _plain(text)
        found.update(dict.fromkeys(word[:_WHOLE] for word in _WORD.findall(folded)))
    return tuple(found)


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


def answerer_word(person: Person) -> str:
    """The word by which asks are found that this person answered."""
    who = f"{person.surface}:{person.user_id}".encode("utf-8", "surrogatepass")
    return f"by{hashlib.sha256(who).hexdigest()[:32]}"


def question_words(ask: Ask) -> tuple[str, ...]:
    """The words of what was asked."""
    texts: list[str | None] = []
    for question in ask.form.questions:
        texts += (question.text, question.context, question.header, question.tool)
        for option in question.options:
            texts += (option.label, option.description)
    return split_words(*filter(None, texts))


def answer_words(ask: Ask) -> tuple[str, ...]:
    """The words of what was answered, and those for who did."""
    given = ask.walk.answers
    texts = [text for one in given for text in _texts(one.value)]
    texts += [one.note for one in given if one.note]
    texts += [ask.walk.reply] if ask.walk.reply else []
    texts += [aside.text for aside in ask.asides]
    people = [one.by for one in given if one.by]
    people += [ask.outcome.ended_by] if ask.outcome and ask.outcome.ended_by else []
    texts += [person.name for person in people if person.name]
    return split_words(*texts, *map(answerer_word, people))


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _each(value.values())
    elif isinstance(value, list):
        yield from _each(value)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield str(value)


def _each(values: Iterable[JsonValue]) -> Iterator[str]:
    for value in values:
        yield from _texts(value)


class Search(NamedTuple):
    """Which asks are wanted; None: any."""

    words: tuple[str, ...] = ()
    """Of `split_words` and `answerer_word`: each has to be one of the ask's, or the beginning of one."""
    status: Status | None = None
    agent: str | None = None
    since: float | None = None
    until: float | None = None
    """Asks created from ``since`` on and before ``until``."""

    def matches(self, ask: Ask) -> bool:
        """Whether an open ask has all that is wanted."""
        return (
            self.status in {None, ask.status}
            and self.agent in {None, ask.request.agent}
            and (self.since is None or self.since <= ask.created_at)
            and (self.until is None or ask.created_at < self.until)
            and self._has_words(question_words(ask) if self.words else ())
        )

    def _has_words(self, words: tuple[str, ...]) -> bool:
        return all(any(word.startswith(one) for word in words) for one in self.words)


class AskSearch(Protocol):
    """The store, as asked by people. Every method may raise StoreError, and ValueError for a made-up cursor."""

    async def search(self, wanted: Search, after: str | None, limit: int) -> Page[Ask]:
        """Asks, newest first."""

    async def list_for_responder(
        self, surface: str, user_id: str, after: str | None, limit: int
    ) -> Page[Ask]:
        """Open asks of a surface whose responders are this person, a group or anyone, among others; oldest first."""


def may_wait_for(ask: Ask, user_id: str) -> bool:
    """Whether responders of an ask are this person, a group or anyone: what `AskSearch.list_for_responder` looks for."""
    return any(one in {user_id, ANYONE} or one.startswith("@") for one in ask.responders)
