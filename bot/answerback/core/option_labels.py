"""The labels of options as people see them: what is alike is told apart. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from answerback.core.form import Option, Question
from answerback.core.labels import Labels
from answerback.core.question_markdown import without_marks
from answerback.core.typed_text import fold, parse_position


class ShownOptions(NamedTuple):
    """A question's options as people see them."""

    options: tuple[Option, ...]
    """The options that answer."""
    others: tuple[Option, ...]
    """The options that only say "something else": their control opens the text entry instead of sending their label."""
    every: tuple[Option, ...]
    """All of them, in the order sent."""


def show_options(question: Question, labels: Labels) -> ShownOptions:
    """Return a question's options with labels that people can tell apart, from our own controls too."""
    sent = question.options
    if not sent:
        return ShownOptions((), (), ())
    names = _other_names(labels) if question.other else set()
    others = [each for each in sent if names and _bare(each.label) in names]
    if len(others) == len(sent):
        others = []  # something has to be left to choose
    answers = [each for each in sent if each not in others]
    written = [each.label for each in answers]
    if any("*" in each or "`" in each for each in written):
        is_permission = question.is_approval or question.tool is not None
        written = written if is_permission else [*map(without_marks, written)]
    shown = tell_apart(written, _folded(_controls(labels)))
    distinct = {
        each.value: each if each.label == label else each.model_copy(update={"label": label})
        for each, label in zip(answers, shown, strict=True)
    }
    every = tuple(distinct.get(each.value, each) for each in sent)
    return ShownOptions(tuple(distinct.values()), tuple(others), every)


def means_other(label: str, labels: Labels) -> bool:
    """Return True if an option is called "Other", or like the control for one's own words."""
    return _bare(label) in _other_names(labels)


def _other_names(labels: Labels) -> set[str]:
    return {"other", _bare(labels.other)}


def _bare(label: str) -> str:
    return fold(label).rstrip(" .:")


def tell_apart(labels: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Number the labels that look alike, or like one of the folded texts that are ``taken``."""
    keys = [fold(label) for label in labels]
    counts = Counter([*keys, *taken])
    shown, numbers = [], Counter[str]()
    for label, key in zip(labels, keys, strict=True):
        candidate = label
        while counts[key] > 1 and (candidate == label or counts[fold(candidate)]):
            numbers[key] += 1
            candidate = f"{label} ({numbers[key]})"
        shown.append(candidate)
    return shown


def ambiguous_positions(labels: Sequence[str]) -> set[int]:
    """Return the positions, counted from 1, whose number is the label of another option."""
    numbers = {n: i for i, label in enumerate(labels, 1) if (n := parse_position(label))}
    return {n for n, i in numbers.items() if n <= len(labels) and n != i}


@lru_cache(maxsize=16)
def _folded(controls: tuple[str, ...]) -> frozenset[str]:
    """Return what is configured once for all asks; folding it takes a third of the time that a view's options take."""
    return frozenset(map(fold, controls))


def _controls(labels: Labels) -> tuple[str, ...]:
    """The controls that are next to options."""
    return (
        labels.other, labels.answer_with_note, labels.back, labels.ask_back, labels.reply, labels.end_turn,
        labels.deny_with_message, labels.keep_planning, labels.deny_and_stop, labels.allow_again, labels.edit_call,
        labels.allow_longer, labels.add_note,
        labels.submit, labels.answer, labels.choose, labels.details,
    )  # fmt: skip
