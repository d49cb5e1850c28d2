"""Why the walker refuses an action: each reason has a code of its own, a sentence, and a place in the request."""

from __future__ import annotations

from typing import Final, NamedTuple

from answerback.core.errors import Problem


class Refusal(NamedTuple):
    """Why an action is not possible: its code and a sentence, which may have a gap to fill in."""

    code: str
    message: str
    pointer: str = "/action"

    def problem(self, *details: str) -> Problem:
        """Return the problem to report, with the details in the gaps of its sentence."""
        message = self.message.format(*details)
        return Problem(pointer=self.pointer, code=self.code, message=message)


ENDED: Final = Refusal("ended", "This ask has ended; it can no longer be changed.")
NO_OPEN_QUESTION: Final = Refusal(
    "no_open_question", "No question is open: submit the answers, or edit one of them."
)
QUESTION_OPEN: Final = Refusal(
    "question_open", "There is nothing to submit yet: a question is still open."
)
NOT_IN_REVIEW: Final = Refusal(
    "not_in_review", "Answers can only be edited in the review; use Back here."
)
NOT_EDITABLE: Final = Refusal(
    "not_editable",
    "This question has no answer that can be edited; these have one: {}.",
    "/question_id",
)
NOTHING_TO_GO_BACK_TO: Final = Refusal(
    "nothing_to_go_back_to", "There is no earlier answer to go back to."
)
NOTHING_TO_MOVE_ON_TO: Final = Refusal(
    "nothing_to_move_on_to", "There is no other question to move on to: answer this one first."
)
CANNOT_BE_REMEMBERED: Final = Refusal(
    "cannot_be_remembered",
    "This answer cannot be remembered: the question does not offer that.",
    "/remember",
)
REPLY_NEEDS_TEXT: Final = Refusal(
    "reply_needs_text", "A reply needs text here: type what the agent should know.", "/text"
)
TAKES_NO_OTHER_TEXT: Final = Refusal(
    "takes_no_other_text", "This question takes only one of its options, no other text."
)
OPTION_OR_TEXT: Final = Refusal(
    "option_or_text",
    "A single choice takes either one option or other text, not both.",
    "/value",
)
TAKES_NO_NOTE: Final = Refusal(
    "takes_no_note", "This question takes an answer without a note.", "/note"
)
CANNOT_ASK_BACK: Final = Refusal("cannot_ask_back", "The agent cannot be asked back here.")
TAKES_NO_EXPLANATION: Final = Refusal(
    "takes_no_explanation",
    'This ask takes no explanation: submit it with "accepts": ["clarify"].',
    "/text",
)
NOTHING_TO_EXPLAIN: Final = Refusal(
    "nothing_to_explain", "No question is open: people are checking their answers.", "/text"
)
NOT_AN_APPROVAL: Final = Refusal(
    "not_an_approval", "This ask is a question, which people may still answer.", "/decision"
)
NOT_APPROVED: Final = Refusal(
    "not_approved", "Nobody has allowed this, so there is nothing to consume.", ""
)
CONSUMED: Final = Refusal("consumed", "This approval was consumed before.", "")
NOT_IN_A_BATCH: Final = Refusal(
    "not_in_a_batch",
    "Other people must confirm this decision, so it cannot be part of a batch.",
    "/decision",
)
NO_SUCH_OPTION: Final = Refusal(
    "no_such_option",
    "This ask does not have exactly one option that does this. Open it to decide.",
    "/decision",
)
NOTHING_KNOWN: Final = Refusal(
    "nothing_known",
    "The agent's program did not say what it will do. Open the ask to allow it all the same; over the API, say so with "
    '"unseen": true.',
    "/unseen",
)
FILES_NOT_SHOWN: Final = Refusal(
    "files_not_shown",
    "The agent sent files with this, which no list shows. Open it to allow it.",
    "/decision",
)
NOT_GRANTABLE: Final = Refusal(
    "not_grantable", "This cannot be allowed again: the prompt does not offer it.", "/grant"
)
EDITED: Final = Refusal(
    "edited",
    "A person changed this call before they allowed it. Consume it by the digest of the changed one: "
    'send {{"edited": "{}"}}.',
    "/edited",
)
NOT_EDITED: Final = Refusal(
    "not_edited", "This call was allowed as the agent sent it: leave out edited.", "/edited"
)
NO_GRANT: Final = Refusal("no_grant", "There is no grant to revoke here any more.")
NOTHING_TO_TRY_AGAIN: Final = Refusal(
    "nothing_to_try_again", "Only an approval that nobody answered in time can be tried again."
)
TRIED_AGAIN: Final = Refusal("tried_again", "The agent has already been told to try again.")
TOO_LATE_TO_TRY_AGAIN: Final = Refusal(
    "too_late_to_try_again",
    "This ended more than a day ago, so the agent can no longer be told to try again.",
)
CONFIRMATION_DUE: Final = Refusal(
    "confirmation_due",
    "The answers are complete and wait for confirmation: confirm them, or object.",
)
NOTHING_TO_CONFIRM: Final = Refusal(
    "nothing_to_confirm", "There is nothing to confirm or to object to here."
)
ALREADY_ANSWERED: Final = Refusal(
    "already_answered", "Those who gave an answer cannot confirm it: another person must."
)
ALREADY_CONFIRMED: Final = Refusal(
    "already_confirmed", "This person has confirmed already: each person counts once."
)
STANDS_IN: Final = Refusal(
    "stands_in",
    "Whoever stands in for somebody who is away does not confirm what that person answered, nor the other way round: "
    "another person has to.",
)
NOT_AN_ANSWERER: Final = Refusal(
    "not_an_answerer", "Only those who gave the answers can take them back. Object instead."
)
NOBODY_IN_PARTICULAR: Final = Refusal(
    "nobody_in_particular",
    "The service's own key belongs to no particular person, so it cannot confirm. Use a personal link.",
    "/actor",
)
REQUESTER: Final = Refusal(
    "requester",
    "The agent asks on behalf of this person, so another person must confirm.",
    "/actor",
)
NOT_TOLD_APART: Final = Refusal(
    "not_told_apart",
    "This may be a person who has answered or confirmed with another account, or whose agent asks. Ask the operator to "
    "add them to [people].",
    "/actor",
)
NOT_IN_DIRECTORY: Final = Refusal(
    "not_in_directory",
    "[people] lists nobody who has this id and one on {}.",
    "/actor",
)
NOT_A_CONFIRMER: Final = Refusal("not_a_confirmer", "This person may not confirm here.", "/actor")
LINKED_RECENTLY: Final = Refusal(
    "linked_recently",
    "This account was linked less than 24 hours ago, so it confirms nothing yet.",
    "/actor",
)
NO_ALLOWED_RECIPIENTS: Final = Refusal(
    "no_ceiling", "The route of this ask does not list who may answer, so it cannot be handed over."
)
NOT_AN_ALLOWED_RECIPIENT: Final = Refusal(
    "responders_forbidden", "This person may not answer here: the route does not list them.", "/to"
)
NOT_A_RECIPIENT: Final = Refusal(
    "not_a_taker", "Name one other person with an account where this is asked.", "/to"
)
NOT_A_PERSON: Final = Refusal(
    "not_a_person",
    'Nobody who can be asked here has the id "{}". Choose a person from the list, or check the id.',
    "/to",
)
STILL_MOVING: Final = Refusal(
    "still_moving", "This was handed over just now and is still being moved. Try again in a moment."
)
FORBIDDEN: Final = frozenset(
    each.code
    for each in (
        NOBODY_IN_PARTICULAR,
        REQUESTER,
        NOT_TOLD_APART,
        NOT_A_CONFIRMER,
        LINKED_RECENTLY,
        STANDS_IN,
    )
)
"""The codes of refusals that are about who the person is, not about what they do."""
