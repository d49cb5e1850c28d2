"""Search and the inbox: the words that an ask is found by, and the queries that a store answers.

Every store gets its words from here, so that all of them find the same asks. An ask can be found by the words of its
questions once it is stored, and by the words of its answers once it has ended.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, Protocol, TypeAlias

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Status
from answerback.core.confirmer_copies import is_account_elsewhere
from answerback.core.secrecy import keeps_secret
from answerback.core.walker import Person
from answerback.ports.store_values import Page

_UNSPACED_SCRIPTS: Final = (
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
"""Kana and Han characters: written without spaces, so that each counts as a word."""
_VOWEL_SIGNS: Final = "\u19b0-\u19c0\u19c8\u19c9\u1cf2\u1cf3"
"""Signs that Unicode once counted as marks, and SQLite still does: as all spacing vowel signs, they part words."""
_WORD: Final = re.compile(f"[{_UNSPACED_SCRIPTS}]|[^\\W_{_UNSPACED_SCRIPTS}{_VOWEL_SIGNS}]+")
_ASCII_WORD: Final = re.compile("[a-z0-9]+")
"""The same in folded text that is ASCII, found in a third of the time."""
MAX_WORD_LENGTH: Final = 64
"""Characters of a word that are indexed: PostgreSQL accepts no lexeme of 2 KB."""
MAX_WORD_BYTES: Final = 500_000
"""Bytes of the words that are indexed of an ask's questions, and of its answers: PostgreSQL accepts 1 MB of both."""

Account: TypeAlias = tuple[str, str]
"""A surface, and a person's id there."""


def split_words(*texts: str) -> tuple[str, ...]:
    """The first words of some texts, each once, without case and accents."""
    named = dict.fromkeys(_list_words("\n".join(texts)))  # most texts repeat some
    found = dict.fromkeys(word[:MAX_WORD_LENGTH] for word in named)
    if sum(map(len, found)) <= MAX_WORD_BYTES // 4:  # so many bytes has a character at most
        return tuple(found)
    ends = accumulate(len(word.encode()) for word in found)
    return tuple(word for word, end in zip(found, ends, strict=True) if end <= MAX_WORD_BYTES)


def _list_words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text.casefold())
    return _WORD.findall(_strip_accents(text))


def _strip_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold()).casefold()
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")


def answerer_word(person: Person) -> str:
    """The word that finds the asks which this person answered."""
    return _word_for("by", f"{person.surface}:{person.user_id}")


def project_word(project: str) -> str:
    """The word that finds the asks from this project."""
    return _word_for("in", project)


def _word_for(kind: str, text: str) -> str:
    """A word that nobody can write by chance."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind}{digest[:32]}"


def question_words(ask: Ask) -> tuple[str, ...]:
    """The words of an ask's questions, and the one that stands for its project."""
    texts: list[str | None] = []
    for question in ask.request.form.questions:
        texts += (question.text, question.context, question.header, question.tool)
        for option in question.options:
            texts += (option.label, option.description)
    project = ask.request.origin.project
    return split_words(*([project_word(project)] if project else []), *filter(None, texts))


def answer_words(ask: Ask) -> tuple[str, ...]:
    """The words of an ask's answers, unless its agent may not read them, and those for the people who decided."""
    answers = ask.walk.answers
    readable = () if keeps_secret(ask) else answers
    texts = [text for answer in readable for text in _iter_texts(answer.value)]
    texts += [answer.note for answer in readable if answer.note]
    texts += [ask.walk.reply] if ask.walk.reply else []
    texts += [aside.text for aside in ask.asides]
    people = ask.decided_by
    texts += [person.name for person in people if person.name]
    return split_words(*map(answerer_word, people), *texts)


def _iter_texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _iter_texts(member)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


class Search(NamedTuple):
    """The criteria of a search; None: any."""

    terms: tuple[str, ...] = ()
    """The words of `split_words` and the like: each must be one of the ask's words, or the beginning of one."""
    status: Status | None = None
    ended: bool = False
    """True if only asks that have ended are searched."""
    agent: str | None = None
    since: float | None = None
    until: float | None = None
    """Asks created at or after ``since`` and before ``until``."""
    by: tuple[tuple[Person, ...], ...] = ()
    """The accounts of each person who must be among those who answered."""

    def matches(self, ask: Ask) -> bool:
        """Return True if an open ask meets all criteria."""
        return (
            not self.by
            and not self.ended
            and self.status in {None, ask.status}
            and self.agent in {None, ask.request.agent}
            and (self.since is None or self.since <= ask.created_at)
            and (self.until is None or ask.created_at < self.until)
            and self._has_words(question_words(ask) if self.terms else ())
        )

    def _has_words(self, available: tuple[str, ...]) -> bool:
        return all(any(word.startswith(prefix) for word in available) for prefix in self.terms)


class AskSearch(Protocol):
    """The store's queries on behalf of people. Each may raise StoreError, and ValueError for an invalid cursor."""

    async def find(self, wanted: Search, after: str | None, limit: int) -> Page[Ask]:
        """Asks, newest first: those stored last; in a search by nothing but time, those created last."""

    async def list_for_responder(
        self, accounts: Sequence[Account], after: str | None, limit: int
    ) -> Page[Ask]:
        """Open asks on a person's surfaces that they, a group or anyone may answer or confirm: the most urgent
        first, and then those that were asked first."""


def may_wait_for(ask: Ask, accounts: Sequence[Account]) -> bool:
    """Return True if those who may answer or confirm include this person, a group or anyone: the test of
    `AskSearch.list_for_responder`."""
    ids = [user_id for surface, user_id in accounts if surface == ask.placement.destination.surface]
    named = {*ids, ANYONE}
    if is_account_elsewhere(ask, accounts):
        return True
    return bool(ids) and any(one in named or one.startswith("@") for one in ask.participants)
