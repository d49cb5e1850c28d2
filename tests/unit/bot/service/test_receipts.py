"""Receipts: what they say, that they are made with outcomes, and what is left of them after an erasure."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.actions import Answer, Confirm, EndTurn, Other, Reply
from answerback.core.ask import Reason, Status
from answerback.core.form import OptionKind
from answerback.core.people import People
from answerback.core.person import AuthMethod, Person
from answerback.core.too_late import TryAgain
from answerback.core.walker import Source
from answerback.ports.receipt_key import SigningKey, new_private_key
from answerback.ports.store import Store
from answerback.ports.surface import Acted, Actor
from answerback.service.consumption import consume, is_allowed
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.service.submission_request import Routes
from answerback_receipts.checks import check, check_store
from answerback_receipts.stored_receipts import StoredReceipts
from tests.service_support import actor, ask_user, boolean
from tests.unit.bot.receipt_support import APPROVAL, SERVICE_ID, Signed
from tests.unit.picture_samples import PNG

OPTIONS = ["staging", "production"]
FORM = [
    boolean("go"),
    {"id": "env", "text": "Where?", "answer_type": "select", "options": OPTIONS},
    {"id": "parts", "text": "Which?", "answer_type": "multi_select", "options": OPTIONS},
    {"id": "why", "text": "Why?", "answer_type": "text"},
]


def texts(body: Any) -> dict[str, Any]:
    return {key: value for key, (_, value) in body["disclosed"].items()}


async def walk(signed: Signed, *answers: Any, questions: list[Any] = FORM, **more: Any) -> Any:
    """Ask questions in a chat, answer them, and return the ask."""
    envelope = {"to": "chat:C1", "responders": ["anyone"], **more}
    ask = (await signed.service.submit(ask_user(*questions, **envelope))).ask
    for answer in answers:
        action = answer if isinstance(answer, (Other, Reply, EndTurn)) else Answer(value=answer)
        done = await signed.service.act(ask.id, action, actor())
        assert isinstance(done, Acted), done
        ask = done.ask
    return ask


@pytest.mark.rule("RCPT-1")
@pytest.mark.rule("RCPT-5")
async def test_a_receipt_says_who_allowed_what_after_seeing_what(store: Store) -> None:
    signed = Signed(store)
    ask = await signed.decided()
    body = await signed.receipt(ask)
    assert body["link"] is None
    assert check(body, signed.keys).faults == []
    payload, beside = body["receipt"]["payload"], texts(body)
    who = {"surface": "chat", "user_id": "U1", "known": None, "via": None}
    at = "2027-01-15T08:00:00.000Z"
    view: Any = payload.pop("view")
    assert beside[str(payload.pop("headline"))] == "Run make deploy"
    assert beside[str(payload.pop("arguments"))] == APPROVAL["arguments"]
    shown = beside[view.pop("digest")]
    assert view == {"revision": 1, "surface": "chat"}
    assert shown["headline"] == "Run make deploy"
    assert shown["cut"] == []
    [question] = shown["questions"]
    assert question["labels"] == [option.label for option in ask.form.questions[0].options]
    assert "make deploy" in question["context"]
    assert payload == {
        "version": 3,
        "service_id": SERVICE_ID,
        "ask_id": ask.id,
        "dialect": "approval",
        "agent": None,
        "owner": None,
        "answers": {"decision": "allow"},
        "notes": {},
        "decisions": {"decision": "allow_once"},
        "reply": None,
        "answered_by": {"decision": {"source": "human", "by": who, "at": at}},
        "confirmed_by": [],
        "ended_by": who,
        "strength": "accounts",
        "asked_at": at,
        "ended_at": at,
        "status": "answered",
        "source": "human",
        "reason": None,
        "gave_up": None,
    }


@pytest.mark.rule("RCPT-5")
async def test_choices_are_in_the_clear_and_texts_are_not(store: Store) -> None:
    signed = Signed(store)
    ask = await walk(signed, True, "staging", ["production"], "Because Jörg said so")
    body = await signed.receipt(ask)
    answers: Any = body["receipt"]["payload"]["answers"]
    assert {**answers, "why": texts(body)[answers["why"]]} == {
        "go": True,
        "env": "staging",
        "parts": ["production"],
        "why": "Because Jörg said so",
    }
    assert "Jörg" not in json.dumps(body["receipt"])


def choices(*many: bool) -> dict[str, Any]:
    options = [{"label": value, "description": "Here"} for value in OPTIONS]
    return {
        "questions": [
            {"question": f"Q{n}?", "header": f"Q{n}", "multiSelect": each, "options": options}
            for n, each in enumerate(many)
        ]
    }


async def decided_in_own_words(signed: Signed, dialect: str, arguments: Any, *actions: Any) -> Any:
    names = {"claude": "AskUserQuestion", "gemini": "ask_user"}
    ask = await signed.submit(name=names[dialect], dialect=dialect, arguments=arguments)
    for action in actions:
        done = await signed.service.act(ask.id, action, actor())
        assert isinstance(done, Acted), done
        ask = done.ask
    body = await signed.receipt(ask)
    assert check(body, signed.keys).faults == []
    return body["receipt"]["payload"], texts(body)


@pytest.mark.rule("RCPT-5")
async def test_own_words_and_notes_are_not_in_the_clear(store: Store) -> None:
    payload, beside = await decided_in_own_words(
        Signed(store),
        "claude",
        choices(False, False),
        Other(text="the moon"),
        Answer(value="staging", note="tonight"),
    )
    own, chosen = payload["answers"].values()
    [note] = payload["notes"].values()
    assert (beside[own], chosen, beside[note]) == ("the moon", "staging", "tonight")


@pytest.mark.rule("RCPT-5")
async def test_own_words_beside_choices_are_not_in_the_clear(store: Store) -> None:
    asked = choices(True)
    asked["questions"][0]["type"] = "choice"
    payload, beside = await decided_in_own_words(
        Signed(store), "gemini", asked, Other(text="and Mars", value=["staging"])
    )
    [[chosen, own]] = payload["answers"].values()
    assert (chosen, beside[own]) == ("staging", "and Mars")


@pytest.mark.rule("RCPT-1")
@pytest.mark.parametrize(
    ("action", "status"),
    [(Reply(text="After lunch."), "cancelled"), (EndTurn(), "turn_ended")],
)
async def test_whatever_ends_an_ask_has_a_receipt(store: Store, action: Any, status: str) -> None:
    signed = Signed(store)
    ask = await walk(signed, True, action)
    body = await signed.receipt(ask)
    payload = body["receipt"]["payload"]
    assert (payload["status"], payload["answers"]) == (status, {"go": True})
    reply = payload["reply"]
    assert reply is None or texts(body)[str(reply)] == "After lunch."
    view: Any = payload["view"]
    assert [each["id"] for each in texts(body)[view["digest"]]["questions"]] == ["go", "env"]
    assert view["revision"] == 2


@pytest.mark.rule("RCPT-1")
async def test_what_no_person_ended_has_a_receipt(store: Store) -> None:
    signed = Signed(store)
    withdrawn = await walk(signed, True)
    await signed.service.withdraw(withdrawn.id)
    payload = (await signed.receipt(withdrawn))["receipt"]["payload"]
    assert (payload["status"], payload["ended_by"], payload["reason"]) == (
        "withdrawn",
        None,
        Reason.WITHDRAWN.value,
    )
    assert (payload["strength"], payload["source"]) == ("accounts", None)


@pytest.mark.rule("RCPT-6")
@pytest.mark.parametrize(
    ("person", "strength"),
    [
        (Person(surface="chat", user_id="U1"), "accounts"),
        (Person(surface="web", user_id="ann@example.com", known=AuthMethod.PROXY), "accounts"),
        (Person(surface="web", user_id="ann", known=AuthMethod.LINK), "links"),
        (Person(surface="web", user_id="operator", known=AuthMethod.KEY), "links"),
        (Person(surface="web", user_id="7", via="portal"), "vouched"),
    ],
)
async def test_strength_says_how_well_it_is_known_who_decided(
    store: Store, person: Person, strength: str
) -> None:
    accounts = ("chat:U1", *(f"web:{name}" for name in ("ann@example.com", "ann", "operator", "7")))
    signed = Signed(store, routes=Routes(people=People({"ann": accounts})))
    ask = await signed.decided(who=Actor(person), responders=["U1"])
    body = await signed.receipt(ask)
    payload: Any = body["receipt"]["payload"]
    assert payload["strength"] == strength
    user_id = payload["ended_by"]["user_id"]
    assert texts(body).get(user_id, user_id) == person.user_id
    assert (user_id == person.user_id) == (person.surface == "chat"), "other ids are no one's name"
    verdict = check(body, signed.keys)
    assert verdict.faults == []
    assert any("who they seem" in line for line in verdict.does_not_prove)


@pytest.mark.rule("RCPT-1")
async def test_what_follows_an_end_changes_no_receipt(store: Store) -> None:
    signed = Signed(store)
    ask = await signed.submit()
    await signed.service.approval_leases.report_no_answer(ask.id)
    before = await signed.stored(ask)
    assert isinstance(await signed.service.act(ask.id, TryAgain(text="go"), actor()), Acted)
    assert await signed.stored(ask) == before
    payload = (await signed.receipt(ask))["receipt"]["payload"]
    assert (payload["gave_up"], payload["strength"]) == ("denied", None)


async def test_without_a_key_there_are_no_receipts(service: Service) -> None:
    ask = (await service.submit(ask_user(boolean(), to="web"))).ask
    await service.withdraw(ask.id)
    assert await StoredReceipts(service.store.rows).get(ask.id) is None


@pytest.mark.rule("RCPT-3")
async def test_an_erased_receipt_still_verifies_and_tells_nothing_that_was_written(
    store: Store,
) -> None:
    signed = Signed(store)
    ask = await walk(signed, True, "staging", ["production"], "Because Jörg said so")
    await signed.linker.link_all()
    before = await signed.receipt(ask)
    await signed.service.erase(ask.id)
    after = await signed.receipt(ask)
    assert after == {**before, "disclosed": {}}
    verdict = check(after, signed.keys)
    assert verdict.faults == []
    assert any("they were erased" in line for line in verdict.does_not_prove)
    assert "Jörg" not in json.dumps([await signed.stored(ask), verdict.proves])


@pytest.mark.rule("RCPT-7")
async def test_an_approval_is_consumed_once_however_many_try(store: Store) -> None:
    signed = Signed(store)
    ask = await signed.decided()
    done = await asyncio.gather(*(consume(store, ask.id, 5.0) for _ in range(8)))
    assert [each for each in done if not isinstance(each, tuple)] == [await store.asks.get(ask.id)]
    refused = [each for each in done if isinstance(each, tuple)]
    assert {each[0].code for each in refused} == {"consumed"}
    [*_, last] = await store.record.read(ask.id)
    assert (last.entry.at, last.entry.body) == (5.0, {"consumed": True})
    await signed.service.erase(ask.id)
    again = await consume(store, ask.id, 6.0)
    assert isinstance(again, tuple)
    assert again[0].code == "consumed"


@pytest.mark.rule("RCPT-7")
@pytest.mark.parametrize("source", [*Source, None])
async def test_only_what_a_person_allowed_can_be_consumed(
    store: Store, source: Source | None
) -> None:
    ask = await Signed(store).decided()
    assert ask.outcome is not None
    by_source = replace(ask, outcome=replace(ask.outcome, source=source))
    assert is_allowed(by_source) is (source in {Source.HUMAN, Source.GRANT})


@pytest.mark.rule("RCPT-7")
async def test_what_a_rule_allowed_cannot_be_consumed(store: Store) -> None:
    allow = {"questions": {"decision": {"answer": "allow"}}}
    rules = Rules.model_validate({"tools": {"PermissionRequest": allow}})
    signed = Signed(store, rules=rules)
    ask = await signed.submit()
    assert (ask.status, ask.outcome and ask.outcome.source) == (Status.ANSWERED, Source.CONFIG)
    refused = await consume(store, ask.id, 5.0)
    assert isinstance(refused, tuple)
    assert refused[0].code == "not_approved"


@pytest.mark.rule("RCPT-5", "RCPT-9")
@pytest.mark.parametrize(
    ("value", "is_hidden"), [("sha256:latest", False), ("sha256:" + "0" * 64, True)]
)
async def test_a_choice_that_looks_like_a_digest_is_told_as_it_is(
    store: Store, value: str, *, is_hidden: bool
) -> None:
    signed, options = Signed(store), ["other", value]
    many = {"id": "b", "text": "Which?", "answer_type": "multi_select", "options": options}
    one = {"id": "a", "text": "Which?", "answer_type": "select", "options": options}
    ask = await walk(signed, value, options, questions=[one, many])
    body = await signed.receipt(ask)
    verdict = check(body, signed.keys)
    assert verdict.faults == []
    assert any(f'The answer to "a" is "{value}", by' in line for line in verdict.proves)
    listed = json.dumps(options)
    assert any(f'The answer to "b" is {listed}, by' in line for line in verdict.proves)
    assert (value not in json.dumps(body["receipt"])) is is_hidden
    assert (await check_store(store, signed.keys)).fault is None


@pytest.mark.rule("RCPT-7")
async def test_only_what_was_allowed_can_be_consumed(store: Store) -> None:
    signed = Signed(store)
    unanswered, denied = await signed.submit(), await signed.decided("deny")
    question = await walk(signed, True, questions=[boolean("go")])
    ended = await signed.submit()
    await signed.service.withdraw(ended.id)
    batch: dict[str, Any] = {
        "approvals": [
            {"tool_call_id": key, "tool_name": "delete", "args": {}} for key in ("c1", "c2")
        ]
    }
    partly = await signed.submit(name="DeferredToolRequests", arguments=batch)
    for kind in (OptionKind.ALLOW_ONCE, OptionKind.DENY):
        current = await signed.service.get(partly.id)
        assert current is not None
        assert current.question is not None
        [value] = [each.value for each in current.question.options if each.kind is kind]
        done = await signed.service.act(partly.id, Answer(value=value), actor())
        assert isinstance(done, Acted)
        partly = done.ask
    assert partly.status is Status.ANSWERED
    for ask in (unanswered, denied, question, ended, partly):
        refused = await consume(store, ask.id, 5.0)
        assert isinstance(refused, tuple)
        assert refused[0].code == "not_approved"


def test_a_key_is_32_bytes_in_base64url() -> None:
    key = SigningKey(new_private_key())
    assert key.public.jwk() == {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": key.public.x,
        "kid": key.kid,
        "use": "sig",
    }
    for wrong in ("", "abc", "A" * 42, "+" * 43, "é" * 43, new_private_key() + "="):
        with pytest.raises(ValueError, match="it "):
            SigningKey(wrong)


@pytest.mark.rule("RCPT-9")
async def test_every_part_of_a_receipt_is_told_in_words(store: Store) -> None:
    signed = Signed(store)
    ask = await walk(signed, True, "staging", ["production"], "Because")
    result = " ".join(check(await signed.receipt(ask), signed.keys).proves)
    assert 'The answer to "go" is true, by U1 on chat' in result
    assert 'The answer to "parts" is ["production"], by U1 on chat' in result
    assert 'The answer to "why" is "Because"' in result
    replied = await walk(signed, True, Reply(text="After lunch."))
    body = await signed.receipt(replied)
    assert 'The reply is: "After lunch."' in check(body, signed.keys).proves
    without: Any = {**body, "disclosed": {}}
    verdict = check(without, signed.keys)
    assert not any("What was shown" in line for line in verdict.proves)
    assert "The reply is: (a text that is not here)" in verdict.proves
    withdrawn = await walk(signed)
    await signed.service.withdraw(withdrawn.id)
    verdict = check(await signed.receipt(withdrawn), signed.keys)
    assert not any("who they seem" in line for line in verdict.does_not_prove)


@pytest.mark.rule("RCPT-5")
async def test_a_receipt_says_who_confirmed(store: Store) -> None:
    signed = Signed(store)
    ask = await signed.decided(confirmations=1)
    assert ask.open
    done = await signed.service.act(ask.id, Confirm(), actor("U2"))
    assert isinstance(done, Acted), done
    assert not done.ask.open
    body = await signed.receipt(done.ask)
    payload: Any = body["receipt"]["payload"]
    [vote] = payload["confirmed_by"]
    assert vote["by"] == {"surface": "chat", "user_id": "U2", "known": None, "via": None}
    result = check(body, signed.keys).proves
    assert any(line.startswith("It was confirmed, by U2 on chat, at ") for line in result)


@pytest.mark.rule("FILE-9")
async def test_a_receipt_has_digests_of_what_the_agent_showed(store: Store) -> None:
    signed = Signed(store)
    plot = {"name": "plot.png", "data": base64.b64encode(PNG).decode(), "alt": "Latency"}
    ask = await walk(signed, True, questions=[boolean("go")], files=[plot])
    body = await signed.receipt(ask)
    assert check(body, signed.keys).faults == []
    digests: Any = body["receipt"]["payload"]["files"]
    [digest] = digests
    shown = {"sha256": hashlib.sha256(PNG).hexdigest(), "name": "plot.png", "alt": "Latency"}
    assert texts(body)[str(digest)] == shown
    assert "plot.png" not in json.dumps(body["receipt"])
    assert any("It came with the file" in each for each in check(body, signed.keys).proves)
    await signed.service.erase(ask.id)
    assert "plot.png" not in json.dumps(await signed.receipt(ask))


@pytest.mark.rule("FILE-17")
async def test_a_receipt_has_a_digest_of_what_came_with_an_answer(store: Store) -> None:
    signed, by = Signed(store), actor().person
    file = await signed.service.people_files.take("photo.png", PNG, by)
    ask = await walk(signed, Reply(text="See", files=(file,)))
    body = await signed.receipt(ask)
    assert check(body, signed.keys).faults == []
    digests: Any = body["receipt"]["payload"]["answer_files"]
    [digest] = digests
    sent = {"question": None, "sha256": file.sha256, "name": "photo.png"}
    assert texts(body)[str(digest)] == sent
    assert any("With an answer came the file" in each for each in check(body, signed.keys).proves)
    await signed.service.erase(ask.id)
    assert "photo.png" not in json.dumps(await signed.receipt(ask))
