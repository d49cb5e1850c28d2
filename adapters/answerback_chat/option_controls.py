"""Which control shows the options of a question, so that each can be read in full and none is dropped. Pure.

A platform brings its limits; what it makes of the choice between buttons, a menu and a list as text is its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from answerback.core.form import AnswerType, Option, Question
from answerback.core.view import Prompt
from answerback_chat.sanitize import one_line
from answerback_chat.text_fitting import fits_line

MAX_BUTTONS: Final = 5
"""Options up to which each is a button: more of them side by side are not read."""


class OptionLimits(NamedTuple):
    """What a platform's controls hold, in units."""

    button: int
    """A button's label, up to which no client cuts it."""
    label: int
    """An option's label in a menu."""
    description: int
    """An option's description in a menu."""
    sections: int = 0
    """Options up to which each described one is a text with its button beside it; 0: a platform without."""

    def fits_buttons(self, question: Question) -> bool:
        """Whether there are so few and short options that each is a button."""
        if question.answer_type is not AnswerType.SELECT or len(question.options) > MAX_BUTTONS:
            return False
        return not _described(question) and self._on_buttons(question)

    def fits_sections(self, question: Question) -> bool:
        """Whether each option is a text with its button beside it: there are few, and some are described."""
        few = question.answer_type is AnswerType.SELECT and len(question.options) <= self.sections
        return few and _described(question)

    def _on_buttons(self, question: Question) -> bool:
        return all(fits_line(each.label, self.button) for each in question.options)

    def needs_text_list(self, question: Question) -> bool:
        """Whether the options stand in the message as text, numbered, because no control shows all of them."""
        if self.fits_buttons(question):
            return False
        if self.fits_sections(question):
            return not self._on_buttons(question) or _alike(question.options)
        return not all(map(self.fits_menu, question.options)) or _alike(question.options)

    def fits_menu(self, option: Option) -> bool:
        """Whether a menu shows all of an option."""
        return fits_line(option.label, self.label) and fits_line(
            option.description or "", self.description
        )

    def option_labels(self, question: Question, indexes: Iterable[int]) -> list[str]:
        """The labels of options, with their numbers where the options are spelled out as text."""
        numbered = self.needs_text_list(question)
        labels = [(i, question.options[i].label) for i in indexes]
        return [f"{i + 1}. {label}" if numbered else label for i, label in labels]


def chosen_indexes(prompt: Prompt) -> list[int]:
    """The options that are chosen from the start."""
    chosen = prompt.chosen if isinstance(prompt.chosen, list) else [prompt.chosen]
    values = {value for value in chosen if isinstance(value, str)}
    return [i for i, option in enumerate(prompt.question.options) if option.value in values]


def _described(question: Question) -> bool:
    return any((each.description or "").strip() for each in question.options)


def _alike(options: Iterable[Option]) -> bool:
    labels = [one_line(each.label) for each in options]
    return len(set(labels)) < len(labels)
