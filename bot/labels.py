"""Every word that a surface shows of its own accord: English here, and each one a key of the configuration (``labels.*``)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Labels(BaseModel):
    """The words of controls, headings and notes. ``{…}`` in a word is filled in where it is used."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # controls
    yes: str = "Yes"
    no: str = "No"
    yes_for_turn: str = "Yes, for this turn"
    no_for_turn: str = "No, for this turn"
    back: str = "Back"
    reply: str = "Reply"
    end_turn: str = "End Turn"
    submit: str = "Submit"
    edit: str = "Edit"
    answer: str = "Answer"
    fill_in: str = "Fill in"
    other: str = "Something else…"
    choose: str = "Choose…"
    search: str = "Search…"
    previous: str = "Previous"
    next: str = "Next"
    continue_: str = "Continue"
    cancel: str = "Cancel"
    close: str = "Close"
    none_chosen: str = "(none)"
    details: str = "Show in full"
    preview: str = "Preview"

    # headings and what is filled in
    asks: str = "{label} asks"
    review_title: str = "Check your answers"
    review_text: str = "Edit what is wrong, then submit."
    answered_so_far: str = "So far"
    reply_title: str = "Reply"
    reply_label: str = "Your words for {label}"
    reply_hint: str = "Ends the questions. {label} gets your words instead of answers."
    other_label: str = "Your answer"
    json_label: str = "Your answer, as JSON"
    end_turn_title: str = "End the turn?"
    end_turn_text: str = "{label} stops here and gets no answer."
    recommended: str = "recommended"
    optional: str = "optional"
    page_of: str = "Page {page} of {pages}"

    # how it ended
    answered: str = "Answered"
    cancelled: str = "Ended with a reply"
    cancelled_without_words: str = "Ended without an answer"
    turn_ended: str = "Turn ended"
    expired: str = "Expired: nobody answered in time"
    withdrawn: str = "Withdrawn by {label}"
    failed: str = "Could not be asked"
    by: str = "by {name}"
    not_answered: str = "not answered"
    source_default: str = "default"
    source_config: str = "set by configuration"
    source_remembered: str = "remembered from this turn"
    source_inquiry: str = "answered by a machine"

    # private notes to a person
    too_late: str = (
        "{name} was faster: this question has been answered. Nothing was changed by your click."
    )
    too_late_unknown: str = (
        "This question has moved on in the meantime. Nothing was changed by your click."
    )
    has_ended: str = "These questions have ended ({how}). Nothing was changed."
    not_allowed: str = "Only {who} may answer here. Nothing was changed."
    not_found: str = "Answerback does not know this question any more. Nothing was changed."
    try_again: str = "Answerback could not save that just now. Nothing was lost: please try again."
    reminder: str = "{label} is still waiting for an answer here."
    escalated: str = "This question has been handed on to {where}."
