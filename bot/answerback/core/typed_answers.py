"""Typed answers: parse what a person typed into an action, and check that its question was open then. Pure.

Nothing is guessed: an ambiguous text is not an answer, and the person is told what they can do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from answerback.core.actions import Action, Answer, Other, Reply
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, OptionKind, Question
from answerback.core.labels import Labels
from answerback.core.option_labels import means_other, show_options
from answerback.core.typed_text import (
    DENIALS,
    NO,
    YES,
    fold,
    is_blank,
    is_only_numbers,
    parse_position,
    plain,
    plain_word,
    split_list,
)

_MAX_ITEMS: Final = 64
"""The most list items that are read as options; nobody types a longer list."""
_QUESTION_CHARS: Final = 300
"""Characters of the question in a sentence about it."""

_UNKNOWN_SECONDS: Final = 600.0
"""Seconds for which an ask may still have looked open after its end, by our own clock, if the platform reported no
time."""


class UnclearText(NamedTuple):
    """The text cannot be read as an action; ``sentence`` tells the person why, and what they can do."""

    sentence: str


def check_not_too_early(
    ask: Ask, at: float | None, labels: Labels, *, since: float | None = None
) -> UnclearText | None:
    """Return None if people could see the open question when the text was typed, else what to tell the author.

    All times are the platform's. Nobody's text counts before, not even that of the person who opened the question:
    they may have meant the question before it.

    Args:
        at: when the text was typed; None if the platform does not report it.
        since: since when the question is visible, if that is known but not stored.
    """
    since = since if ask.opening.shown is None else ask.opening.shown
    if ask.revision == 1 and (first := ask.placement.seen_since) is not None:
        # Its message has shown no other question, although an edit may have shown this one again since.
        since = first if since is None else min(since, first)
    summary = labels.confirm_title if ask.confirming else labels.review_title
    question = (ask.question.text if ask.question else summary)[:_QUESTION_CHARS]
    if since is None and ask.placement.shown_revision < ask.revision:
        return UnclearText(labels.text_before_shown.format(question=question))
    if at is None or since is None:
        return UnclearText(labels.text_untimed)
    return None if at > since else UnclearText(labels.text_too_early.format(question=question))


def may_have_looked_open(ask: Ask, at: float) -> bool:
    """Return True if people may have seen the ask as open at a time of the platform's clock, whatever has happened
    since."""
    if not ask.placement.message or (
        ask.placement.seen_since is not None and at <= ask.placement.seen_since
    ):
        return False
    if ask.open or ask.placement.shown_revision < ask.revision:
        return True
    if ask.opening.shown is None:
        return at <= ask.updated_at + _UNKNOWN_SECONDS
    return at <= ask.opening.shown


def accepts_free_text(ask: Ask) -> bool:
    """Return whether any text answers the open question, not just an option's label or number."""
    question = ask.question
    if question is None:
        return False
    if question.answer_type is AnswerType.TEXT:
        return True
    return bool(question.options) and (question.other or ask.form.reply_is_free_text)


def _text_in_summary(ask: Ask, labels: Labels) -> str:
    if ask.confirming:
        return labels.text_in_confirmation.format(confirm=labels.confirm, object=labels.object)
    return labels.text_in_review.format(submit=labels.submit, edit=labels.edit)


def parse_typed_answer(
    ask: Ask, text: str, labels: Labels, *, has_files: bool = False
) -> Action | UnclearText:
    """Parse ``text`` as an action on the open question of ``ask``.

    A text question takes any text; a boolean takes yes, no or its buttons' labels; a select takes the label or the
    number of an option, and a permission a plain word that denies; a multi-select takes a list of labels and numbers.
    Where a label and a number disagree, the text is ambiguous. A text that names no option and is not a number is
    "Something else…" or the free-text reply, in the dialects that have them. Schema questions cannot be answered by
    typing.

    Args:
        has_files: true if files come with the text, which are enough to answer a text question without a word.
    """
    question = ask.question
    stripped = text.strip()
    if question is None:
        return UnclearText(_text_in_summary(ask, labels))
    if question.answer_type is AnswerType.SCHEMA:
        return UnclearText(labels.text_for_schema.format(fill_in=labels.fill_in))
    if is_blank(text) and not (has_files and question.answer_type is AnswerType.TEXT):
        return UnclearText(labels.text_missing)
    match question.answer_type:
        case AnswerType.TEXT:
            return Answer(value=text)
        case AnswerType.BOOLEAN:
            return _boolean(stripped, question, labels)
        case AnswerType.SELECT:
            return _select(ask, question, text, labels)
        case AnswerType.MULTI_SELECT:
            return _multi_select(ask, question, text, labels)


def _boolean(text: str, question: Question, labels: Labels) -> Answer | UnclearText:
    written = {fold(text), plain_word(text)}
    yes_label, no_label = labels.yes_no(consent=question.consent)
    yes = not written.isdisjoint(YES | {fold(yes_label)})
    no = not written.isdisjoint(NO | {fold(no_label)})
    if yes == no:
        return UnclearText(labels.text_for_boolean.format(yes=yes_label, no=no_label))
    return Answer(value=yes)


class _OptionNames:
    """Finds a question's options by their labels and numbers."""

    def __init__(self, question: Question, labels: Labels) -> None:
        self.options = show_options(question, labels).options
        sent = {option.value: option.label for option in question.options}
        # Also as sent: a label of several options is ambiguous, not the person's own text.
        self._labels = [
            {plain(each.label).strip(), plain(sent[each.value]).strip()} for each in self.options
        ]
        self._items = [set(map(split_list, each)) for each in self._labels]
        self._by_label: dict[tuple[str, ...], list[int]] = {}
        for i, names in enumerate(self._items):
            for items in set(map(_fold_items, names)):
                self._by_label.setdefault(items, []).append(i)
        self.lengths = sorted({1, *map(len, self._by_label)} - {0})
        """The numbers of list items that the labels consist of."""

    def find(self, text: str) -> list[int]:
        """Return the indexes of the options that a plain text can name: by their label, and by their number."""
        exact = [i for i, names in enumerate(self._labels) if text in names]
        items = split_list(text)
        return _together(exact or self.find_labels(items), self._numbered(items))

    def find_labels(self, items: tuple[str, ...]) -> list[int]:
        """Return the indexes of the options whose label consists of these list items; without items, none."""
        if not 0 < len(items) <= self.lengths[-1]:
            return []
        named = self._by_label.get(_fold_items(items), [])
        return [i for i in named if items in self._items[i]] or named

    def find_items(self, items: tuple[str, ...]) -> list[int]:
        """Return the indexes of the options that these list items name, by their label and by their number."""
        return _together(self.find_labels(items), self._numbered(items))

    def _numbered(self, items: tuple[str, ...]) -> list[int]:
        number = parse_position(items[0]) if len(items) == 1 else None
        return [number - 1] if number and number <= len(self._labels) else []


def _together(*found: list[int]) -> list[int]:
    """Return each of the indexes once: where a label and a number disagree, there are several."""
    return list(dict.fromkeys(i for each in found for i in each))


def _select(ask: Ask, question: Question, text: str, labels: Labels) -> Action | UnclearText:
    names, stripped = _OptionNames(question, labels), text.strip()
    indexes = names.find(plain(stripped).strip())
    if len(indexes) > 1:
        return _ambiguous(stripped, labels)
    if indexes:
        return Answer(value=names.options[indexes[0]].value)
    deny = question.sole_option(OptionKind.DENY)
    if deny is not None and plain_word(text) in DENIALS:
        return Answer(value=deny.value)
    return _free_text(ask, question, text, labels) or UnclearText(labels.text_for_select)


def _multi_select(ask: Ask, question: Question, text: str, labels: Labels) -> Action | UnclearText:
    names, stripped = _OptionNames(question, labels), text.strip()
    items = split_list(plain(stripped))
    if 0 < len(items) <= _MAX_ITEMS:
        readings = _readings(names.find_items, names.lengths, items)
        if len(readings) > 1:
            return _ambiguous(stripped, labels)
        if readings:
            return Answer(value=[names.options[i].value for i in sorted(readings.pop())])
        if any(names.find_items((item,)) or parse_position(item) is not None for item in items):
            # Some items are options, so the others may be typing errors.
            return UnclearText(labels.text_for_multi_select)
    return _free_text(ask, question, text, labels) or UnclearText(labels.text_for_multi_select)


def _readings(
    find: Callable[[tuple[str, ...]], list[int]], lengths: Sequence[int], items: tuple[str, ...]
) -> set[frozenset[int]]:
    """Return the sets of options that a list can mean, at most two of them. A label may be several items itself."""
    readings: list[set[frozenset[int]]] = [{frozenset()}]
    for end in range(1, len(items) + 1):
        found: set[frozenset[int]] = set()
        for length in lengths:
            if length > end or len(found) > 1:
                break
            before = readings[end - length]
            if before:
                named = find(items[end - length : end])
                found |= {reading | {index} for reading in before for index in named[:2]}
        readings.append(set(sorted(found, key=sorted)[:2]))
    return readings[-1]


def _fold_items(items: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(fold, items))


def _ambiguous(text: str, labels: Labels) -> UnclearText:
    return UnclearText(labels.text_ambiguous.format(text=text[:100]))


def _free_text(
    ask: Ask, question: Question, text: str, labels: Labels
) -> Action | UnclearText | None:
    if question.other and means_other(text, labels):
        return UnclearText(labels.text_for_other.format(text=text.strip()))
    if is_only_numbers(text):  # meant as options that do not exist
        return None
    if ask.form.reply_is_free_text:
        return Reply(text=text)
    return Other(text=text) if question.other else None
