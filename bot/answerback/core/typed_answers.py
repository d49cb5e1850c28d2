"""Words that a person typed for an ask: the action they stand for, and whether its question was open then. Pure.

Nothing is guessed: words that can be read in two ways stand for nothing, and the person is told what can be done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Option, Question
from answerback.core.labels import Labels
from answerback.core.walker import Action, Answer, Other, Person, Reply

_MOST_PARTS: Final = 64
"""Parts between commas that are read as options: what is longer is not a list that somebody typed."""


class UnclearText(NamedTuple):
    """The words stand for no action; ``sentence`` says to the person why, and what can be done."""

    sentence: str


def check_not_too_early(
    ask: Ask, at: float | None, person: Person, labels: Labels
) -> UnclearText | None:
    """None where the open question was open when the words were typed.

    All times are the platform's: words count once the question could be seen. The person whose click opened it
    need not wait for that. Where the platform does not say when it could be seen, what opened it counts.

    Args:
        at: when they were typed; None where the platform does not say so.
    """
    opened = ask.opened
    since = opened.shown
    clicked = opened.at is not None and not opened.typed
    if clicked and ask.acted_by is not None and ask.acted_by.user_id == person.user_id:
        since = opened.at
    if since is None and ask.shown_revision < ask.revision:
        return UnclearText(labels.words_too_early)
    since = opened.at if since is None else since
    if at is None or since is None:
        return UnclearText(labels.words_untimed)
    return None if at > since else UnclearText(labels.words_too_early)


def accepts_free_text(ask: Ask) -> bool:
    """Whether any words would answer the open question, and not only an option's label or number."""
    question = ask.question
    if question is None:
        return False
    if question.answer_type is AnswerType.TEXT:
        return True
    return bool(question.options) and (question.other or ask.form.reply_is_free_text)


def parse_typed_answer(ask: Ask, text: str, labels: Labels) -> Action | UnclearText:
    """The action that ``text`` stands for at the open question of ``ask``.

    A text question takes any words; a boolean yes and no, or its buttons' words; a select the label or the
    number of an option; a multi-select several, separated by commas. Words that name no option are
    "Something else…" or the free text, in the dialects that have them. A schema is not answered by typing.
    """
    question = ask.question
    words = text.strip()
    if question is None:
        return UnclearText(labels.words_in_review.format(submit=labels.submit, edit=labels.edit))
    if question.answer_type is AnswerType.SCHEMA:
        return UnclearText(labels.words_for_schema.format(fill_in=labels.fill_in))
    if not words:
        return UnclearText(labels.words_missing)
    match question.answer_type:
        case AnswerType.TEXT:
            return Answer(value=text)
        case AnswerType.BOOLEAN:
            return _boolean(words, labels)
        case AnswerType.SELECT:
            return _select(ask, question, text, labels)
        case AnswerType.MULTI_SELECT:
            return _multi_select(ask, question, text, labels)


def _boolean(words: str, labels: Labels) -> Answer | UnclearText:
    folded = words.casefold()
    yes = folded in {labels.yes.casefold(), "yes"}
    no = folded in {labels.no.casefold(), "no"}
    if yes == no:
        return UnclearText(labels.words_for_boolean.format(yes=labels.yes, no=labels.no))
    return Answer(value=yes)


class _Names:
    """The options of a question by what they are called: their labels, and their numbers."""

    def __init__(self, options: Sequence[Option]) -> None:
        self._labels = [option.label.strip() for option in options]
        self._places: dict[tuple[str, ...], list[int]] = {}
        for i, label in enumerate(self._labels):
            self._places.setdefault(_folded(label.split(",")), []).append(i)
        self.lengths = sorted({1, *map(len, self._places)})
        """How many parts between commas a label has."""

    def places(self, words: str) -> list[int]:
        """The places of the options that these words name."""
        named = self._places.get(_folded(words.split(",")), [])
        named = [i for i in named if self._labels[i] == words] or list(named)
        number = _number(words)
        if number is not None and 1 <= number <= len(self._labels) and number - 1 not in named:
            named.append(number - 1)
        return named

    def looks_like_number(self, words: str) -> bool:
        """Whether somebody may have meant an option's number, which is none."""
        number = _number(words)
        return number is not None and len(str(number)) <= len(str(len(self._labels)))


def _select(ask: Ask, question: Question, text: str, labels: Labels) -> Action | UnclearText:
    names, words = _Names(question.options), text.strip()
    found = names.places(words)
    if len(found) > 1:
        return _ambiguous(words, labels)
    if found:
        return Answer(value=question.options[found[0]].value)
    if names.looks_like_number(words):
        return UnclearText(labels.words_for_select)
    return _own_words(ask, question, text) or UnclearText(labels.words_for_select)


def _multi_select(ask: Ask, question: Question, text: str, labels: Labels) -> Action | UnclearText:
    names, words = _Names(question.options), text.strip()
    parts = [part.strip() for part in words.split(",")]
    if len(parts) <= _MOST_PARTS:
        readings = _readings(names, parts)
        if len(readings) > 1:
            return _ambiguous(words, labels)
        if readings:
            return Answer(value=[question.options[i].value for i in sorted(readings.pop())])
        if any(names.places(part) or names.looks_like_number(part) for part in parts):
            return UnclearText(
                labels.words_for_multi_select
            )  # partly options: the rest may be a slip
    return _own_words(ask, question, text) or UnclearText(labels.words_for_multi_select)


def _readings(names: _Names, parts: Sequence[str]) -> set[frozenset[int]]:
    """The sets of options that a list can mean, two of them at the most: a label may have commas of its own."""
    read: list[set[frozenset[int]]] = [{frozenset()}]
    for end in range(1, len(parts) + 1):
        found: set[frozenset[int]] = set()
        for length in names.lengths:
            if length > end or len(found) > 1:
                break
            before = read[end - length]
            if before:
                named = names.places(", ".join(parts[end - length : end]))
                found |= {one | {place} for one in before for place in named[:2]}
        read.append(set(sorted(found, key=sorted)[:2]))
    return read[-1]


def _folded(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple([part.strip().casefold() for part in parts])


def _number(words: str) -> int | None:
    digits = words.rstrip(".)")
    return int(digits[:7]) if digits.isascii() and digits.isdigit() else None


def _ambiguous(words: str, labels: Labels) -> UnclearText:
    return UnclearText(labels.words_ambiguous.format(words=words[:100]))


def _own_words(ask: Ask, question: Question, text: str) -> Action | None:
    if ask.form.reply_is_free_text:
        return Reply(text=text)
    return Other(text=text) if question.other else None
