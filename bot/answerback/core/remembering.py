"""Whether an answer can be remembered for the rest of the agent's turn. Pure."""

from __future__ import annotations

from answerback.core.ask import Ask


def can_remember(ask: Ask) -> bool:
    """Return whether an answer can be remembered for the turn: the question offers it, and the turn has an id."""
    request = ask.request
    if request.conversation is None or request.turn is None:
        return False
    return ask.question is not None and ask.question.can_be_remembered


def offers_to_remember(ask: Ask) -> bool:
    """Return whether people may have an answer remembered: one that others have yet to confirm must not count alone."""
    return can_remember(ask) and ask.form.confirmation is None
