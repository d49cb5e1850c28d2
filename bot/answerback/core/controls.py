"""What a prompt offers besides its answers: its controls, and remembering an answer."""

from __future__ import annotations

from enum import StrEnum
from itertools import product
from typing import Final

from answerback.core import walker
from answerback.core.ask import Ask
from answerback.core.clarification import can_ask_back


class Control(StrEnum):
    """The controls of a prompt other than its answers, in the order shown."""

    CONFIRM = "confirm"
    OBJECT = "object"
    BACK = "back"
    ASK_BACK = "ask_back"
    REPLY = "reply"
    END_TURN = "end_turn"


def controls_of(ask: Ask) -> tuple[Control, ...]:
    """Return the controls that an ask has now."""
    if not ask.open:
        return ()
    back = bool(ask.walk.answerers) if ask.confirming else walker.can_go_back(ask.form, ask.walk)
    asks_back = bool(ask.request.accepts) and can_ask_back(ask)
    return _CONTROLS[back, asks_back, ask.confirming]


def _controls_if(*, back: bool, ask_back: bool, confirming: bool) -> tuple[Control, ...]:
    first = (Control.CONFIRM, Control.OBJECT) if confirming else ()
    moves = (*[Control.BACK] * back, *[Control.ASK_BACK] * ask_back)
    reply = () if confirming else (Control.REPLY,)
    return (*first, *moves, *reply, Control.END_TURN)


_CONTROLS: Final = {
    flags: _controls_if(back=flags[0], ask_back=flags[1], confirming=flags[2])
    for flags in product((False, True), repeat=3)
}
"""The controls by whether one can go back, whether the agent can be asked back, and whether to confirm."""


def can_remember(ask: Ask) -> bool:
    """Return whether an answer can be remembered for the turn: the question offers it, and the turn has an id."""
    request = ask.request
    if request.conversation is None or request.turn is None:
        return False
    return ask.question is not None and ask.question.can_be_remembered


def offers_to_remember(ask: Ask) -> bool:
    """Return whether people may have an answer remembered: one that others have yet to confirm must not count alone."""
    return can_remember(ask) and ask.form.confirmation is None
