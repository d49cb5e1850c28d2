"""The chaos suite notices whatever breaks the rules of deciding together, and accepts what keeps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.acceptance.chaos.verdicts import Account, Attempt, Decision, verify

Json = dict[str, Any]

ANN, BOB, CY, DEE, EVE = (("web", each) for each in ("ann", "bob", "cy", "dee", "eve"))
BOB_ELSEWHERE = ("discord", "200")
ANN_ELSEWHERE = ("slack", "U0ANN")


def by(account: Account, **more: object) -> Json:
    return {"by": {"surface": account[0], "user_id": account[1]}, **more}


def answered(account: Account, value: str = "sesame 0") -> Json:
    return {"type": "response", "question_id": "q0", "response": {"answered": by(account, value=value)}}  # fmt: skip


def confirmed(account: Account) -> Json:
    return {"type": "confirmed", "confirmed": by(account)}


FIXED: Json = {
    "type": "response",
    "question_id": "q0",
    "response": {"answered": {"by": None, "value": "sesame 0"}},
}
BACKED: Json = {"type": "response", "question_id": None, "response": {"backed": by(ANN)}}
CONTEXT: Json = {"type": "context", "context": {"text": "Because", "by": None}}
SUBMITTED: Json = {"type": "note", "note": {"submitted": True, **by(CY)}}
ENDED: Json = {"type": "ended", "ended": {"status": "answered", **by(CY)}}


class Case:
    """A form that two people have to confirm, as somebody saw it go."""

    def __init__(self) -> None:
        self.decision = Decision("form", "board", 2, "ask_1")
        self.votes = [BOB, CY]
        self.record = [answered(ANN), confirmed(BOB), confirmed(CY), ENDED]
        self.tried(ANN, {"action": "answer", "value": "sesame 0"}, "question")
        self.tried(BOB, {"action": "confirm"})
        self.tried(CY, {"action": "confirm"})

    def tried(self, account: Account, action: Json, phase: str = "confirmation") -> None:
        self.decision.attempts.append(Attempt(account, phase, action, accepted=True))

    def replaced(self, number: int, account: Account) -> None:
        """Somebody else confirmed, and was told that it counts."""
        self.record[number] = confirmed(account)
        self.votes[number - 1] = account
        self.decision.attempts[number].account = account

    def verify(self) -> None:
        outcome = {
            "status": "answered",
            "answers": {"q0": "sesame 0"},
            "confirmed_by": [by(each)["by"] for each in self.votes],
            "ended_by": by(CY)["by"],
            "tool_result": None,
        }
        for way in ("long-poll", "events", "webhook", "stored"):
            self.decision.outcomes.setdefault(way, outcome)
        verify(self.decision, self.record)


def insert(*places: tuple[int, Json]) -> Callable[[Case], None]:
    def change(case: Case) -> None:
        for number, line in places:
            case.record.insert(number, line)

    return change


def drop(number: int) -> Callable[[Case], None]:
    def change(case: Case) -> None:
        del case.record[number]

    return change


def voted(number: int, account: Account) -> Callable[[Case], None]:
    return lambda case: case.replaced(number, account)


def too_few(case: Case) -> None:
    del case.record[2], case.decision.attempts[2], case.votes[1]


def backed(case: Case) -> None:
    case.record[2:2] = [BACKED, answered(ANN)]
    case.tried(ANN, {"action": "back"})
    case.tried(ANN, {"action": "answer", "value": "sesame 0"}, "question")


def submitted(case: Case) -> None:
    case.record.insert(1, SUBMITTED)
    case.tried(CY, {"action": "submit"}, "review")


def by_the_operator(case: Case) -> None:
    case.record[1]["confirmed"]["by"]["known"] = "key"


def by_nobody(case: Case) -> None:
    case.record[1]["confirmed"]["by"] = None
    del case.decision.attempts[1]


def told_otherwise(case: Case) -> None:
    case.decision.outcomes["events"] = dict.fromkeys(
        ("answers", "confirmed_by", "ended_by", "tool_result", "status")
    )


def answered_by_a_machine(case: Case) -> None:
    case.record[0] = FIXED
    del case.decision.attempts[0]


def corrected(case: Case) -> None:
    """Who gave an answer that no longer stands may confirm the other."""
    case.record.insert(0, answered(BOB))
    case.record.insert(1, {"type": "response", "response": {"backed": by(ANN)}})
    case.tried(BOB, {"action": "answer", "value": "sesame 0"}, "question")
    case.tried(ANN, {"action": "back"}, "question")


def refused_too(case: Case) -> None:
    case.decision.attempts.append(Attempt(EVE, "confirmation", {"action": "confirm"}))


def unknown(case: Case) -> None:
    """Somebody may have handed it over, and did or did not."""
    for _ in range(2):
        attempt = Attempt(CY, "question", {"action": "hand_over", "to": "dee"}, accepted=None)
        case.decision.attempts.append(attempt)
    case.record.insert(1, {"type": "handed_over", "handed_over": by(CY, to="dee")})


@pytest.mark.parametrize(
    "change",
    [lambda _: None, answered_by_a_machine, corrected, refused_too, unknown, voted(1, EVE)],
)
def test_what_keeps_the_rules_is_accepted(change: Callable[[Case], None]) -> None:
    case = Case()
    change(case)
    case.verify()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (too_few, "1 confirmations"),
        (voted(1, CY), "confirmed twice"),
        (backed, "1 confirmations"),
        (insert((2, CONTEXT)), "1 confirmations"),
        (voted(1, ANN), "may not confirmed"),
        (voted(1, DEE), "may not confirmed"),
        (by_the_operator, "nobody in particular"),
        (by_nobody, "a machine confirmed"),
        (submitted, "their own answer"),
        (drop(1), "lost"),
        (insert((1, confirmed(BOB))), "invented"),
        (insert((1, confirmed(BOB_ELSEWHERE))), "invented"),
        (insert((4, ENDED)), "2 outcomes"),
        (drop(3), "0 outcomes"),
        (told_otherwise, "different outcomes"),
    ],
)
def test_what_breaks_a_rule_is_noticed(change: Callable[[Case], None], fault: str) -> None:
    case = Case()
    change(case)
    with pytest.raises(AssertionError, match=fault):
        case.verify()


@pytest.mark.parametrize("account", [ANN, ANN_ELSEWHERE])
def test_nobody_confirms_their_own_answer_with_another_account(account: Account) -> None:
    case = Case()
    case.decision.route = "pair"
    case.replaced(1, account)
    with pytest.raises(AssertionError, match="their own answer"):
        case.verify()


def test_an_answer_told_early_is_noticed() -> None:
    decision = Case().decision
    decision.must_not_tell({"answers": {}}, "an event")
    with pytest.raises(AssertionError, match="an event told an answer"):
        decision.must_not_tell({"answers": {"q0": "sesame 0"}}, "an event")
