"""Choose the control for a question's options, so that each can be read in full and none is dropped. Pure.

A platform supplies its limits, and renders the choice between buttons, a menu and a text list in its own way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from answerback.core.form import AnswerType, Option, Question
from answerback.core.view import Prompt
from answerback.presentation.text_fitting import fits_line
from answerback_base.sanitize import one_line

MAX_BUTTONS: Final = 5
"""Up to this many options are buttons; people do not read a longer row."""
MAX_APPROVAL_BUTTONS: Final = 15
"""Up to this many decisions about a permission are buttons, however long their labels are: Discord has space for more
controls, but not for many."""
MAX_SECTIONS: Final = 6
"""Up to this many described options are each a text with a button next to it. In Discord each is three components, of
the forty that a message may have: https://docs.discord.com/developers/components/reference"""


class OptionLimits(NamedTuple):
    """The sizes of a platform's controls, in units."""

    button: int
    """A button's label, which no client truncates up to this length."""
    label: int
    """An option's label in a menu."""
    description: int
    """An option's description in a menu."""

    def fits_buttons(self, question: Question) -> bool:
        """Return True if each option is a button: they are few and short, or decide about a permission."""
        count = len(question.options)
        if question.answer_type is not AnswerType.SELECT or self.fits_sections(question):
            return False
        if question.is_approval:
            return count <= MAX_APPROVAL_BUTTONS
        described = _has_descriptions(question)
        return count <= MAX_BUTTONS and not described and self._labels_fit_buttons(question)

    def fits_sections(self, question: Question) -> bool:
        """Return True if each option is a text with a button next to it: there are few, and some have a description."""
        few = question.answer_type is AnswerType.SELECT and len(question.options) <= MAX_SECTIONS
        return few and _has_descriptions(question)

    def is_one_click(self, question: Question) -> bool:
        """Return True if one click on an option answers."""
        return self.fits_buttons(question) or self.fits_sections(question)

    def _labels_fit_buttons(self, question: Question) -> bool:
        return all(fits_line(each.label, self.button) for each in question.options)

    def needs_text_list(self, question: Question) -> bool:
        """Return True if the message lists the options as numbered text, because no control shows them in full."""
        if self.fits_sections(question):
            return not self._labels_fit_buttons(question)
        if self.fits_buttons(question):
            return _has_descriptions(question) or not self._labels_fit_buttons(question)
        return not all(map(self.fits_menu, question.options))

    def fits_menu(self, option: Option) -> bool:
        """Return True if a menu shows an option in full."""
        return fits_line(option.label, self.label) and fits_line(
            option.description or "", self.description
        )

    def option_labels(self, question: Question, indexes: Iterable[int]) -> list[str]:
        """Return the labels of options, numbered if the options are listed as text."""
        numbered = self.needs_text_list(question)
        labels = [(i, question.options[i].label) for i in indexes]
        return [f"{i + 1}. {label}" if numbered else label for i, label in labels]


def chosen_indexes(prompt: Prompt) -> list[int]:
    """Return the indexes of the options that are preselected."""
    chosen = prompt.chosen if isinstance(prompt.chosen, list) else [prompt.chosen]
    values = {value for value in chosen if isinstance(value, str)}
    return [i for i, option in enumerate(prompt.question.options) if option.value in values]


def is_several(prompt: Prompt | None) -> bool:
    """Return True if several options can be chosen."""
    return prompt is not None and prompt.question.answer_type is AnswerType.MULTI_SELECT


def selected_indexes(prompt: Prompt, chosen: Sequence[int] | None) -> tuple[int, ...]:
    """Return the options that are selected in a multi-select.

    Args:
        chosen: those chosen so far; None if nobody has changed the prefill's selection.
    """
    return tuple(chosen_indexes(prompt)) if chosen is None else tuple(chosen)


def selection_digest(selected: Sequence[int]) -> str:
    """Return a digest of the selection that a person saw, which Submit carries so that it never submits another."""
    return hashlib.blake2b(",".join(map(str, selected)).encode(), digest_size=8).hexdigest()


def option_line(option: Option) -> str:
    """Return an option as an entry of a list."""
    label = one_line(option.label)
    return f"{label} — {option.description}" if option.description else label


def _has_descriptions(question: Question) -> bool:
    return any((each.description or "").strip() for each in question.options)
