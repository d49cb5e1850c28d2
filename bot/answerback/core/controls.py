"""The controls of a prompt besides its answers, and how an answer is remembered."""

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
    if ask.outcome is not None:
        return ()
    asks_back = (Control.ASK_BACK,) if ask.request.accepts and can_ask_back(ask) else ()
    if ask.confirming:
        back = (Control.BACK,) if ask.walk.answerers else ()
        return (Control.CONFIRM, Control.OBJECT, *back, *asks_back, Control.END_TURN)
    back = (Control.BACK,) if walker.can_go_back(ask.request.form, ask.walk) else ()
    return (*back, *asks_back, Control.REPLY, Control.END_TURN)


def memory_key(ask: Ask) -> tuple[str, str, str, str, str] | None:
    """Return what an answer is remembered by for the turn: agent, conversation, turn, tool and the question's digest.

    None if it cannot be: the question has to offer it, and the turn to have an id.
    """
    request = ask.request
    if request.conversation is None or request.turn is None:
        return None
    question = ask.question
    if question is None or not question.can_be_remembered:
        return None
    agent, tool = request.agent or "", ask.form.tool or ""
    digest = ask.form.digest_of(question, request.files)
    return agent, request.conversation, request.turn, tool, digest


def offers_to_remember(ask: Ask) -> bool:
    """Return whether people may have an answer remembered: one that others have yet to confirm must not count alone."""
    return ask.request.form.confirmation is None and memory_key(ask) is not None
