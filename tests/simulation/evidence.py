"""The evidence of a simulation, as seen from outside. The invariants judge nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.machine import EPOCH

if TYPE_CHECKING:
    from tests.simulation.chat import Shown
    from tests.simulation.devices import Device

Json = dict[str, Any]

_ROUNDING: Final = 0.01
"""Seconds by which times in the API may be rounded."""
_SWEPT: Final = 60.0
"""Seconds within which the sessions of whom the settings cease to list have ended, if nothing goes wrong."""
_CLOCK_ERROR: Final = 240.0
"""The most seconds by which two clocks differ, one of which a fault has set."""
_MOVING: Final = frozenset({"answer", "write", "back", "submit"})
"""The controls that bring an ask to its next revision, or are refused with a note."""


@dataclass
class Plan:
    """An ask that an agent submits."""

    key: str
    """Its idempotency key."""
    at: float
    body: Json
    responders: frozenset[str]
    due: int = 0
    """The number of other people who have to confirm."""
    patience: float | None = None
    """Seconds after which its agent stops waiting, to come back later; None: it waits as long as it takes."""
    has_webhook: bool = False
    withdraws: bool = False
    """True if the agent withdraws it when it stops waiting."""
    way: str | None = None
    """The host by which it is asked; None: by the API."""
    pictures: tuple[str, ...] = ()
    """The names of the pictures that it comes with."""


@dataclass
class Report:
    """Something that an agent was told about an ask."""

    at: float
    way: str
    ask: Json
    webhook_id: str = ""


@dataclass
class Attempt:
    """A person's try of a control of a message."""

    person: str
    ask_id: str
    revision: int
    verb: str
    argument: str
    began: float
    question: str | None
    """The question that its message asked."""
    text: str | None = None
    acknowledged_at: float | None = None
    """When the chat told the person that the app took it."""
    notes: int = 0
    """Private notes to the person that followed."""
    act: str | None = None
    """The name that the record has to give it, if that does not follow from the control."""
    files: tuple[str, ...] = ()
    """The names of the files that came with it."""
    on_page: bool = False
    """True if it was a button of a page."""

    @property
    def is_told(self) -> bool:
        """True if what a person is told is whether it was accepted, as everywhere but in a chat."""
        return self.on_page or self.act is not None

    @property
    def is_decided_later(self) -> bool:
        """True if the chat tells the person before it is decided: FILE-23."""
        return bool(self.files) and self.act is None


@dataclass
class Told:
    """The text by which a host told its model an outcome."""

    at: float
    text: str
    by_call: bool
    """True if the call itself was told, and not what the agent did next."""


@dataclass
class Read:
    """A file that somebody read who perhaps must not."""

    file_id: str
    token: str
    began: float
    ended: float


@dataclass
class SessionUse:
    """The use of a session by its person, who has signed in on the page."""

    person: str
    session_began: float
    signed_out_at: float | None
    """When the person had been told that they have signed out."""
    began: float
    ended: float
    is_accepted: bool
    """True if the page was shown, or what they did was accepted."""


@dataclass(frozen=True)
class GivenGrant:
    """A grant, as somebody tried to give it along with an answer."""

    by: str
    uses: int


@dataclass
class Evidence:
    """Everything that was seen from outside."""

    plans: dict[str, Plan] = field(default_factory=dict)
    reports: dict[str, list[Report]] = field(default_factory=dict)
    """By the key of the plan, in the order in which it arrived."""
    keys: dict[str, str] = field(default_factory=dict)
    """The key of each ask's plan, by the ask's id."""
    attempts: list[Attempt] = field(default_factory=list)
    sent_with_files: list[Attempt] = field(default_factory=list)
    """Forms with files that people sent in the chat, which said that the app took them."""
    broken: list[str] = field(default_factory=list)
    """The faults that were seen at the moment they happened."""
    seen: dict[str, int] = field(default_factory=dict)
    """The last revision of an ask that its message showed to somebody."""
    ended: set[str] = field(default_factory=set)
    """The asks of which an agent has been told how they ended."""
    asks: dict[str, Json] = field(default_factory=dict)
    """The asks as the service gives them in the end, by id."""
    records: dict[str, list[Json]] = field(default_factory=dict)
    deliveries: list[Json] = field(default_factory=list)
    receipts: dict[str, Json] = field(default_factory=dict)
    receipt_keys: Json = field(default_factory=dict)
    """The JSON Web Key Set of those that sign receipts."""
    finished: set[str] = field(default_factory=set)
    """The keys of the plans whose agents know the outcome."""
    consumed: Counter[str] = field(default_factory=Counter)
    """The number of times that an agent was told that an approval is now used, by ask."""
    handed: dict[str, dict[str, float]] = field(default_factory=dict)
    """To whom somebody tried to hand an ask over, and when first."""
    grants: dict[str, list[GivenGrant]] = field(default_factory=dict)
    """The grants that people tried to give, by the asks with whose answers they did."""
    revoked: dict[str, float] = field(default_factory=dict)
    """When people were told that a grant allows nothing any more."""
    edits: dict[str, set[str]] = field(default_factory=dict)
    """The commands to which people tried to change an ask's."""
    erasures: set[str] = field(default_factory=set)
    """The asks that the operator tried to erase."""
    messages: dict[str, list[Shown]] = field(default_factory=dict)
    """The messages in the chat in the end, by the ask that they show."""
    reminders: dict[str, list[str]] = field(default_factory=dict)
    """The names of the reminders in the chat, by ask."""
    results: dict[str, list[Told]] = field(default_factory=dict)
    """By the key of the plan."""
    allowed: dict[str, bool] = field(default_factory=dict)
    """True if a hook allowed the call with answers, by the key of the plan."""
    known_files: dict[str, None] = field(default_factory=dict)
    """The ids of the files that a front end has seen, in the order in which it saw them."""
    reads: list[Read] = field(default_factory=list)
    fetched: int = 0
    """The number of times that an agent fetched a file that a person had sent."""
    file_digests: dict[str, str] = field(default_factory=dict)
    """The digests of what people read of each file in the end."""
    shown_pictures: dict[str, list[str]] | None = None
    """The digests of the pictures that the chat shows in the end, by ask; None if nobody knows."""
    kept_pictures: list[str] = field(default_factory=list)
    """The digests of the pictures that the chat has in the end."""
    deleted: set[str] = field(default_factory=set)
    """The asks of which somebody deleted a message."""
    missing: dict[str, float] = field(default_factory=dict)
    """When the message of an ask was seen to be missing that somebody had deleted long before."""
    accounts: dict[str, str] = field(default_factory=dict)
    """The ids of people in the chat, by their further accounts."""
    devices: list[Device] = field(default_factory=list)
    """The devices on which people are notified."""
    session_uses: list[SessionUse] = field(default_factory=list)
    failed_sign_ins: list[tuple[float, str]] = field(default_factory=list)
    """When a sign-in failed, and how."""
    unlisted: list[tuple[float, frozenset[str]]] = field(default_factory=list)
    """The accounts that the settings of the service certainly do not list, and from when on."""
    troubles: list[tuple[float, float]] = field(default_factory=list)
    """The times during which something went wrong."""
    clock_errors: bool = False
    """True if a clock was set: then times by different clocks cannot be compared."""
    is_calm: bool = False
    """True if nothing went wrong."""
    errors: list[str] = field(default_factory=list)
    """The errors that the service logged, or that reached the event loop."""
    kills: int = 0

    @property
    def tolerance(self) -> float:
        """Seconds by which times in the API may differ from those at which something was seen."""
        return _CLOCK_ERROR if self.clock_errors else _ROUNDING

    def who(self, account: str) -> str:
        """Return the id that the person of an account has in the chat."""
        return self.accounts.get(account, account)

    def was_quiet(self, since: float, until: float) -> bool:
        """Return True if nothing went wrong in a time."""
        return not any(began <= until and ended >= since for began, ended in self.troubles)

    def quiet_from(self, begun: float, soon: float, late: float) -> float:
        """Return when that is done which takes so long: soon, if nothing goes wrong, or late after what went wrong."""
        if self.was_quiet(begun - soon, begun + soon):
            return begun + soon
        after = begun
        for began, ended in sorted(self.troubles):
            if began <= after + late:
                after = max(after, ended)
        return after + late

    def was_unlisted(self, account: str, since: float, until: float) -> bool:
        """Return True if the settings did not list an account in all of a time."""
        before = [names for at, names in self.unlisted if at < since]
        during = [names for at, names in self.unlisted if since <= at <= until]
        return bool(before) and all(account in names for names in (before[-1], *during))

    def left_between(self, account: str, since: float, until: float) -> bool:
        """Return True if the settings ceased for a while to list an account, and nothing went wrong meanwhile."""
        ends = [*(at for at, _ in self.unlisted[1:]), until]
        return any(
            account in names
            and since < at
            and at + _SWEPT < min(end, until)
            and self.was_quiet(at - _SWEPT, at + _SWEPT)
            for (at, names), end in zip(self.unlisted, ends, strict=False)
        )

    def by_plan(self) -> Iterator[tuple[str, str]]:
        """Yield each plan's key with the id of its ask."""
        for key in self.plans:
            for ask_id in sorted({report.ask["id"] for report in self.reports.get(key, ())}):
                yield key, ask_id

    def tell(self, plan: Plan, report: Report) -> None:
        self.reports.setdefault(plan.key, []).append(report)
        self.keys[report.ask["id"]] = plan.key
        if report.ask["status"] != "open":
            self.ended.add(report.ask["id"])

    def known_revisions(self) -> dict[str, int]:
        """The revision that each ask has reached at least, as far as anybody knows."""
        known = dict(self.seen)
        reports = [report for each in self.reports.values() for report in each]
        reported = [(report.ask["id"], report.ask["revision"]) for report in reports]
        taken = [
            (each.ask_id, each.revision + 1)
            for each in self.attempts
            if each.acknowledged_at is not None
            and not each.notes
            and not each.is_decided_later
            and each.verb in _MOVING
            and (key := self.keys.get(each.ask_id)) is not None
            and self.who(each.person) in self.plans[key].responders
        ]
        for ask_id, revision in (*reported, *taken):
            known[ask_id] = max(known.get(ask_id, 0), revision)
        return known


def seconds_of(text: str) -> float:
    """A time of the API, in seconds since the simulation began."""
    return datetime.fromisoformat(text).timestamp() - EPOCH
