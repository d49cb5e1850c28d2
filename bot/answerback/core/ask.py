"""The ask: one tool call waiting for people, with its walk, its destination and its outcome.

Its transitions are pure: they return the new ask and the record's entries. Times are seconds since the epoch (UTC).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Literal, NamedTuple

from pydantic import JsonValue

from answerback.core import walker
from answerback.core.actions import (
    Action,
    Answer,
    Back,
    Confirm,
    Next,
    Object,
    Other,
    Reply,
    Submit,
)
from answerback.core.asides import UNOPENED, Aside, EpochSeconds, QuestionOpening
from answerback.core.attendance import Attendance as Attendance
from answerback.core.collection import Collection as Collection
from answerback.core.edited_call import digest_of
from answerback.core.files import AttachedFile
from answerback.core.form import Form, Question, options_json
from answerback.core.given_answer import weakest_source
from answerback.core.giving_up import GaveUp, TriedAgain
from answerback.core.grants import GrantChange, GrantNote
from answerback.core.outcome import Outcome as Outcome
from answerback.core.outcome import Reason as Reason
from answerback.core.outcome import Status as Status
from answerback.core.people import NOBODY_KNOWN, People
from answerback.core.placement import AbandonedMessage as AbandonedMessage
from answerback.core.placement import ConfirmerCopy as ConfirmerCopy
from answerback.core.placement import Destination as Destination
from answerback.core.placement import HandedOver as HandedOver
from answerback.core.placement import PlaceBefore as PlaceBefore
from answerback.core.placement import Placement as Placement
from answerback.core.placement import Thread as Thread
from answerback.core.question_markdown import MARKS, asked_text
from answerback.core.request import DEFAULT_ASKER as DEFAULT_ASKER
from answerback.core.request import Escalation as Escalation
from answerback.core.request import OtherAccount as OtherAccount
from answerback.core.request import Request as Request
from answerback.core.request import ToolResult as ToolResult
from answerback.core.schedule import Schedule as Schedule
from answerback.core.walker import Person, Phase, Refused, Source, StrictDataclass, Walk
from answerback_base.headline_text import fit

ANYONE: Final = "anyone"
"""The responder that stands for everyone who can see the prompt."""
LISTED: Final = ""
"""The place of a person who acts in a list of asks, which may be of chats that they cannot see."""


@dataclass(frozen=True, kw_only=True)
class Ask(StrictDataclass):
    """One ask, as stored. ``revision`` counts the changes made by people and the clock."""

    id: str
    created_at: EpochSeconds
    updated_at: EpochSeconds
    request: Request
    placement: Placement
    walk: Walk
    schedule: Schedule = field(default=Schedule())
    attendance: Attendance = field(default=Attendance())
    collection: Collection = field(default=Collection())
    revision: int = 1
    outcome: Outcome | None = None
    last_actor: Person | None = None
    """Who acted last; named to a person whose click came too late."""
    last_action_revision: int = 0
    """The revision that their action made."""
    unreachable_accounts: int = 0
    """The number of its owner's accounts at which nobody could be reached, so that it was sent to the next one."""
    mismatches: int = 0
    """Times that the live message was found to differ from what was recorded: deleted, or out of date."""
    copies: tuple[ConfirmerCopy, ...] = ()
    """The copies in the own chats of people who may confirm its answers, and cannot see it where it is."""
    is_copy: bool = False
    """True for an ask as one of them sees it; never stored."""
    opening: QuestionOpening = UNOPENED
    asides: tuple[Aside, ...] = ()
    """The questions that people asked back, each with the agent's explanation, oldest first."""
    retry_request: TriedAgain | None = None
    """A person's request to try again what nobody had allowed in time."""
    grant: GrantNote | None = None
    """The grant that was made with the answer, or that allowed this."""
    erased_at: EpochSeconds | None = None
    """When its content was erased; None if it was not."""

    @property
    def rendered_state(self) -> tuple[int, bool, int, float | None]:
        """The values that decide whether the ask has to be shown again."""
        return (
            self.revision,
            self.attendance.agent_left,
            self.mismatches,
            self.collection.read_by_agent_at,
        )

    @property
    def status(self) -> Status:
        return self.outcome.status if self.outcome else Status.OPEN

    @property
    def form(self) -> Form:
        return self.request.form

    @property
    def open(self) -> bool:
        return self.outcome is None

    @property
    def is_to_post(self) -> bool:
        """True if people are to see it even if they have not yet: it is open, or a grant has allowed it."""
        return self.open or bool(self.grant and self.grant.number and not self.erased_at)

    @property
    def _other_account(self) -> OtherAccount | None:
        """The account that it was sent to after others; None: it was sent to the first."""
        refused = self.unreachable_accounts
        return self.request.other_accounts[refused - 1] if refused else None

    @property
    def escalation(self) -> Escalation | None:
        """The rule for when nobody answers."""
        account = self._other_account
        return self.request.escalation if account is None else account.escalation

    @property
    def allowed_recipients(self) -> tuple[str, ...] | None:
        """The ids of those to whom responders may hand it over, by its route; None: to nobody."""
        account = self._other_account
        return self.request.allowed_recipients if account is None else account.allowed_recipients

    @property
    def to_retire(self) -> AbandonedMessage | None:
        """The message left behind, if it has yet to become a note."""
        left = self.placement.old_message
        return left if left and left.until is None else None

    @property
    def is_moving(self) -> bool:
        """True if it is not settled at its place: it may still return, or its old message still looks open."""
        return self.placement.place_before is not None or self.to_retire is not None

    @property
    def presence_lapses_at(self) -> float | None:
        """When the agent counts as gone, unless it waits again; None if its presence does not lapse."""
        began = self.created_at - self.schedule.clock_set_back
        seconds = self.attendance.wait_seconds
        return None if seconds is None else began + seconds

    @property
    def question(self) -> Question | None:
        """The current question; None in review and once the ask has ended."""
        return current_question(self.request.form, self.walk) if self.outcome is None else None

    @property
    def decided_by(self) -> tuple[Person, ...]:
        """The people who have answered, submitted or confirmed, and who ended it: to them it belongs."""
        ended_by = self.outcome and self.outcome.ended_by
        return (*self.walk.decided_by, *((ended_by,) if ended_by else ()))

    @property
    def confirming(self) -> bool:
        """True while the answers wait for people to confirm them."""
        return self.walk.phase is Phase.CONFIRMATION and self.outcome is None

    @property
    def may_have_copies(self) -> bool:
        """True if people may have to see it in chats of their own: those who confirm its answers, or did."""
        return bool(self.copies) or self.confirming

    @property
    def waits_for(self) -> tuple[str, ...]:
        """The ids of those whom the ask waits for: those who may confirm its answers, or else those who may answer."""
        place = self.placement
        is_limited = place.confirmers or place.confirmers_elsewhere
        return place.confirmers if self.confirming and is_limited else place.responders

    @property
    def actors(self) -> tuple[str, ...]:
        """The ids of those who may do anything now: in the confirmation, those who may answer or confirm."""
        return self.participants if self.confirming else self.placement.responders

    def actors_at(self, place: str | None, *, answering: bool) -> tuple[str, ...]:
        """Return the ids of those who may act, or only of those who may answer, at a place or in a list.

        A list does not tell who sees the channel of an ask.
        """
        actors = self.placement.responders if answering else self.actors
        if place == LISTED and self.placement.destination.channel is not None:
            return tuple(each for each in actors if each != ANYONE)
        return actors

    def is_asked_in(self, place: str | None) -> bool:
        """Return True if a person acted in the chat of the ask's message, or of a copy, or in a list.

        In another chat they were asked something else.
        """
        message, before = self.placement.message, self.placement.place_before
        if place is None or place == LISTED or (message or {}).get("channel") == place:
            return True
        left = before.placement if before is not None and before.is_closed else None
        shown = (each.message or {} for each in (left, *self.copies) if each)
        return any(message.get("channel") == place for message in shown)

    @property
    def participants(self) -> tuple[str, ...]:
        """The ids of those who may answer or confirm."""
        return tuple(dict.fromkeys((*self.placement.responders, *self.placement.confirmers)))

    @property
    def reminders(self) -> tuple[float, ...]:
        """When reminders are due, in seconds from creation; a confirmation and a hand over are told at once."""
        after = self.request.remind_after
        if self.schedule.recipient_ids or self.confirming:
            after = (0.0, *after)
        return tuple([self.schedule.reminders_restarted_at + seconds for seconds in after])

    def next_due(self) -> float | None:
        """Return when the next timed step of this ask is due (seconds since the epoch), or None."""
        if self.outcome is not None:
            return None
        due = (
            self.schedule.expires_at,
            self.presence_lapses_at,
            self.escalates_at,
            self.slow_work_at,
        )
        return min([at for at in due if at is not None], default=None)

    @property
    def slow_work_at(self) -> float | None:
        """When work is due that depends on others: an inquiry, or the next reminder; None: there is none left."""
        began = self.created_at - self.schedule.clock_set_back
        if self.schedule.awaits_inquiry:
            return began
        number, reminders = (
            self.schedule.reminders_done - self.schedule.reminders_done_before,
            self.reminders,
        )
        return began + reminders[number] if number < len(reminders) else None

    @property
    def escalates_at(self) -> float | None:
        """When an open ask is escalated; None: never, or not before a move has ended and its old message is a note."""
        escalation = self.escalation if self.unreachable_accounts else self.request.escalation
        if escalation is None or self.schedule.escalated or self.is_moving:
            return None
        return self.created_at - self.schedule.clock_set_back + escalation.after


PARTS: Final = {
    "placement": Placement,
    "schedule": Schedule,
    "attendance": Attendance,
    "collection": Collection,
}
"""The values of an ask that are replaced as a whole, by the name of their field."""


@dataclass(frozen=True, slots=True)
class RecordEntry:
    """One entry of the record, which is append-only and numbered by the store."""

    at: EpochSeconds
    kind: Literal[
        "request", "answered", "backed", "postponed", "confirmed", "objected", "handed_over", "cancelled", "clarify",
        "context", "ended", "delivery", "note",
    ]  # fmt: skip
    question_id: str | None = None
    by: Person | None = None
    body: dict[str, JsonValue] = field(default_factory=dict)


class Change(NamedTuple):
    """The new state of an ask, the record entries for the change, and what becomes of a grant."""

    ask: Ask
    entries: tuple[RecordEntry, ...]
    grant: GrantChange | None = None


def current_question(form: Form, walk: Walk) -> Question | None:
    """Return the current question, or None in review and at the end."""
    if walk.phase != Phase.QUESTION or walk.at is None:
        return None
    return form.questions[walk.at]


def request_entry(ask: Ask, at: float) -> tuple[RecordEntry, ...]:
    """Return the record entry for the current question; nothing in review and at the end."""
    question = ask.question
    if question is None:
        return ()
    tool = question.tool or ask.form.tool
    body: dict[str, JsonValue] = {
        "question": question.text,
        "context": question.context,
        "answer_type": str(question.answer_type),
        "options": options_json(question.options) if question.options else None,
        "default": question.default,
        "exclusive": question.exclusive,
        "persistence": str(question.persistence),
        "source": {"tool": tool} if tool else "assistant",
    }
    return (RecordEntry(at=at, kind="request", question_id=question.id, body=body),)


def apply_action(
    ask: Ask,
    action: Action,
    *,
    at: float,
    by: Person | None,
    source: Source = Source.HUMAN,
    people: People = NOBODY_KNOWN,
) -> Change | Refused:
    """Apply an action to an open ask, which may end it."""
    walk = walker.step(ask.form, ask.walk, action, by=by, source=source, at=at, people=people)
    if isinstance(walk, Refused):
        return walk
    outcome = None if walk.open else _outcome(walk, at, by)
    schedule = ask.schedule
    if schedule.awaits_inquiry:
        schedule = replace(schedule, awaits_inquiry=False)
    moved = replace(
        ask,
        walk=walk,
        outcome=outcome,
        revision=ask.revision + 1,
        updated_at=at,
        last_actor=by or ask.last_actor,
        last_action_revision=ask.revision + 1 if by else ask.last_action_revision,
        schedule=schedule,
        opening=UNOPENED,
    )
    if walk.phase is not ask.walk.phase and moved.confirming is not ask.confirming:
        restarted = replace(
            restart_reminders(ask, at),
            awaits_inquiry=False,
            recipient_ids=(),
            hand_over_failed=False,
        )
        moved = replace(moved, schedule=restarted)
    following = (_ended_entry(moved, outcome),) if outcome else request_entry(moved, at)
    return Change(moved, _response_entry(ask, action, walk, at, by) + following)


def restart_reminders(ask: Ask, at: float) -> Schedule:
    """Return the schedule of an ask whose reminders start again; the numbers of all before count as used."""
    number = ask.schedule.reminders_done_before + len(ask.reminders)
    since = at - ask.created_at + ask.schedule.clock_set_back
    return replace(
        ask.schedule,
        reminders_done=number,
        reminders_done_before=number,
        reminders_restarted_at=since,
    )


def _outcome(walk: Walk, at: float, by: Person | None) -> Outcome:
    status = Status(walk.phase.value)
    return Outcome(
        status=status,
        at=at,
        ended_by=by,
        source=weakest_source(walk.answers) if status is Status.ANSWERED else None,
        reason=Reason.USER if status in {Status.CANCELLED, Status.TURN_ENDED} else None,
    )


def end_ask(
    ask: Ask,
    status: Status,
    *,
    at: float,
    reason: Reason,
    message: str | None = None,
    gave_up: GaveUp | None = None,
) -> Change:
    """End an ask without a person's answer: as expired, withdrawn or failed."""
    outcome = Outcome(status=status, at=at, reason=reason, message=message, gave_up=gave_up)
    done = replace(ask, outcome=outcome, revision=ask.revision + 1, updated_at=at)
    done = replace(done, schedule=replace(done.schedule, awaits_inquiry=False), opening=UNOPENED)
    cancelled: tuple[RecordEntry, ...] = ()
    if ask.question is not None:
        why: dict[str, JsonValue] = {"reason": reason.value}
        cancelled = (RecordEntry(at=at, kind="cancelled", question_id=ask.question.id, body=why),)
    return Change(done, (*cancelled, _ended_entry(done, outcome)))


def _response_entry(
    ask: Ask, action: Action, walk: Walk, at: float, by: Person | None
) -> tuple[RecordEntry, ...]:
    if (question := ask.question) is None:
        return _entry_without_question(ask, action, walk, at, by)
    if isinstance(action, (Answer, Other)):
        given = walk.answer(question.id)
        assert given is not None, f"{ask.id}: the answer to {question.id} was not collected"
        body: dict[str, JsonValue] = {
            "value": given.value,
            "remembered": given.remembered,
            "other": given.other,
            "source": str(given.source),
        }
        if given.note is not None:
            body["note"] = given.note
        if given.files:
            body["files"] = _files_body(given.files)
        if (edited := given.edited) is not None:
            body["edited"] = {
                "arguments": json.loads(edited.arguments),
                "written": edited.arguments,
                "digest": digest_of(edited.arguments),
                "difference": edited.difference,
            }
        return (RecordEntry(at=at, kind="answered", question_id=question.id, by=by, body=body),)
    if isinstance(action, Back):
        return (RecordEntry(at=at, kind="backed", question_id=question.id, by=by),)
    if isinstance(action, Next):
        return (RecordEntry(at=at, kind="postponed", question_id=question.id, by=by),)
    body = {"reason": Reason.USER.value}
    return (RecordEntry(at=at, kind="cancelled", question_id=question.id, by=by, body=body),)


def _entry_without_question(
    ask: Ask, action: Action, walk: Walk, at: float, by: Person | None
) -> tuple[RecordEntry, ...]:
    """The record entry for what a person did with answers that wait for confirmation, or who had them wait for it."""
    entry = partial(RecordEntry, at=at, by=by)
    match action:
        case Confirm():
            return (entry(kind="confirmed"),)
        case Object() | Reply() if ask.confirming:
            return (entry(kind="objected", body={"text": walk.reply}),)
        case Back() if ask.confirming:
            return (entry(kind="backed"),)
        case Submit() if walk.phase is Phase.CONFIRMATION:
            return (entry(kind="note", body={"submitted": True}),)
    return ()


def _files_body(files: tuple[AttachedFile, ...]) -> list[JsonValue]:
    """Return what the record keeps of files that a person sent."""
    names = {"id", "name", "media_type", "bytes", "sha256"}
    return [each.model_dump(mode="json", include=names) for each in files]


def _ended_entry(ask: Ask, outcome: Outcome) -> RecordEntry:
    body: dict[str, JsonValue] = {"status": outcome.status.value}
    if ask.walk.reply is not None:
        body["reply"] = ask.walk.reply
    if ask.walk.reply_files:
        body["files"] = _files_body(ask.walk.reply_files)
    if outcome.reason is not None:
        body["reason"] = outcome.reason.value
    if outcome.gave_up is not None:
        body["gave_up"] = outcome.gave_up.value
    return RecordEntry(at=outcome.at, kind="ended", by=outcome.ended_by, body=body)


def headline_of(form: Form) -> str:
    """Return the headline of a form, its first question's; empty after an erasure."""
    if not form.questions:
        return ""
    first = form.questions[0]
    return fit(asked_text(form, first) if MARKS.search(first.text) else first.text)
