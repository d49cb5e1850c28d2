"""Checks of forms that several people decide: each attempt, and the proof that the record must then give."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]
Account = tuple[str, str]
"""A surface, and an id there."""

SECRET: Final = "sesame"
"""A part of every text that somebody answers with, so that a leak can be seen."""
ACCOUNTS: Final[dict[str, list[Account]]] = {
    "ann": [("web", "ann"), ("slack", "U0ANN")],
    "bob": [("web", "bob"), ("discord", "200")],
    "cy": [("web", "cy")],
    "dee": [("web", "dee"), ("slack", "U0DEE")],
    "eve": [("web", "eve")],
    "fay": [("web", "fay")],
}
"""Everybody's accounts."""
REQUESTER: Final = "dee"
"""The person whose agent it is."""
CONFIRMERS: Final = {"pair": {"ann", "bob", "cy", "fay"}, "board": {"bob", "cy", "eve"}}
"""Who may confirm on each route, whatever was escalated and handed over."""
HUMANS: Final = {account: human for human, all_of in ACCOUNTS.items() for account in all_of}
"""Whose account it is."""
_REPORTED: Final = ("status", "answers", "confirmed_by", "ended_by", "tool_result")
"""The fields that every report of an ended ask has. Only people are told answers that were not confirmed."""


@dataclass
class Attempt:
    """An action that somebody tried, in which phase, and if it was accepted; None: nobody knows."""

    account: Account
    phase: str
    action: Json
    accepted: bool | None = False

    @property
    def line(self) -> tuple[Account, str, object] | None:
        """The line that the record must have if it was accepted, as `_line` reads it; None: none of its own."""
        name, text = self.action["action"], self.action.get("text")
        match name:
            case "answer" | "other":
                return self.account, "answered", text or self.action["value"]
            case "back" if self.phase != "review":
                return self.account, "backed", None
            case "ask_back" | "object":
                return self.account, {"ask_back": "clarify", "object": "objected"}[name], text
            case "reply" | "end_turn" if self.phase == "question":
                return self.account, "cancelled", None
            case "confirm" | "hand_over" | "submit":
                kinds = {"confirm": "confirmed", "hand_over": "handed_over", "submit": "submitted"}
                return self.account, kinds[name], None
            case _:
                return None


@dataclass
class Decision:
    """A form about which several people decide."""

    name: str
    route: str
    due: int
    id: str
    attempts: list[Attempt] = field(default_factory=list)
    outcomes: dict[str, Json] = field(default_factory=dict)
    """The end of the form, by the way in which somebody was told."""

    def must_not_tell(self, body: object, where: str) -> None:
        """Assert that what the agent read before the end has no answer in it."""
        text = json.dumps(body)
        assert SECRET not in text, f"{where} told an answer of {self.name}: {text}"


def verify(decision: Decision, record: list[Json]) -> None:
    """Assert that the record proves what must hold, and that everybody was told the same outcome.

    Raises:
        AssertionError: something was decided by too few or the wrong people, lost, counted twice, or told differently.
    """
    about = f"{decision}: {record}"
    ends = [line["ended"] for line in record if line["type"] == "ended"]
    assert len(ends) == 1, f"{len(ends)} outcomes of {about}"
    outcomes = {way: {key: ask[key] for key in _REPORTED} for way, ask in decision.outcomes.items()}
    outcome = outcomes.pop("stored")
    to_agent = outcome if outcome["status"] == "answered" else {**outcome, "answers": {}}
    assert all(each == to_agent for each in outcomes.values()), f"different outcomes of {about}"
    assert outcome["status"] == ends[0]["status"], about
    tried = [each for each in decision.attempts if each.line is not None]
    accepted: Counter[object] = Counter(each.line for each in tried if each.accepted)
    unknown: Counter[object] = Counter(each.line for each in tried if each.accepted is None)
    stored: Counter[object] = Counter(line for line in map(_line, record) if line is not None)
    assert accepted <= stored, f"lost {accepted - stored} in {about}"
    assert stored - accepted <= unknown, f"invented {stored - accepted} in {about}"
    votes = _votes(decision, record, about)
    if outcome["status"] == "answered" and set(outcome["answers"].values()) != {"deny"}:
        assert len(votes) == decision.due, f"{len(votes)} confirmations of {about}"
        confirmed = [_account(each) for each in outcome["confirmed_by"]]
        assert confirmed == votes, f"{confirmed} are said to have confirmed {about}"


def _line(line: Json) -> tuple[Account, str, object] | None:
    """Return the action that a line of the record ascribes to somebody; None if no person did it."""
    kind: str = line["type"]
    body: Json = line.get(kind) or {}
    if kind == "response":
        [(kind, body)] = line["response"].items()
    if kind == "note" and "submitted" in body:
        kind = "submitted"
    if body.get("by") is None or kind in {"ended", "note"}:
        return None
    detail = {"answered": "value", "clarify": "text", "objected": "text"}.get(kind)
    return _account(body["by"]), kind, body[detail] if detail else None


def _votes(decision: Decision, record: list[Json], about: str) -> list[Account]:
    """The confirmations that count at the end; assert that each was somebody's who might give it then."""
    answered: dict[str, Json | None] = {}
    submitter: Json | None = None
    votes: list[Account] = []
    for line in record:
        response = line.get("response") or {}
        if "answered" in response:
            answered[line["question_id"]] = response["answered"]["by"]
        if response or line["type"] == "context":
            votes = []  # the answers have changed, or what they were given on
        if "submitted" in (line.get("note") or {}):
            submitter = line["note"]["by"]
        if line["type"] != "confirmed":
            continue
        by = line["confirmed"]["by"]
        assert by is not None, f"a machine confirmed: {about}"
        assert by.get("known") != "key", f"nobody in particular confirmed: {about}"
        human, given = HUMANS[_account(by)], [*answered.values(), submitter]
        assert human in CONFIRMERS[decision.route], f"who may not confirmed: {about}"
        assert human not in {HUMANS[each] for each in votes}, f"somebody confirmed twice: {about}"
        own = {HUMANS[_account(each)] for each in given if each is not None}
        assert human not in own, f"somebody confirmed their own answer: {about}"
        votes.append(_account(by))
    return votes


def _account(person: Json) -> Account:
    return person["surface"], person["user_id"]
