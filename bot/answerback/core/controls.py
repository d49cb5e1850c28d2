"""What a prompt offers besides its answers: its controls, and remembering an answer."""

from __future__ import annotations

from enum import StrEnum

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
    first = (Control.CONFIRM, Control.OBJECT) if ask.confirming else ()
    moves = (*[Control.BACK] * back, *[Control.ASK_BACK] * asks_back)
    reply = () if ask.confirming else (Control.REPLY,)
    return (*first, *moves, *reply, Control.END_TURN)


def memory_key(ask: Ask) -> tuple[str, str, str, str, str] | None:
    """Return what an answer is remembered by for the turn: agent, conversation, turn, tool and the question's digest.

    None if it cannot be: the question has to offer it, and the turn to have an id.
    """
    request, question = ask.request, ask.question
    if request.conversation is None or request.turn is None:
        return None
    if question is None or not question.can_be_remembered:
        return None
    agent, tool = request.agent or "", ask.form.tool or ""
    return agent, request.conversation, request.turn, tool, ask.form.digest_of(question)


def offers_to_remember(ask: Ask) -> bool:
    """Return whether people may have an answer remembered: one that others have yet to confirm must not count alone."""
    return ask.form.confirmation is None and memory_key(ask) is not None
