"""The texts of what people decide: endings, batches, hand over, grants, links. A part of `answerback.core.labels`."""

from __future__ import annotations

from pydantic import ConfigDict

from answerback.core.person import FrozenModel


class DecisionLabels(FrozenModel):
    """The texts about how an ask ended, batches, hand over, grants, agents that people connect, and accounts that they
    link."""

    model_config = ConfigDict(defer_build=True)
    """Only `Labels`, which has them all, is used."""

    batch: str = "Decide about what is selected"
    allow_once: str = "Allow once"
    deny: str = "Deny"
    allow_several: str = "Allow several…"
    deny_several: str = "Deny several…"
    batch_open: str = "Too long for this list. Open it to allow it."
    batch_only_deny: str = (
        "Some of what is selected is not shown in full, so you can only deny it together."
    )
    batch_left_named: str = "Not decided ({count}):"
    batch_selected: str = "{count} selected:"
    select_all: str = "Select all"
    sending: str = "Sending…"
    undo: str = "Undo"
    undo_on: str = "Undo for 5 seconds"
    undo_failed: str = "Not everything was decided. It has changed, or you have to open it."
    batch_left_ended: str = "{what}: it has ended"
    batch_left_changed: str = "{what}: it has changed since you ticked it"
    batch_left_cut: str = "{what}: open it to allow it"
    batch_left: str = "Not decided: {count}. They have changed, or you have to open them."

    denied_plainly: str = "Denied"
    denied_with_message: str = "Denied, with a message"
    denied_and_stopped: str = "Denied, and stopped"
    answered: str = "Answered"
    cancelled: str = "Ended with a reply"
    closed: str = "Closed without a message"
    closed_by: str = "{name} closed the form without a message"
    objection: str = "Rejected"
    defaults_used: str = "Defaults used: nobody answered in time"
    defaults_used_rest: str = "Defaults used for the rest: nobody answered in time"
    turn_ended: str = "Turn ended"
    expired: str = "Expired: nobody answered in time"
    expired_unconfirmed: str = "Expired: not confirmed in time"
    denied: str = "Denied at {time}: nobody had answered"
    denied_unconfirmed: str = "Denied at {time}: not confirmed in time"
    no_longer_waits: str = "{label} no longer waits for this"
    tell_to_try_again: str = "Tell the agent to try again"
    try_again_hint: str = (
        "The agent is told to try again and asks once more. Nothing is allowed yet."
    )
    told_to_try_again: str = "{name} told the agent to try again"
    collected: str = "{label} got this answer {when}"
    told: str = "{label} was told {when}"
    at_time: str = "at {time}"
    not_collected: str = "the agent has not read this yet"
    withdrawn: str = "Withdrawn by {label}"
    failed: str = "Could not be delivered"
    erased: str = "Erased: the questions and answers are no longer kept"
    by: str = "by {name}"
    questions_answered: str = "{count} questions and their answers"
    answers_count: str = "{count} answers"
    not_answered: str = "not answered"
    noted: str = "Note: {text}"
    note: str = "Note"
    add_note: str = "Add a note"
    note_with: str = "{choice}, with this note"
    note_hint: str = "The agent reads it along with your decision, even if you allow."
    note_denied_hint: str = "The agent reads it only if you deny. Otherwise it stays in the record."
    note_never_hint: str = (
        "The agent does not read it: its host has no place for it. It stays in the record."
    )
    note_answer: str = "Answer with this note"
    source_default: str = "default"
    source_config: str = "set by configuration"
    source_remembered: str = "remembered from this turn"
    source_inquiry: str = "answered by a machine"

    hand_over: str = "Hand over"
    hand_over_label: str = "To whom"
    hand_over_hint: str = "They are notified and can answer too. You still can as well."
    handed_over: str = "This was handed over to you: {label} is waiting here."
    handed_back: str = (
        "The person to whom you handed this over cannot be reached, so it stays with you: {label} is"
        " waiting here."
    )
    handed_over_to: str = "Handed over to {to} by {by}"
    record_handed_over: str = "Handed over"

    edit_about: str = (
        "The call is made with your changes, once. Whatever you leave alone stays as it was sent."
    )
    edit_elsewhere: str = (
        "This chat has no editor. Change it in your inbox on the page, or with `answerback answer`."
    )
    edited: str = "Allowed with these changes:"
    edited_briefly: str = "{choice}, with changes"
    allow_again: str = "Allow again for…"
    allow_longer: str = "Allow for longer…"
    allow_longer_hint: str = "Choose what else to allow from now on, and who keeps the rule."
    host_rule: str = "{label}'s own rule"
    host_rule_hint: str = "{label} keeps it and stops asking. It can only be removed there."
    grant_hint: str = "Answerback keeps this grant. It ends by itself, and you can revoke it here."
    grant_about: str = "The same agent in the same folder may do this again without asking:"
    grant_allow: str = "Allow, and allow again"
    grant_match: str = "What it may do"
    grant_minutes: str = "For how long"
    grant_uses: str = "How many times"
    grant_command: str = "Exactly this command: {text}"
    grant_prefix: str = "Commands that begin with: {text}"
    grant_file: str = "Any edit of this file: {text}"
    grant_address: str = "Anything at this address: {text}"
    grant_tool: str = "This tool with exactly these arguments: {text}"
    granted: str = "{name} allowed this again: {uses} more times, until {time}"
    granted_use: str = "Allowed by {name}'s grant, {use} of {uses} uses, until {time}"
    revoke: str = "Revoke"
    revoked: str = "{name} revoked the grant"
    grants_title: str = "Allowed for a while"
    grant_row: str = "{agent} in {folder}, until {time}, {use} of {uses} uses, by {name}"
    source_grant: str = "allowed by a grant"

    connect_agent: str = "Connect an agent"
    agents_title: str = "Your agents"
    agents_all: str = "Agents that people have connected"
    agents_none: str = "You have not connected any agents."
    agent_row: str = "{name}: {program} on {machine}, from {address}, until {date}"
    agent_owner: str = "of {name}"
    code: str = "Code"
    connect_about: str = "Connect an agent with the code that it shows"
    agents_about: str = "See and remove the agents that you have connected"
    code_hint: str = (
        "Type the code that `answerback connect` shows in your own terminal. Never type one that "
        "someone has sent you."
    )
    connect_program: str = "{program} wants to ask people questions as your agent."
    connect_machine: str = "It says it runs on “{machine}”."
    connect_address: str = "The request came from {address}."
    connect_address_reported: str = "The request came from {address}, as the proxy reports."
    connect_terms: str = (
        "It can ask on the route {route} in your name for {days} days. It cannot answer."
    )
    connect_warning: str = (
        "Approve this only if you have just started it yourself. If someone sent you this code, "
        "deny it: the agent would be theirs, and ask in your name."
    )
    approve: str = "Approve"
    connect_approved: str = "Approved. {program} gets its token within a few seconds."
    connect_denied: str = "Denied. {program} gets no token."
    connect_forbidden: str = (
        "You may not connect agents here. The operator can allow it (`onboarding.owners`)."
    )
    connect_operator: str = (
        "The operator's key cannot connect agents, because it stands for no particular person. Use "
        "your personal link, or sign in."
    )
    connect_unsure: str = (
        "Answerback could not check just now whether you may connect agents. Try again in a moment."
    )
    connect_too_often: str = "There were too many wrong codes. Try again in ten minutes."
    connect_unknown: str = (
        "No program is waiting for this code. A code is valid for ten minutes and can be used "
        "once: start again to get a new one."
    )
    connect_full: str = (
        "You have reached the limit of agents for one person. Remove one of them first."
    )

    link_command: str = "Link this account to your page, with the code that it shows"
    link_by_link: str = "Whoever opens {name}'s personal link can then answer as you."
    link_by_proxy: str = "Whoever signs in as {name} can then answer as you."
    link_ask_account: str = (
        "Confirm only if you are {name} and made this code. If someone gave it to you, cancel."
    )
    link_both: str = "Yes, {name} is me"
    link_agreed: str = "Now confirm it where you got the code. Until then nothing is linked."
    link_cancelled: str = "Nothing was linked, and the code is no longer valid."
    link_bad_code: str = (
        "This code is not valid. A code is valid for 15 minutes, and for one account."
    )
    link_taken: str = (
        "This account is already linked to a person. They, or the operator, can remove that link."
    )
    link_gone: str = "Nothing was linked: the account is already linked to a person, or the code is no longer valid."
    link_too_many: str = "There were too many wrong codes. Try again in an hour."
    link_title: str = "Accounts"
    link_accounts: str = "Accounts that you answer with, besides this page"
    link_none: str = "No account is linked to this page yet."
    link_about: str = (
        "Link your own account in a chat: what waits for it is then listed here too, and you can "
        "answer with either."
    )
    link_start: str = "Link an account"
    link_code: str = "In the chat where you use the account to link, type this within 15 minutes:"
    link_waits: str = "This page shows when it has been typed."
    link_ask_page: str = (
        "{account} has typed your code. Whoever uses that account can then answer as you, {name}."
    )
    link_ask_yours: str = (
        "Link it only if it is your own. For the first 24 hours it cannot confirm other people's "
        "answers."
    )
    link_accept: str = "Link it"
    link_reject: str = "It is not mine"
