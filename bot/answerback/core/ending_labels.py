"""The texts that say how an ask ended: a part of `answerback.core.labels`."""

from __future__ import annotations

from answerback.core.batch_labels import BatchLabels


class EndingLabels(BatchLabels):
    """How an ask ended, what was answered, and whether its agent knows."""

    answered: str = "Answered"
    cancelled: str = "Ended with a reply"
    closed: str = "Closed without a message"
    closed_by: str = "{name} closed the form without a message"
    defaults_used: str = "Defaults used: nobody answered in time"
    defaults_used_rest: str = "Defaults used for the rest: nobody answered in time"
    turn_ended: str = "Turn ended"
    expired: str = "Expired: nobody answered in time"
    denied: str = "Denied at {time}: nobody had answered"
    no_longer_waits: str = "{label} no longer waits for this"
    tell_to_try_again: str = "Tell the agent to try again"
    try_again_hint: str = (
        "The agent is told to try again and asks once more. Nothing is allowed yet."
    )
    told_to_try_again: str = "{name} told the agent to try again"
    collected: str = "{label} got this answer {when}"
    told: str = "{label} was told {when}"
    at_time: str = "at {time}"
    not_collected: str = "not collected yet"
    withdrawn: str = "Withdrawn by {label}"
    failed: str = "Could not be delivered"
    erased: str = "Erased: the questions and answers are no longer kept"
    by: str = "by {name}"
    questions_answered: str = "{count} questions and their answers"
    answers_count: str = "{count} answers"
    not_answered: str = "not answered"
    noted: str = "Note: {text}"
    note: str = "Note"
    source_default: str = "default"
    source_config: str = "set by configuration"
    source_remembered: str = "remembered from this turn"
    source_inquiry: str = "answered by a machine"
