"""The actions that controls stand for on the ask as it stands, where the message does not say them whole. Pure."""

from __future__ import annotations

from answerback.core.ask import Ask
from answerback.core.form import AnswerType
from answerback.core.view import View
from answerback.core.walker import Action, Answer, Edit
from answerback_chat.controls import Control, Verb
from answerback_discord.parse import Interaction


def action_of(used: Interaction, control: Control, ask: Ask, view: View) -> Action | None:
    """The action of a control at the ask's revision; None: it opens something, or is old."""
    if control.revision != ask.revision or not ask.open:
        return None
    match control.verb:
        case Verb.ANSWER:
            return _option(view, number(control))
        case Verb.CHOOSE if not is_several(view):
            return _option(view, _picked(used))
        case Verb.EDIT:
            return _edit(view, _picked(used) if used.values else number(control))
        case _:
            return None


def number(control: Control) -> int | None:
    """The index or page that a control names."""
    return digits(control.argument.partition(".")[0])


def digits(text: str) -> int | None:
    """A number that is written in digits alone."""
    return int(text) if text.isascii() and text.isdigit() else None


def is_several(view: View) -> bool:
    """Whether several options may be selected."""
    prompt = view.prompt
    return prompt is not None and prompt.question.answer_type is AnswerType.MULTI_SELECT


def _picked(used: Interaction) -> int | None:
    return digits(used.values[0]) if used.values else None


def _option(view: View, index: int | None) -> Action | None:
    options = view.prompt.question.options if view.prompt else ()
    if index is None or index >= len(options):
        return None
    return Answer(value=options[index].value)


def _edit(view: View, index: int | None) -> Action | None:
    if index is None or index >= len(view.lines):
        return None
    return Edit(question_id=view.lines[index].question.id)
