"""Words typed in a thread, as the action they stand for. Pure; what stands for nothing is left alone."""

from __future__ import annotations

import json

from bot.ask import Ask
from bot.form import AnswerType, Option, Question
from bot.labels import Labels
from bot.walker import Action, Answer, Other, Reply


def action_of(ask: Ask, text: str, labels: Labels) -> Action | None:
    """The action that ``text`` stands for at the open question of ``ask``, or None.

    A text question takes any words; a boolean its buttons' words; a select the label or the number
    of an option; a multi-select several, separated by commas; a schema question JSON. Words that
    name no option are "Something else…" or the free text, in the dialects that have them.
    """
    question = ask.question
    words = text.strip()
    if question is None or not words:
        return None
    match question.answer_type:
        case AnswerType.TEXT:
            return Answer(value=text)
        case AnswerType.BOOLEAN:
            return _boolean(words, labels)
        case AnswerType.SELECT:
            option = _option(question, words)
            return Answer(value=option.value) if option else _own_words(ask, question, text)
        case AnswerType.MULTI_SELECT:
            several = _options(question, words)
            if several is not None:
                return Answer(value=[option.value for option in several])
            return _own_words(ask, question, text)
        case AnswerType.SCHEMA:
            try:
                return Answer(value=json.loads(words))
            except (ValueError, RecursionError):
                return None


def _boolean(words: str, labels: Labels) -> Answer | None:
    folded = words.casefold()
    if folded in {labels.yes.casefold(), "yes", "y", "true"}:
        return Answer(value=True)
    if folded in {labels.no.casefold(), "no", "n", "false"}:
        return Answer(value=False)
    return None


def _option(question: Question, words: str) -> Option | None:
    """A label before a number: an option may be called "2"."""
    folded = words.casefold()
    named = [o for o in question.options if o.label.strip().casefold() == folded]
    exact = [o for o in named if o.label.strip() == words]
    if exact or len(named) == 1:
        return (exact or named)[0]
    digits = words.rstrip(".)")
    if digits.isascii() and digits.isdigit() and 1 <= int(digits[:6]) <= len(question.options):
        return question.options[int(digits[:6]) - 1]
    return None


def _options(question: Question, words: str) -> list[Option] | None:
    whole = _option(question, words)
    if whole is not None:
        return [whole]
    found = [_option(question, part.strip()) for part in words.split(",")]
    several = [option for option in found if option is not None]
    return list(dict.fromkeys(several)) if len(several) == len(found) else None


def _own_words(ask: Ask, question: Question, text: str) -> Action | None:
    if ask.form.reply_is_free_text:
        return Reply(text=text)
    return Other(text=text) if question.other else None
