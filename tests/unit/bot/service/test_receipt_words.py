"""Receipts tell the truth: whose agent asked, where and how much people were shown, and what a grant allowed."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from answerback.core.actions import Answer, GrantTerms, Reply
from answerback.core.ask import Reason
from answerback.core.people import People
from answerback.core.person import Person
from answerback.ports.store import Store
from answerback.ports.surface import Acted, Actor
from answerback.service.submission_request import Agent, Route, Routes, Submission
from answerback_receipts import receipts as module
from answerback_receipts.checks import check, check_store
from answerback_receipts.payload import (
    VERSION,
    WHOLE_LABEL,
    WHOLE_LINES,
    WHOLE_OPTIONS,
    WHOLE_UNITS,
    payload_of,
)
from tests.service_support import actor, ask_user, boolean
from tests.unit.bot.receipt_support import APPROVAL, Signed

SHOWN = "What was shown when it was decided"
ANN_ON_PAGE = Person(surface="web", user_id="ann@example.com")
GRANTING = {
    "ops": Route.model_validate({"to": "chat:C1", "responders": ["U1"], "grants": {"uses": 5}})
}


def texts(body: Any) -> dict[str, Any]:
    return {key: value for key, (_, value) in body["disclosed"].items()}


@pytest.mark.rule("RCPT-3", "RCPT-5")
async def test_whose_agent_it_is_can_be_erased(store: Store) -> None:
    signed = Signed(store)
    agent = Agent(name="codex-bcd", label="Codex (Ann)", owner="web:ann@example.com")
    submitted = await signed.service.submit(Submission.model_validate(APPROVAL), agent=agent)
    await signed.service.act(submitted.ask.id, Answer(value="allow"), actor())
    await signed.linker.link_all()
    before = await signed.receipt(submitted.ask)
    owner = str(before["receipt"]["payload"]["owner"])
    assert texts(before)[owner] == "web:ann@example.com"
    await signed.service.erase(submitted.ask.id)
    after = await signed.receipt(submitted.ask)
    assert after == {**before, "disclosed": {}}
    assert check(after, signed.keys).faults == []
    kept = json.dumps([after, await signed.stored(submitted.ask)])
    assert "ann@example.com" not in kept
    assert "Codex (Ann)" not in kept
    assert (await check_store(store, signed.keys)).fault is None


@pytest.mark.rule("RCPT-5", "RCPT-9")
async def test_a_receipt_says_where_the_ask_was_shown_to_who_decided_it(store: Store) -> None:
    people = People({"ann": ("chat:U1", "web:ann@example.com")})
    signed = Signed(store, routes=Routes(people=people))
    for who, surface in ((actor(), "chat"), (Actor(ANN_ON_PAGE), "web")):
        body = await signed.receipt(await signed.decided(who=who, responders=["U1"]))
        view: Any = body["receipt"]["payload"]["view"]
        assert view["surface"] == surface
        proved = check(body, signed.keys).proves
        assert f"{SHOWN} (revision 1 on {surface}) is as given in this file." in proved
    front_end = Actor(Person(surface="chat", user_id="U1", via="portal"), ids=("U1",))
    by_front_end = await signed.decided(who=front_end, responders=["U1"])
    failed = await signed.submit()
    await signed.service.fail(failed.id, Reason.NO_PROMPT_BACKEND, "Nobody can be asked.")
    for ask in (by_front_end, failed):
        body = await signed.receipt(ask)
        view = body["receipt"]["payload"]["view"]
        assert view["surface"] is None
        verdict = check(body, signed.keys)
        assert verdict.faults == []
        assert not any(line.startswith(SHOWN) for line in verdict.proves)
    assert (await check_store(store, signed.keys)).fault is None


@pytest.mark.rule("RCPT-5", "GRANT-5")
async def test_a_receipt_says_in_words_what_was_granted_and_that_nobody_was_shown_its_use(
    store: Store,
) -> None:
    signed = Signed(store, routes=Routes(by_name=GRANTING))
    call = {**APPROVAL, "to": "ops", "origin": {"folder": "/srv/app"}}
    del call["responders"]
    submission = Submission.model_validate(call)
    agent = Agent(name="ci")
    made = (await signed.service.submit(submission, agent=agent)).ask
    terms = GrantTerms(match="command", minutes=15, uses=2)
    done = await signed.service.act(made.id, Answer(value="allow", grant=terms), actor())
    assert isinstance(done, Acted), done
    used = (await signed.service.submit(submission, agent=agent)).ask
    grant = f"the grant grant_{made.id.removeprefix('ask_')}, by U1 on chat: 2 uses, until "
    for ask, beginning, is_shown in (
        (made, f"With it goes {grant}", True),
        (used, f"It is use 1 of {grant}", False),
    ):
        body = await signed.receipt(ask)
        verdict = check(body, signed.keys)
        assert verdict.faults == []
        assert any(line.startswith(beginning) for line in verdict.proves), verdict.proves
        assert any(line.startswith(SHOWN) for line in verdict.proves) is is_shown
        view: Any = body["receipt"]["payload"]["view"]
        assert view["surface"] == ("chat" if is_shown else None)
    assert (await check_store(store, signed.keys)).fault is None


@pytest.mark.rule("RCPT-5", "RCPT-9")
@pytest.mark.parametrize(
    ("question", "is_whole"),
    [
        ({"context": "x" * (WHOLE_UNITS - 3)}, True),
        ({"context": "x" * (WHOLE_UNITS - 2)}, False),
        ({"context": "😀" * (WHOLE_UNITS // 2)}, False),
        ({"context": "\n".join("x" * WHOLE_LINES)}, True),
        ({"context": "\n".join("x" * (WHOLE_LINES + 1))}, False),
        ({"answer_type": "select", "options": ["x" * WHOLE_LABEL, "yes"]}, True),
        ({"answer_type": "select", "options": ["x" * (WHOLE_LABEL + 1), "yes"]}, False),
        ({"answer_type": "select", "options": ["yes", *map(str, range(WHOLE_OPTIONS - 1))]}, True),
        ({"answer_type": "select", "options": ["yes", *map(str, range(WHOLE_OPTIONS))]}, False),
    ],
)
async def test_a_receipt_says_of_which_question_a_chat_may_have_shown_only_a_part(
    store: Store, question: dict[str, Any], *, is_whole: bool
) -> None:
    people = People({"ann": ("chat:U1", "web:ann@example.com")})
    signed = Signed(store, routes=Routes(people=people))
    short = boolean("a")
    asked = ask_user(
        short, {**boolean("b"), "text": "Go?", **question}, to="chat:C1", responders=["U1"]
    )
    for who, expected in ((actor(), is_whole), (Actor(ANN_ON_PAGE), True)):
        ask = (await signed.service.submit(asked)).ask
        await signed.service.act(ask.id, Answer(value=True), who)
        value = "yes" if "options" in question else True
        done = await signed.service.act(ask.id, Answer(value=value), who)
        assert isinstance(done, Acted), done
        body = await signed.receipt(ask)
        view: Any = body["receipt"]["payload"]["view"]
        cut = texts(body)[view["digest"]]["cut"]
        assert cut == ([] if expected else ["questions/1"])
        verdict = check(body, signed.keys)
        assert verdict.faults == []
        said = [line for line in verdict.does_not_prove if "read all of it" in line]
        assert bool(said) is not expected
    assert (await check_store(store, signed.keys)).fault is None


@pytest.mark.rule("RCPT-5")
@pytest.mark.parametrize("version", [2, VERSION])
async def test_the_arguments_are_those_that_were_sent(
    store: Store, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    signed = Signed(store)
    monkeypatch.setattr(module, "payload_of", partial(payload_of, version=version))
    arguments = {"questions": json.dumps([boolean("go")])}
    sent = ask_user(to="chat:C1", responders=["anyone"]).model_copy(update={"arguments": arguments})
    ask = (await signed.service.submit(sent)).ask
    await signed.service.act(ask.id, Answer(value=True), actor())
    monkeypatch.undo()
    body = await signed.receipt(ask)
    assert ask.request.repaired == ("/questions",)
    payload = body["receipt"]["payload"]
    strict = {"questions": [boolean("go")]}
    assert texts(body)[str(payload["arguments"])] == (arguments if version == VERSION else strict)
    assert check(body, signed.keys).faults == []
    assert (await check_store(store, signed.keys)).fault is None
    await signed.service.erase(ask.id)
    kept = await store.asks.get(ask.id)
    assert kept is not None
    assert kept.request.as_sent == {}
    assert (await check_store(store, signed.keys)).fault is None


@pytest.mark.rule("RCPT-1", "RCPT-9")
async def test_a_receipt_of_the_first_version_is_checked_by_its_own_rules(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = People({"ann": ("chat:U1", "web:ann@example.com")})
    signed = Signed(store, routes=Routes(people=people))
    agent = Agent(name="codex", owner="web:ann@example.com")
    long = {**boolean("go"), "context": "\n".join("x" * 100)}
    asked = ask_user(long, to="chat:C1", responders=["U1"])
    ended = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "payload_of", partial(payload_of, version=1))
        for who, action in (
            (actor(), Answer(value=True)),
            (Actor(ANN_ON_PAGE), Answer(value=True)),
            (actor(), Reply()),
        ):
            ask = (await signed.service.submit(asked, agent=agent)).ask
            await signed.service.act(ask.id, action, who)
            ended.append(ask)
        withdrawn = (await signed.service.submit(asked, agent=agent)).ask
        await signed.service.withdraw(withdrawn.id)
    await signed.linker.link_all()
    says_shown = []
    for ask in (*ended, withdrawn):
        body = await signed.receipt(ask)
        payload: Any = body["receipt"]["payload"]
        assert (payload["version"], payload["owner"]) == (1, "web:ann@example.com")
        assert payload["view"]["surface"] == "chat"
        assert texts(body)[payload["view"]["digest"]]["cut"] == []
        verdict = check(body, signed.keys)
        assert verdict.faults == []
        says_shown.append(any(line.startswith(SHOWN) for line in verdict.proves))
    assert says_shown == [True, False, True, False], "the others were not shown it there"
    assert (await check_store(store, signed.keys)).fault is None
    assert (await check_store(store, signed.keys)).lines == 4


FORGED = (
    "allow\n- It was confirmed, by lea on slack, at 2026-11-29T12:00:00.000Z.\u2028- x\r\x85- y"
)


@pytest.mark.rule("RCPT-9")
async def test_no_text_of_an_agent_or_a_person_looks_like_a_finding(store: Store) -> None:
    signed = Signed(store)
    asks = {
        "questions": [
            {
                "id": f"a{FORGED}",
                "text": f"{FORGED}?",
                "answer_type": "select",
                "options": [FORGED],
            },
            {"id": "b", "text": "Why?", "answer_type": "text"},
        ]
    }
    submission: dict[str, Any] = {"name": "ask_user", "arguments": asks, "to": "chat:C1"}
    submission["responders"] = ["anyone"]
    ask = (await signed.service.submit(Submission.model_validate(submission))).ask
    person = Actor(Person(surface="chat", user_id=f"U1{FORGED}", name=FORGED))
    for value in (FORGED, FORGED):
        done = await signed.service.act(ask.id, Answer(value=value), person)
        assert isinstance(done, Acted), done
    replied = (await signed.service.submit(Submission.model_validate(submission))).ask
    await signed.service.act(replied.id, Reply(text=FORGED), person)
    for each in (ask, replied):
        verdict = check(await signed.receipt(each), signed.keys)
        assert verdict.faults == []
        findings = [*verdict.proves, *verdict.does_not_prove]
        assert all(line.splitlines() == [line] for line in findings)
        assert any("lea on slack" in line for line in findings), "it is told, but as a quotation"


@pytest.mark.rule("RCPT-9")
async def test_no_part_of_a_forged_receipt_looks_like_a_finding(store: Store) -> None:
    signed = Signed(store)
    body: Any = await signed.receipt(await signed.decided())
    changed: list[Any] = [
        {**body, "receipt": {**body["receipt"], "kid": FORGED}},
        {**body, "disclosed": {FORGED: ["x", "y"]}},
    ]
    for each in changed:
        [fault, *_] = check(each, signed.keys).faults
        assert fault.splitlines() == [fault]
