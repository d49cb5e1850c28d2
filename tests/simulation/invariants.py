"""The invariants of every simulation, whatever went wrong: judged from outside alone.

Each line begins with the id of the invariant, which `docs/reliability.md` explains.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tests.simulation import devices, files, hosts, permission_invariants, sign_ins
from tests.simulation.evidence import Attempt, Evidence, Json, Plan, seconds_of

_OUTCOME: Final = (
    "status", "answers", "reply", "end_turn", "tool_result", "ended_by", "source", "edited",
)  # fmt: skip
"""The fields that everybody must be told alike."""
_LATE: Final = 900.0
"""Seconds after a deadline within which an ask has ended, even if the service was down."""
_DECIDED: Final = 300.0
"""Seconds within which a modal that has closed is decided, although its process dies: FILE-23."""
_DIES: Final = 10.0
"""Seconds within which a process dies that a fault kills at something."""
_ENDS: Final = frozenset({"answered", "cancelled", "turn_ended", "expired"})
"""The ends of an ask that no agent withdraws, and that people can be asked."""
_MOVES: Final = frozenset({"response", "confirmed", "objected", "handed_over", "ended"})
"""The lines of the record that make a new revision."""
_DEEDS: Final = frozenset(
    {"answered", "backed", "cancelled", "confirmed", "objected", "handed_over"}
)
"""The lines that name somebody who did something."""
_ERASED: Final = "erased"
"""The id of those who had accounts elsewhere than in a chat, once their ask is erased."""
_NOTHING: Final = "empty"
"""The argument of the button that answers an optional question with nothing."""
_ANSWERING: Final = frozenset({"write", "other"})
"""The controls by which a text becomes an answer."""


def judge(evidence: Evidence) -> list[str]:
    """Return what did not hold, sorted."""
    found = [*evidence.broken]
    parts = (permission_invariants, files, hosts, devices, sign_ins)
    for check in (*_CHECKS, *(check for part in parts for check in part.CHECKS)):
        found += check(evidence)
    return sorted(set(found))


def count_judged(evidence: Evidence) -> Counter[str]:
    """Return how much there was for each invariant to judge."""
    asks, plans = evidence.asks.values(), evidence.plans
    lines = [line for record in evidence.records.values() for line in record]
    reports = [each for found in evidence.reports.values() for each in found]
    due = [key for key, plan in plans.items() if plan.due]
    return Counter(
        ONCE=len(plans),
        TOLD=len(reports),
        KEPT=sum(each.acknowledged_at is not None for each in evidence.attempts),
        SHOWN=sum(len(found) for found in evidence.messages.values()),
        RECORD=sum(line["type"] in _MOVES for line in lines),
        MAY=len(evidence.attempts),
        CONFIRM=sum(len(evidence.reports.get(key, ())) for key in due),
        WEBHOOK=sum(bool(each.webhook_id) for each in reports),
        TIME=sum(ask["expires_at"] is not None for ask in asks),
        LIVE=len(asks),
        GRANT=sum(ask["grant"] is not None for ask in asks),
        USE=sum(evidence.consumed.values()),
        RECEIPT=len(evidence.receipts),
        ERASE=len(evidence.erasures),
        FILES=files.count_judged(evidence),
        LATE=hosts.count_judged(evidence),
        PUSH=devices.count_judged(evidence),
        SIGN=sign_ins.count_judged(evidence),
        REST=1,
        QUIET=1,
    )


def _once(evidence: Evidence) -> Iterator[str]:
    """ONCE: one call is one ask, however often it was sent; one ask has one message."""
    pairs = [*evidence.by_plan()]
    for key, count in Counter(key for key, _ in pairs).items():
        if count > 1:
            yield f"ONCE: {key} became {count} asks"
    if len(evidence.asks) > len(evidence.plans):
        yield f"ONCE: {len(evidence.plans)} calls became {len(evidence.asks)} asks"
    for key, ask_id in pairs:
        if ask_id not in evidence.asks:
            yield f"KEPT: the ask of {key} is gone"
            continue
        count = len(evidence.messages.get(ask_id, ()))
        may_lack = ask_id in evidence.deleted or _ended_unseen(evidence, ask_id)
        if count != 1 and not (count == 0 and may_lack):
            yield f"ONCE: the ask of {key} has {count} messages"
        for number, posted in Counter(evidence.reminders.get(ask_id, ())).items():
            if posted > 1:
                yield f"ONCE: reminder {number} of {key} was posted {posted} times"


def _ended_unseen(evidence: Evidence, ask_id: str) -> bool:
    """Return True if an ask ended before it could be posted: by itself, or by whoever decided it in a front end."""
    stored = evidence.asks[ask_id]
    if stored["status"] == "open" or ask_id in evidence.seen:
        return False
    front_end = {a.person for a in evidence.attempts if a.ask_id == ask_id and a.is_told}
    by = stored["ended_by"]
    return by is None or by["user_id"] in (front_end | {_ERASED} if front_end else front_end)


def _told(evidence: Evidence) -> Iterator[str]:
    """TOLD: everybody is told the same outcome, and nobody is told another one before."""
    for key, plan in evidence.plans.items():
        last = 0
        for report in evidence.reports.get(key, ()):
            stored = evidence.asks.get(report.ask["id"])
            if stored is None:
                continue
            if report.ask["status"] == "open":
                if report.webhook_id:
                    yield f"TOLD: {key} had a webhook while it was open"
            elif any(report.ask[name] != stored[name] for name in _outcome(stored)):
                yield f"TOLD: {key} was told another outcome ({report.way}) than is stored"
            if not report.webhook_id:
                if report.ask["revision"] < last:
                    yield f"KEPT: {key} went back from revision {last} to {report.ask['revision']}"
                last = max(last, report.ask["revision"])
        if plan.due:
            yield from _kept_secret(evidence, key)


def _outcome(stored: Json) -> Sequence[str]:
    """The fields that must be alike: of what has been erased since, only how it ended."""
    return _OUTCOME if stored["erased_at"] is None else ("status", "source")


def _kept_secret(evidence: Evidence, key: str) -> Iterator[str]:
    """CONFIRM: an agent and its model are told no answers that lack their confirmations."""  # CONFIRM-8, CONFIRM-12
    # Each text has its person and time, so it is found again.
    texts = {each.text for each in evidence.attempts if each.verb in _ANSWERING and each.text}
    for report in evidence.reports.get(key, ()):
        if report.ask["status"] == "answered" or report.ask["id"] not in evidence.asks:
            continue
        if report.ask["answers"]:
            yield f"CONFIRM: {key} told answers that were not confirmed"
        result = json.dumps(report.ask["tool_result"])
        if any(text in result for text in texts):
            yield f"CONFIRM: {key} told its model what was not confirmed"


def _shown(evidence: Evidence) -> Iterator[str]:
    """SHOWN: in the end, each message shows the ask as it is stored."""
    for key, ask_id in evidence.by_plan():
        stored = evidence.asks.get(ask_id)
        ends = [line for line in evidence.records.get(ask_id, ()) if line["type"] == "ended"]
        missed_at = evidence.missing.get(ask_id)
        ended_at = seconds_of(ends[-1]["at"]) if ends else 0.0
        if missed_at is not None and ended_at > missed_at + evidence.tolerance:
            yield f"SHOWN: the message of {key} was deleted, and is not there again"
        for message in evidence.messages.get(ask_id, ()):
            deciding = message.deciding
            if stored is None or stored["status"] == "open" or not message.is_known:
                continue  # LIVE reports an ask that is open
            if deciding:
                yield f"SHOWN: {key} has ended, and its message still has {deciding[0].verb}"
            if stored["erased_at"] is not None:
                continue
            text = message.text
            for said in _must_be_read(evidence.plans[key], stored):
                if said not in text:
                    yield f"SHOWN: {key} has ended, and its message does not say {said!r}"


def _must_be_read(plan: Plan, stored: Json) -> Iterator[str]:
    """Yield what the message of an ask that has ended must say: who ended it, and what was answered."""
    if stored["ended_by"] is not None:
        yield stored["ended_by"]["name"]
    if plan.body["name"] != "ask_user":
        return
    for value in stored["answers"].values():
        if isinstance(value, bool):
            yield "Yes" if value else "No"
        elif value is not None:
            yield value


def _recorded(evidence: Evidence) -> Iterator[str]:
    """RECORD: it says what people did, all of it, once, and nothing else; and only of those who may."""
    for key, ask_id in evidence.by_plan():
        record, plan = evidence.records.get(ask_id, []), evidence.plans[key]
        stored = evidence.asks.get(ask_id)
        ends = [line for line in record if line["type"] == "ended"]
        if stored is not None and len(ends) != (stored["status"] != "open"):
            yield f"RECORD: {key} is {stored['status']} and has {len(ends)} ends"
        tried = [each for each in evidence.attempts if each.ask_id == ask_id]
        options = _options(plan.body)
        available: Counter[tuple[str, str]] = Counter((a.person, _act(a, options)) for a in tried)
        said: Counter[tuple[str, str]] = Counter()
        for line in record:
            for person, act in _said(line, options):
                who = evidence.who(person)
                handed_at = evidence.handed.get(ask_id, {}).get(who, math.inf)
                is_late = handed_at > seconds_of(line["at"]) + evidence.tolerance
                is_known = not (person == _ERASED and ask_id in evidence.erasures)
                if who not in plan.responders and is_late and is_known:
                    yield f"MAY: {person} did {act} in {key}, and may not"
                said[person, act] += 1
        if ask_id in evidence.erasures:
            continue
        for (person, act), count in (said - available).items():
            yield f"RECORD: {key} has {count} × {act} of {person} that nobody did"
        if stored is not None and plan.due and stored["status"] == "answered":
            yield from _confirmed(evidence, key, stored, plan.due)


def _confirmed(evidence: Evidence, key: str, stored: Json, due: int) -> Iterator[str]:
    record = evidence.records[stored["id"]]
    if set(stored["answers"].values()) == {"deny"}:
        return  # a denial allows nothing, so it is not confirmed: CONFIRM-1
    answered = {  # by question: the answers that stand
        line["question_id"]: line["response"]["answered"]["by"]
        for line in record
        if "answered" in (line.get("response") or {})
    }
    answerers = {evidence.who(by["user_id"]) for by in answered.values() if by is not None}
    others = {evidence.who(each["user_id"]) for each in stored["confirmed_by"]} - answerers
    if len(others) < due:
        yield f"CONFIRM: {key} was answered, and {len(others)} other people confirmed"
    votes = Counter(
        line["confirmed"]["by"]["user_id"] for line in record if line["type"] == "confirmed"
    )
    if len(stored["confirmed_by"]) > sum(votes.values()):
        yield f"CONFIRM: {key} has more confirmations than were given"


def _options(body: Json) -> dict[str, list[str]] | None:
    """The values of the options of each question; None for a call whose questions the service makes."""
    if body["name"] != "ask_user":
        return None
    questions = body["arguments"]["questions"]
    return {each["id"]: [o["value"] for o in each.get("options", ())] for each in questions}


def _act(attempt: Attempt, options: dict[str, list[str]] | None) -> str:
    """Return the name that the record must give it."""
    if attempt.act is not None:
        is_answer = attempt.act.startswith("answered ")
        return "answered" if options is None and is_answer else attempt.act
    value: object = None
    if options is not None and attempt.verb in {"answer", "write", "other"}:
        argument = attempt.argument
        if attempt.verb != "answer":
            value = attempt.text
        elif argument in {"true", "false"}:
            value = argument == "true"
        elif argument == _NOTHING:
            value = ""
        else:
            value = options[attempt.question or ""][int(argument)]
        return f"answered {attempt.question} {value}"
    return {
        "answer": "answered",
        "write": "answered",
        "other": "answered",
        "back": "backed",
        "reply": "cancelled",
        "end_turn": "cancelled",
        "confirm": "confirmed",
        "object": "objected",
        "submit": "submitted",
    }[attempt.verb]


def _said(line: Json, options: dict[str, list[str]] | None) -> Iterator[tuple[str, str]]:
    kind, body = line["type"], line.get(line["type"]) or {}
    if kind == "response":
        [(kind, body)] = line["response"].items()
    if kind in _DEEDS and body.get("by"):
        if kind == "answered" and options is not None:
            kind = f"answered {line['question_id']} {body.get('value')}"
        yield body["by"]["user_id"], kind


def _webhooks(evidence: Evidence) -> Iterator[str]:
    """WEBHOOK: one outcome has one webhook, with the same id on every try."""
    for key, plan in evidence.plans.items():
        sent = [report for report in evidence.reports.get(key, ()) if report.webhook_id]
        ids = {report.webhook_id for report in sent}
        if plan.has_webhook and len(ids) > 1:
            yield f"WEBHOOK: the outcome of {key} had {len(ids)} ids"
        if sent and not plan.has_webhook:
            yield f"WEBHOOK: {key} wanted none"
    for delivery in evidence.deliveries:
        if delivery["state"] in {"pending", "dead"} and delivery["ask_id"] not in evidence.erasures:
            yield f"WEBHOOK: a delivery is {delivery['state']} in the end"


def _kept(evidence: Evidence) -> Iterator[str]:
    """KEPT: what somebody saw or was told was done stays done."""
    for key, ask_id in evidence.by_plan():
        stored = evidence.asks.get(ask_id)
        if stored is None:
            continue
        if evidence.seen.get(ask_id, 0) > stored["revision"]:
            yield f"KEPT: people saw a later revision of {key} than is stored"
        moves = _moves(evidence.records.get(ask_id, []))
        count = 1 + len(moves) + (stored["erased_at"] is not None)
        if stored["revision"] != count:
            yield f"RECORD: {key} has revision {stored['revision']} after {len(moves)} moves"
            continue
        for each in evidence.attempts:
            # Before a turn ends, a person is asked again. That note is not repeated if it gets lost, either.
            is_asked = each.verb == "end_turn" and not evidence.is_calm
            is_taken = each.acknowledged_at is not None and not each.notes and not is_asked
            if each.ask_id == ask_id and is_taken:
                yield from _taken(evidence, key, stored, each, moves)


def _taken(
    evidence: Evidence, key: str, stored: Json, each: Attempt, moves: Sequence[float]
) -> Iterator[str]:
    """Judge what a person was told was taken; ``moves``: when the ask's revisions came about."""
    what, taken_at = f"{each.verb} of {each.person} in {key}", each.acknowledged_at or 0.0
    late = evidence.tolerance
    who = evidence.who(each.person)
    may = who in evidence.plans[key].responders
    if not may:
        handed_at = evidence.handed.get(each.ask_id, {}).get(who, math.inf)
        may = _was_handed(evidence, each)
        if not may and handed_at <= taken_at:
            return  # it may have been handed over to them just then, or in vain
    if not may:
        if each.is_told:
            yield f"MAY: {what} was accepted"
        # It was refused. The note that says so is not repeated if it gets lost: SURFACE-10.
        if evidence.is_calm:
            yield f"KEPT: {what} was ignored without a word"
    elif each.verb == "confirm" and not evidence.is_calm and _cannot_confirm(evidence, each):
        return  # it was refused, as above
    elif each.revision >= stored["revision"]:
        yield f"KEPT: {what} was taken, and had no effect"
    elif moves[each.revision - 1] > taken_at + late + each.is_decided_later * _DECIDED:
        yield f"KEPT: {what} was taken before it was stored"


def _kept_with_files(evidence: Evidence) -> Iterator[str]:
    """KEPT: a form that was sent with files is decided, or its person is told why not, although its process dies."""
    for each in evidence.sent_with_files:
        key, sent_at = evidence.keys.get(each.ask_id), each.acknowledged_at or 0.0
        record = evidence.records.get(each.ask_id)
        if key is None or record is None or each.notes or each.ask_id in evidence.erasures:
            continue
        if json.dumps(each.text)[1:-1] in json.dumps(record):
            continue
        # A note that says why it was not taken is not repeated if it gets lost. A limit lasts until it is met.
        begun = [began for began, _ in evidence.troubles]
        moves = _moves(record)
        moved_at = moves[each.revision - 1] if len(moves) >= each.revision else math.inf
        is_late = not evidence.is_calm and moved_at < sent_at + _DECIDED
        if not (is_late or any(sent_at + _DIES < began < sent_at + _DECIDED for began in begun)):
            yield f"KEPT: what {each.person} sent with files in {key} was neither taken nor refused"


def _cannot_confirm(evidence: Evidence, each: Attempt) -> bool:
    """Return True if a person has answered something of an ask, or has confirmed it, and so cannot confirm it:
    CONFIRM-3."""
    found = [
        line.get("confirmed") or (line.get("response") or {}).get("answered")
        for line in evidence.records[each.ask_id]
    ]
    by = [body["by"]["user_id"] for body in found if body and body["by"]]
    return evidence.who(each.person) in map(evidence.who, by)


def _was_handed(evidence: Evidence, each: Attempt) -> bool:
    """Return True if an ask had certainly been handed over to a person by the time at which they acted."""
    return any(
        line["type"] == "handed_over"
        and (line["handed_over"] or {}).get("to") == evidence.who(each.person)
        and seconds_of(line["at"]) < each.began - evidence.tolerance
        for line in evidence.records[each.ask_id]
    )


def _moves(record: list[Json]) -> list[float]:
    """When each revision of an ask came about, from the second one on: what has one time came about at once, but for a
    withdrawal and a deadline, which may come in the same millisecond as an answer."""
    lines = [line for line in record if line["type"] in _MOVES]
    moves = {(seconds_of(line["at"]), _cause(json.dumps(line))) for line in lines}
    return sorted(at for at, _ in moves)


def _cause(line: str) -> str:
    """Return who caused what a line of the record says: the agent, the deadline or people."""
    if '"withdrawn"' in line:
        return "agent"
    return "people" if '"by": {' in line else "deadline"


def _ended_in_time(evidence: Evidence) -> Iterator[str]:
    """TIME: nothing is open after its deadline, and nothing expires before it."""
    for key, ask_id in evidence.by_plan():
        stored = evidence.asks.get(ask_id)
        if stored is None:
            continue
        ends = [line for line in evidence.records.get(ask_id, ()) if line["type"] == "ended"]
        reasons = {line["ended"].get("reason") for line in ends}
        # ROUTE-4: a service that starts while a chat limits it is not connected yet, and tells its agents so at once.
        withdrawn = stored["status"] == "withdrawn" and evidence.plans[key].withdraws
        if stored["status"] not in _ENDS and not withdrawn and reasons != {"no_prompt_backend"}:
            yield f"LIVE: {key} is {stored['status']} in the end"
        if ends and stored["status"] == "expired":
            early = seconds_of(stored["expires_at"]) - seconds_of(ends[-1]["at"])
            if -early > _LATE:
                yield f"TIME: {key} expired {-early:.0f} s after its deadline"
            if early > evidence.tolerance:
                yield f"TIME: {key} expired {early:.0f} s before its deadline"


def _quiet(evidence: Evidence) -> Iterator[str]:
    """QUIET: the service crashes nowhere."""
    for error in evidence.errors:
        yield f"QUIET: {error}"


_CHECKS: Final = (
    _once,
    _told,
    _shown,
    _recorded,
    _webhooks,
    _kept,
    _kept_with_files,
    _quiet,
    _ended_in_time,
)
