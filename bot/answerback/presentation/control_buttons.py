"""The buttons that are alike in every chat: how they are called, what they do, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from answerback.core.form import AnswerType, OptionKind, Question
from answerback.core.labels import Labels
from answerback.core.view import Control, Prompt, View
from answerback.presentation.option_controls import OptionLimits, chosen_indexes
from answerback.presentation.text_fitting import shorten
from answerback_base.sanitize import one_line


class Verb(StrEnum):
    """The effect of using a control."""

    ANSWER = "answer"
    """Answer at once. Argument: ``true``, ``false`` or the 0-based index of an option."""
    REMEMBER = "remember"
    """Answer, and reuse the answer for the rest of this turn. Argument: ``true`` or ``false``."""
    CHOOSE = "choose"
    """A menu: the choice comes in the platform's payload. Argument: the page, if there are several."""
    SUBMIT_SELECTION = "take"
    """Submit what is chosen in the message's menus or checkboxes."""
    OTHER = "other"
    """Open the input for "Something else…"."""
    NOTE = "note"
    """Open the input for a choice with a note."""
    WRITE = "write"
    """Open the input for a text answer."""
    FILL = "fill"
    """Open the input for a schema answer. Argument: the page, if there are several."""
    BACK = "back"
    ASK_BACK = "ask_back"
    """Open the input for a question to the agent."""
    HAND_OVER = "hand_over"
    """Open the input for the person to whom the ask is handed over."""
    REPLY = "reply"
    END_TURN = "end_turn"
    EDIT = "edit"
    """In review: open one answer again. Argument: the 0-based index of the question."""
    SUBMIT = "submit"
    """In review: submit the answers."""
    CONFIRM = "confirm"
    """Confirm the answers."""
    OBJECT = "object"
    """Open the input for an objection to the answers."""
    PAGE = "page"
    """Show another page of a long list. Argument: the 0-based page."""
    SEARCH = "search"
    """Open the search of a long list."""
    SHOW_IN_FULL = "full"
    """Show shortened content in full, privately. Argument: which part, as the renderer names it."""
    USE_MESSAGE = "use"
    """Take a typed message as the answer. Argument: the platform's id of the message."""
    INBOX = "inbox"
    """Show the asks that wait for this person, privately; belongs to no ask. Argument: the page's cursor."""
    ALLOW_SEVERAL = "allow"
    """Choose in the inbox what to allow together, or allow it. Argument: the page's cursor, or a digest of ticks."""
    DENY_SEVERAL = "deny"
    """Choose in the inbox what to deny together, or deny it. Argument: as above."""
    TICK = "tick"
    """Tick a permission in the inbox, to be decided together with others."""
    EDIT_CALL = "edit_call"
    """Open the input for a call that is allowed with changes."""
    GRANT = "grant"
    """Open the input for what is allowed again."""
    REVOKE = "revoke"
    """Revoke what was allowed again."""
    TRY_AGAIN = "again"
    """Open the input for what an agent is told that should try again what nobody allowed in time."""
    PREVIEW = "preview"
    """Show an option's preview, privately. Argument: the 0-based index of the option."""
    COMMAND = "command"
    """Carry out a command that was typed; belongs to no ask. Argument: what follows its name."""
    RUN = "run"
    """Carry out the command of a button below an answer to one; belongs to no ask. Argument: as above."""


class PlannedButton(NamedTuple):
    """A button, before a platform renders it."""

    label: str
    """In one line, with what people could not see made visible."""
    verb: Verb
    argument: str = ""
    is_primary: bool = False
    is_danger: bool = False


def answer_buttons(prompt: Prompt, labels: Labels) -> list[PlannedButton]:
    """Return what answers a question without options, or opens the input for its answer."""
    match prompt.question.answer_type:
        case AnswerType.BOOLEAN:
            return _yes_no_buttons(prompt, labels)
        case AnswerType.TEXT:
            return [PlannedButton(labels.answer, Verb.WRITE, is_primary=True)]
        case AnswerType.SCHEMA:
            return [PlannedButton(labels.fill_in, Verb.FILL, is_primary=True)]
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            return []


def option_buttons(prompt: Prompt, limits: OptionLimits) -> list[PlannedButton]:
    """Return a button for each option; the message shows in full what is too long for one."""
    question, chosen = prompt.question, chosen_indexes(prompt)
    names = limits.option_labels(question, range(len(question.options)))
    return [
        option_button(question, shorten(one_line(name), limits.button), i, chosen)
        for i, name in enumerate(names)
    ]


def option_button(
    question: Question, name: str, index: int, chosen: Sequence[int]
) -> PlannedButton:
    denies = question.options[index].kind is OptionKind.DENY
    return PlannedButton(name, Verb.ANSWER, str(index), index in chosen, denies)


def free_text_buttons(prompt: Prompt, labels: Labels, *, takes_note: bool) -> list[PlannedButton]:
    """Return what opens the input for an answer that is not an option, or for a note with the choice."""
    planned = []
    if prompt.question.other:
        is_primary = prompt.other_text is not None
        label = one_line(prompt.other_label(labels))
        planned.append(PlannedButton(label, Verb.OTHER, "", is_primary))
    if takes_note:
        is_primary = prompt.note is not None
        planned.append(PlannedButton(labels.answer_with_note, Verb.NOTE, "", is_primary))
    return planned


def _yes_no_buttons(prompt: Prompt, labels: Labels) -> list[PlannedButton]:
    yes, no = labels.yes_no(consent=prompt.question.consent)
    planned = [
        PlannedButton(name, Verb.ANSWER, value, is_primary=prompt.prefill is meant)
        for name, value, meant in ((yes, "true", True), (no, "false", False))
    ]
    if prompt.remember:
        planned.append(PlannedButton(labels.yes_for_turn, Verb.REMEMBER, "true"))
        planned.append(PlannedButton(labels.no_for_turn, Verb.REMEMBER, "false"))
    return planned


def walk_buttons(view: View, labels: Labels) -> list[PlannedButton]:
    """Return Allow again and Edit, then what moves through the questions or ends them, then Hand over."""
    reply, end_turn = labels.reply_and_end(deny=view.approval, plan=view.plan)
    named = {
        Control.CONFIRM: PlannedButton(labels.confirm, Verb.CONFIRM, is_primary=True),
        Control.OBJECT: PlannedButton(labels.object, Verb.OBJECT),
        Control.BACK: PlannedButton(labels.back, Verb.BACK),
        Control.ASK_BACK: PlannedButton(labels.ask_back, Verb.ASK_BACK),
        Control.REPLY: PlannedButton(reply, Verb.REPLY),
        # Not red: its confirmation is.
        Control.END_TURN: PlannedButton(end_turn, Verb.END_TURN),
    }
    planned = [named[each] for each in view.controls]
    if view.editable:
        planned.insert(0, PlannedButton(labels.edit_call, Verb.EDIT_CALL))
    if view.grants:
        planned.insert(0, PlannedButton(labels.allow_again, Verb.GRANT))
    if view.recipients is not None:
        planned.append(PlannedButton(labels.hand_over, Verb.HAND_OVER))
    return planned


def more_buttons(view: View, labels: Labels, more: str | None) -> list[PlannedButton]:
    """Return what shows more of an ask, and what can be done about one that has ended.

    Args:
        more: the label of the button that shows everything in full; None if the message does.
    """
    more = more or (labels.details if view.approval else None)
    planned = [PlannedButton(more, Verb.SHOW_IN_FULL, "0")] if more else []
    if view.can_revoke:
        planned.append(PlannedButton(labels.revoke, Verb.REVOKE))
    if view.can_try_again:
        planned.append(PlannedButton(labels.tell_to_try_again, Verb.TRY_AGAIN))
    return planned
