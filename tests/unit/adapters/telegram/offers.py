"""The choices that the buttons of a message in Telegram offer, by their labels."""

from __future__ import annotations

from answerback.core.labels import Labels

LABELS = Labels()
OFFERS = {
    LABELS.back: "back",
    LABELS.ask_back: "ask_back",
    LABELS.hand_over: "hand_over",
    LABELS.reply: "reply",
    LABELS.end_turn: "end_turn",
    LABELS.deny_with_message: "reply",
    LABELS.keep_planning: "reply",
    LABELS.deny_and_stop: "end_turn",
    LABELS.confirm: "confirm",
    LABELS.object: "object",
    LABELS.tell_to_try_again: "try_again",
    LABELS.submit: "submit",
    LABELS.other: "other",
}
