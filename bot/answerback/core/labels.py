"""All texts that surfaces show, in English. Each can be overridden by its key under ``labels.*``."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationInfo, field_validator

from answerback.core.decision_labels import DecisionLabels
from answerback.core.errors import CommitUnknownError, StoreError, UnreadableRowError
from answerback.core.form import NoteReach
from answerback.core.format_labels import FormatLabels
from answerback.core.label_placeholders import check_label
from answerback.core.message_labels import MessageLabels


class Labels(DecisionLabels, MessageLabels, FormatLabels):
    """The texts of controls, headings and notes. ``{…}`` in a label is a placeholder, filled in on use.

    Validation rejects a blank label, and one with a placeholder that its English text does not have.
    """

    # controls
    yes: str = "Yes"
    no: str = "No"
    accept: str = "Accept"
    decline: str = "Decline"
    yes_for_turn: str = "Yes, for this turn"
    no_for_turn: str = "No, for this turn"
    back: str = "Back"
    ask_back: str = "Ask for details"
    reply: str = "Reply"
    send: str = "Send"
    end_turn: str = "End Turn"
    deny_with_message: str = "Deny with a message"
    keep_planning: str = "Keep planning, with a message"
    deny_and_stop: str = "Deny and stop"
    submit: str = "Submit"
    confirm: str = "Confirm"
    object: str = "Reject"
    edit: str = "Edit"
    answer: str = "Answer"
    fill_in: str = "Fill in"
    other: str = "Something else…"
    answer_with_note: str = "Answer with a note…"
    choose: str = "Choose…"
    choose_hint: str = "Type an option, or its number in the list."
    search: str = "Search…"
    previous: str = "Previous"
    next: str = "Next"
    continue_: str = "Continue"
    cancel: str = "Cancel"
    close: str = "Close"
    keep_going: str = "Keep going"
    none_chosen: str = "(none)"
    details: str = "Show in full"
    show_all_lines: str = "Show all {n} lines"
    preview: str = "Preview"
    original: str = "Original text"
    as_written: str = "Original text:"
    folder: str = "Folder: {folder}"
    sent_call: str = "The call of {tool} as it was sent:"
    # headings and text within messages
    asks: str = "{label} asks"
    asked: str = "{label} asked"
    urgent: str = "Urgent"
    not_urgent: str = "Not urgent"
    assistant: str = "the assistant"
    nothing_known: str = "{label} did not say what it will do."
    asked_unattended: str = (
        "{label} asked this and has gone on without an answer. It will still get yours"
    )
    for_whom: str = "For {who}"
    for_anyone: str = "Anyone with access can answer"
    for_people: str = "For the people who were asked ({count})"
    and_more: str = "and {count} more"
    closes: str = "closes {time}"
    given_by: str = "Answered by {who}"
    waited: str = "after {time}"
    somebody: str = "someone"
    review_title: str = "Check your answers"
    review_text: str = "Edit what is wrong, then submit."
    confirm_title: str = "Confirm this?"
    confirm_waiting: str = "Waiting for a confirmation"
    confirm_by: str = "It can be confirmed by {who}."
    confirm_text: str = "Another person has to confirm what was answered."
    confirm_first: str = "After you, another person has to confirm this."
    confirm_first_more: str = "After you, {count} other people have to confirm this."
    confirm_more: str = "{count} more people have to confirm what was answered."
    confirm_stand_ins: str = (
        "Nobody who is named can confirm this: they stand in for each other. Hand it over to another person, or go "
        "Back and let another person answer."
    )
    confirm_unreachable: str = "Of those who may confirm, {count} cannot be reached."
    confirmed_by: str = "Confirmed by {who}"
    object_label: str = "Why do you reject it?"
    object_hint: str = (
        "This ends the form without a confirmation: {label} gets your message instead."
    )
    confirm_hidden: str = "Only those who were asked can read this yet."
    confirm_reminder: str = "{label} has an answer here that needs your confirmation."
    answered_so_far: str = "Answers so far"
    answered_earlier: str = "… and {count} earlier"
    reply_title: str = "Reply"
    reply_label: str = "Your message to {label}"
    reply_hint: str = "This closes the form: {label} gets your message instead of answers."
    deny_hint: str = "{label} is told no, with your message."
    keep_planning_hint: str = "{label} keeps planning, and reads your message."
    ask_back_label: str = "What should {label} explain?"
    ask_back_hint: str = "The question stays open, and the explanation will appear below it."
    asked_back: str = "{name} asked: {text}"
    explained: str = "{label} explained:"
    explaining: str = "{label} has been asked to explain. You can still answer in the meantime."
    other_label: str = "Your answer"
    keeps_text: str = "The text is too long to edit here. Leave this empty to keep it as it is."
    other_blank: str = "The text is blank. Type something, or press Esc to go back."
    other_with: str = "Sent together with what you ticked ({count}): {text}"
    other_replaces: str = "Your own answer replaces what you ticked."
    other_unticked: str = (
        "You wrote something under “{other}” but did not tick it. Tick it to send your text, or clear the "
        "text."
    )
    note_label: str = "A note to go with your choice"
    json_label: str = "Your answer, as JSON"
    json_shape: str = "It has this shape: {shape}"
    end_turn_title: str = "End the turn?"
    end_turn_text: str = "{label} stops here and gets no answer."
    deny_and_stop_text: str = "This is denied, and {label} stops here."
    recommended: str = "recommended"
    chosen: str = "chosen"
    optional: str = "optional"
    prefilled: str = "Pre-filled: {text}"
    prefilled_replaceable: str = "Pre-filled: {text} (options that you tick replace it)"
    nothing_found: str = "Nothing matches “{text}”."
    found: str = (
        "{count} match “{text}”; the first {shown} are shown. Type more to narrow the list."
    )
    page_of: str = "Page {page} of {pages}"
    kept_going: str = "You chose to keep going."
    taken: str = "Thank you. The questions continue here:"
    taken_elsewhere: str = "Thank you. The questions continue in a new message."

    # the page
    inbox_title: str = "Waiting for an answer"
    inbox_views: str = "Lists"
    inbox_waiting: str = "Waiting"
    history_title: str = "History"
    history_empty: str = "Nothing found."
    history_unused: str = "Nothing here yet."
    more_pages: str = "More"
    newer: str = "Newer"
    oldest: str = "Oldest"
    find: str = "Search"
    find_waiting: str = "Search what is waiting"
    find_any: str = "Search the history"
    filters: str = "Filters"
    filters_clear: str = "Clear"
    filter_any: str = "Any"
    filter_mine: str = "Answered by you"
    filter_status: str = "Status"
    filter_agent: str = "Agent"
    filter_project: str = "Project"
    filter_by: str = "Answered by"
    filter_from: str = "Asked on or after (UTC)"
    filter_to: str = "Asked on or before (UTC)"
    filter_wrong_date: str = "Enter dates like 2026-11-22."
    status_open: str = "Open"
    record_title: str = "Record"
    record_asked: str = "Asked"
    record_default: str = "Default used"
    record_unanswered: str = "Not answered"
    record_asked_back: str = "Asked for details"
    record_explained: str = "Explained"
    record_ended: str = "Ended"
    record_delivery: str = "Webhook"
    record_note: str = "Note"
    record_confirmed: str = "Confirmed"
    record_objected: str = "Rejected"
    asked_elsewhere: str = "This question was asked elsewhere. Answer it there."
    go_there: str = "Go there"
    inbox_empty: str = "Nothing is waiting for an answer."
    inbox_empty_mine: str = (
        "Nothing is waiting for you in particular. Questions open to anyone ({count}): {where}"
    )
    inbox_command: str = "Questions from all agents that are waiting for your answer"
    commands: str = "What you can do here besides answering"
    no_commands: str = "There are no commands here. Answer questions in their messages."
    inbox_late: str = "Looking up what is waiting for you took too long. Please try again."
    inbox_hint: str = "New questions appear here automatically. To try it, submit one from a shell:"
    waits_since: str = "since {time}"
    recently_answered: str = "Recently answered"
    open_message: str = "Open"
    older: str = "Older"
    newest: str = "Newest"
    all_questions: str = "All questions"
    age_now: str = "just now"
    ago: str = "{time} ago"
    seconds: str = "{n} s"
    minutes: str = "{n} min"
    hours: str = "{n} h"
    days: str = "{n} d"
    answer_schema: str = "Required format"
    schema_itself: str = "The format as a JSON Schema"
    more_ways: str = "More"
    files: str = "Files"
    raw_request: str = "Raw request"
    more_waiting: str = "{count} more waiting"
    keys_title: str = "Keys"
    key_move: str = "Open the next or the one before"
    key_tick: str = "Tick or untick"
    key_undo: str = "Undo, while your decision is being sent"
    cut_off: str = "This is not shown in full. Open all of it first, then decide."
    keys_press: str = "Press a number, then Enter."
    keys_choose: str = "Press a number to choose."
    keys_answer: str = "Ctrl+Enter sends your answer."
    keys_move: str = "The left and right arrow keys move between the questions."
    answer_later: str = "Answer later"
    answer_later_unsent: str = (
        "You have not sent your answer yet. Send it, or remove it to answer later."
    )
    context: str = "Context"
    question: str = "Question"
    more_below: str = "More below"
    unseen: str = (
        "This contains characters that are invisible or change the order of the text. Spelled out:"
    )
    please_fix: str = "Please fix this:"
    moved_on: str = "Something else is asked now. What you entered is still here."
    refresh: str = "Refresh"
    inbox_moved: str = "This list has changed."
    unreachable: str = (
        "Answerback cannot be reached. What you entered stays here and is sent when it is back."
    )
    do_not_send: str = "Do not send"
    page_away: str = "Answerback cannot be reached."
    page_again: str = "Try again"
    sign_in_again: str = (
        "This address works only in the tab where you signed in. Sign in to open it here."
    )
    notify: str = "Notify me on this device"
    devices: str = "Devices that get notifications"
    devices_none: str = (
        "No device gets notifications yet. Turn them on beside the list of what is waiting."
    )
    remove: str = "Remove"
    row: str = "Row"
    """Followed by its number."""
    add_row: str = "Add a row"
    remove_row: str = "Remove row"
    attach: str = "Attach files"
    attached: str = "Attached files"
    attach_hint: str = (
        "Or drop or paste them here, up to 10 MB each. Location and device data are removed from "
        "pictures."
    )
    attach_in_chat: str = "Up to 10 MB each. Location and device data are removed from pictures."
    attach_again: str = "Attach these again if they still belong to your answer: {names}"
    attach_too_large: str = "{name} is too large: a file may have at most {most} MB."
    attach_failed: str = "{name} could not be sent. Attach it again."
    attach_unreadable: str = (
        "{name} could not be read. Attach it again, or send your answer without it."
    )
    waits: str = "A question from {label} is waiting."
    waits_urgently: str = "An urgent question from {label} is waiting."
    entered: str = "What you wrote:"
    edit_call: str = "Edit, then allow"
    edit_call_hint: str = "You change it, read the difference, and allow that."
    edit_show: str = "Show the difference"
    edit_as_json: str = "Edit all as JSON"
    edit_json: str = "All arguments, as JSON"
    edit_difference: str = "What you have changed"
    edit_allow: str = "{choice}, with these changes"
    edit_unchanged: str = "Nothing is changed yet."
    comment_hint: str = "Press a line of the plan to comment on it."
    comment_on: str = "Comment on: {line}"
    comment_remove: str = "Remove the comment"
    comments: str = "Comments: {count}. They go with your decision."
    comments_deny: str = "Comments: {count}. Only {deny} sends them."
    comments_not_taken: str = "Your comments cannot go with this. Remove them, or press {deny}."
    share_title: str = "Share"
    share: str = "Read-only link: anyone who has it can read this, but not answer"
    share_without_script: str = (
        "Share this link and not the address above: without JavaScript, that one answers as you."
    )
    copy_link: str = "Copy link"
    copied: str = "Copied"
    page_expired: str = (
        "The key of this page is no longer valid, so nothing was sent. Enter your key below, then answer "
        "again."
    )
    page_refused: str = (
        "This was not sent from Answerback's own page, so nothing was changed. Open the page itself"
        " and answer there."
    )
    page_too_large: str = (
        "This is too long for Answerback to accept, so nothing was changed. Go back and shorten it."
    )
    you_are: str = "Signed in as {name}"
    known_key: str = "key"
    known_link: str = "personal link"
    known_proxy: str = "signed in"
    key_elsewhere: str = (
        "This key opens the inbox only on the machine where Answerback runs. To answer a question here, open its"
        " link."
    )
    sign_in: str = "Sign in"
    sign_in_title: str = "Sign in to Answerback"
    sign_in_with: str = "Sign in with your organization"
    sign_out: str = "Sign out"
    sign_out_here: str = "Sign out here"
    sign_out_everywhere: str = "Sign out everywhere"
    sign_out_provider: str = "Sign out at {host}, too"
    signed_out: str = "You are signed out. You can close this page."
    oidc_waiting: str = "You are being signed in."
    oidc_no_script: str = "Signing in needs JavaScript."
    oidc_failed: str = (
        "You are not signed in: this sign-in did not begin in this tab, or took too long."
    )
    oidc_unknown: str = (
        "You are not signed in, as you are not among the people who may. Ask the operator to add this id to `people`:"
        " {id}"
    )
    oidc_unavailable: str = (
        "You are not signed in: your organization's sign-in cannot be reached. Try again later."
    )
    oidc_too_many: str = (
        "You are not signed in: too many people are signing in just now. Try again in a minute."
    )
    key_needed: str = "You need your key to answer."
    key_label: str = "Your key"
    key_hint: str = (
        "Your personal link contains it. If you run Answerback, `answerback key` prints yours. "
        "Never give it to an agent."
    )
    key_wrong: str = (
        "This key is not valid. Ask for a new personal link, "
        "or run `answerback key` if you are the operator."
    )
    link_invalid: str = (
        "This link is invalid or has been revoked. Ask for a new personal link, or enter your key."
    )
    page_not_found: str = "Page not found"
    page_problem: str = "That did not work"
    page_missing: str = "This page does not exist, or its question is gone."

    # private notes to one person
    too_late: str = "{name} was faster, and something else is asked now. Nothing was changed."
    too_late_own: str = "You have already answered this, so nothing was changed."
    too_late_unknown: str = "Something else is asked now. Nothing was changed."
    out_of_date: str = (
        "The message that you used was out of date, so nothing was changed. "
        "The current question is: {question}"
    )
    has_ended: str = "These questions have ended ({how}). Nothing was changed."
    nothing_to_stop: str = (
        "No question is open here, so there is nothing to end. The agent continues its work."
    )
    not_allowed: str = "Only {who} may answer here. Nothing was changed."
    moved_to_people: str = "This question has moved to {who}. Nothing was changed."
    not_sent: str = "Your message was not sent: {reason}"
    for_others: str = "Only {who} may answer this."
    those_asked: str = "the people who were asked"
    unchecked: str = (
        "Answerback could not check just now whether you may answer here. Nothing was changed: please try "
        "again."
    )
    not_found: str = "Answerback no longer has this question. Nothing was changed."
    no_button: str = "Enter sends nothing here. Press the button that you mean."
    choose_first: str = "Nothing is chosen yet: choose an option, then press {submit}."
    selection_changed: str = (
        "The selection has changed since you saw it, so nothing was submitted. The message now shows the "
        "current selection: please check it, then press {submit} again."
    )
    press_again: str = "It could not be opened just now. Please press the button again."
    which_one: str = (
        "Several questions were open here when you wrote that, so your message was not used as an answer. Use the"
        " buttons on the one you mean."
    )
    which_one_thread: str = (
        "Several questions were open here when you wrote that, so your message was not used as an answer. Write in"
        " the thread of the one you mean, or use its buttons."
    )
    which_one_quote: str = (
        "Several questions were open here when you wrote that, so your message was not used as an answer. Write it"
        " again as a reply to the message of the one you mean, or use its buttons."
    )
    nothing_open: str = "No question is open here, so your message was not used as an answer."
    text_missing: str = (
        "Your message has no text. Write your answer in one message, together with files if you want, or use the "
        "controls."
    )
    text_for_boolean: str = "This question takes {yes} or {no}. Write just that, or press a button."
    text_for_select: str = (
        "Your message matches none of the options, so nothing was changed. Write one option's label or its "
        "number, or use the controls."
    )
    text_for_other: str = (
        "“{text}” is for an answer of your own: write that answer, or use the controls."
    )
    text_for_multi_select: str = (
        "Not everything you wrote matches an option, so nothing was changed. Write labels or numbers, "
        "separated by commas, or use the controls."
    )
    text_ambiguous: str = (
        "{text} is ambiguous: it can mean more than one thing here. Nothing was chosen; use the "
        "controls."
    )
    text_for_schema: str = (
        "You cannot answer this question by typing. Press {fill_in} below the question."
    )
    text_in_confirmation: str = (
        "The answers are waiting for confirmation: press {confirm} or {object}."
    )
    text_in_review: str = (
        "No question is open: press {submit} to send the answers, or {edit} to change one."
    )
    text_too_early: str = (
        "You wrote that before “{question}” was on the screen, so it was not used; answer now."
    )
    text_before_shown: str = (
        "The next question is not on the screen yet: “{question}”. Your message was not used; answer when it"
        " appears."
    )
    text_untimed: str = (
        "Answerback cannot tell whether you wrote that before or after this question was asked, so your "
        "message was not used as an answer. Please use the controls."
    )
    about_message: str = "About your message {link}:"
    text_not_saved: str = (
        "Your message could not be saved just now, so it was not used. Answer again in a moment."
    )
    use_text: str = "Use as the answer"
    offer_text: str = (
        "If that was your answer to “{question}”, press {use_text}. Otherwise just carry on: only you see "
        "this."
    )
    try_again: str = (
        "Answerback could not save that just now, and nothing was changed. Please try again."
    )
    unavailable: str = "Answerback cannot read its database just now. Please try again."
    unsure: str = (
        "Something went wrong, and Answerback cannot tell whether that was saved. Check the question"
        " before you try again."
    )
    unreadable: str = (
        "Answerback can no longer read this question, and nothing was changed. The operator can find the "
        "reason in the log."
    )
    reminder: str = "{label} is still waiting for an answer here."
    escalated: str = "This question has moved to {where}."
    place_page: str = "its own page"

    def yes_no(self, *, consent: bool) -> tuple[str, str]:
        """Return the labels of a boolean question's buttons."""
        return (self.accept, self.decline) if consent else (self.yes, self.no)

    def reply_and_end(self, *, deny: bool, plan: bool) -> tuple[str, str]:
        """Return the labels of Reply and End Turn, which deny where permission is asked for."""
        if not deny:
            return self.reply, self.end_turn
        return self.keep_planning if plan else self.deny_with_message, self.deny_and_stop

    def hint_of_reply(self, *, deny: bool, plan: bool) -> str:
        """Return what a Reply does, which is said beside its text."""
        if not deny:
            return self.reply_hint
        return self.keep_planning_hint if plan else self.deny_hint

    def hint_of_note(self, reach: NoteReach) -> str:
        """Return where a note that goes with a choice stays; empty where the agent reads it."""
        match reach:
            case NoteReach.ALWAYS:
                return ""
            case NoteReach.DENIED:
                return self.note_denied_hint
            case NoteReach.NEVER:
                return self.note_never_hint

    def save_error_message(self, error: Exception) -> str:
        """Return the message for a person whose action failed, claiming no more than is known."""
        if isinstance(error, UnreadableRowError):
            return self.unreadable
        if isinstance(error, StoreError) and not isinstance(error, CommitUnknownError):
            return self.try_again
        return self.unsure

    @field_validator("*")
    @classmethod
    def _check_label(cls, label: str, info: ValidationInfo) -> str:
        return check_label(label, cls.model_fields[info.field_name or ""].default)


ENGLISH: Final = Labels()
"""The labels of a service that configures none."""
