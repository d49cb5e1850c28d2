"""The service over a real database: who may act, what is committed, and who is notified."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer, Back, EndTurn, Reply
from answerback.core.ask import Ask, Reason, Status
from answerback.core.errors import InvalidCallError, PlatformUnavailableError, ProblemError
from answerback.core.intents import Intent
from answerback.core.walker import Source
from answerback.dialects import registry
from answerback.ports.claims import SOLE_CLAIM
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.service.submission_request import Agent, Route, Routes, Submission
from tests.service_support import WAIT, actor, ask_user, boolean
from tests.unit.bot.conftest import Parts


def tool_question(**question: Any) -> dict[str, Any]:
    return {
        "tool": "git",
        "question": {"id": "force", "text": "Force?", "answer_type": "boolean", **question},
    }


def rules(**question: Any) -> Rules:
    return Rules.model_validate({"tools": {"ask_user": {"questions": {"go": question}}}})


async def submitted(service: Service, *questions: dict[str, Any], **envelope: Any) -> Ask:
    return (await service.submit(ask_user(*questions, **envelope))).ask


def result_of(ask: Ask) -> Any:
    result = registry.render_result(ask)
    assert result is not None
    return result.structured


@pytest.mark.rule("ASK-5", "ASK-6", "WHO-3")
async def test_an_answer_is_stored_with_its_author_and_ends_the_ask(service: Service) -> None:
    ask = await submitted(service)
    acted = await service.act(ask.id, Answer(value=True), actor(), revision=1)
    stored = await service.get(ask.id)
    assert isinstance(acted, Acted)
    assert stored == acted.ask
    assert (stored.status, result_of(stored)) == (Status.ANSWERED, {"go": True})
    assert stored.outcome is not None
    assert (stored.outcome.ended_by, stored.outcome.source) == (actor().person, Source.HUMAN)
    kinds = [line.entry.kind for line in await service.record(ask.id)]
    assert kinds == ["request", "answered", "ended"]


@pytest.mark.rule("ACT-2", "WALK-15")
async def test_a_stale_revision_changes_nothing_and_shows_who_was_faster(service: Service) -> None:
    ask = await submitted(service, boolean("a"), boolean("b"))
    await service.act(ask.id, Answer(value=True), actor("FAST"), revision=1)
    late = await service.act(ask.id, Answer(value=False), actor("LATE"), revision=1)
    assert isinstance(late, Rejected)
    assert late.why is RejectReason.STALE
    assert late.ask is not None
    assert late.ask.last_actor == actor("FAST").person
    assert [given.value for given in late.ask.walk.answers] == [True]


async def test_a_click_on_a_surface_finds_no_ask_of_another(service: Service) -> None:
    ask = await submitted(service)
    for surface, seen in [("web", Rejected), ("chat", Acted)]:
        intent = Intent(ask.id, Answer(value=True), surface=surface)
        assert isinstance(await service.apply(intent, actor()), seen)


async def test_an_answer_without_a_turn_cannot_be_remembered(service: Service) -> None:
    call = tool_question(exclusive=False, persistence="turn")
    submission = Submission(name="tool_question", arguments=call, responders="anyone")
    ask = (await service.submit(submission)).ask
    refused = await service.act(ask.id, Answer(value=True, remember=True), actor(surface="web"))
    assert isinstance(refused, Rejected)
    assert [(p.pointer, p.code) for p in refused.problems] == [
        ("/remember", "cannot_be_remembered")
    ]


async def test_what_would_end_an_ended_ask_is_told_so(service: Service) -> None:
    ask = await submitted(service)
    await service.act(ask.id, Answer(value=True), actor())
    for late in (await service.withdraw(ask.id), await service.expire(ask.id)):
        assert isinstance(late, Rejected)
        assert late.why is RejectReason.ENDED
        assert late.ask is not None
        assert late.ask.status is Status.ANSWERED


@pytest.mark.rule("ACT-7")
async def test_a_repeated_delivery_is_applied_once_and_reported_as_repeated(
    service: Service,
) -> None:
    ask = await submitted(service, boolean("a"), boolean("b"))
    first = await service.act(ask.id, Answer(value=True), actor(), delivery="click-1")
    again = await service.act(ask.id, Answer(value=True), actor(), delivery="click-1")
    assert isinstance(first, Acted)
    assert isinstance(again, Acted)
    assert (first.repeated, again.repeated) == (False, True)
    assert again.ask == first.ask


async def test_ended_unknown_and_invalid_are_distinct_rejections(
    service: Service,
) -> None:
    ask = await submitted(service, boolean("a"), boolean("b"))
    wrong = await service.act(ask.id, Answer(value="yes"), actor())
    assert isinstance(wrong, Rejected)
    assert (wrong.why, [p.pointer for p in wrong.problems]) == (RejectReason.INVALID, ["/value"])
    await service.act(ask.id, EndTurn(), actor())
    ended = await service.act(ask.id, Answer(value=True), actor())
    unknown = await service.act("ask_none", Answer(value=True), actor())
    assert isinstance(ended, Rejected)
    assert isinstance(unknown, Rejected)
    assert (ended.why, unknown.why) == (RejectReason.ENDED, RejectReason.NOT_FOUND)


@pytest.mark.rule("SUBMIT-6", "SURFACE-9")
async def test_only_named_people_and_members_of_named_groups_may_act(parts: Parts) -> None:
    service = parts.service()
    parts.chat.groups["MEMBER"] = frozenset({"OPS"})
    ask = await submitted(service, *map(boolean, "abcd"), responders=["NAMED", "@OPS"])
    result = {}
    for user in ("NAMED", "MEMBER", "STRANGER"):
        result[user] = await service.act(ask.id, Answer(value=True), actor(user))
    assert isinstance(result["NAMED"], Acted)
    assert isinstance(result["MEMBER"], Acted)
    assert isinstance(result["STRANGER"], Rejected)
    assert result["STRANGER"].why is RejectReason.NOT_ALLOWED


@pytest.mark.rule("ACT-6")
async def test_a_group_that_cannot_be_looked_up_admits_nobody_for_now(parts: Parts) -> None:
    service = parts.service()
    parts.chat.groups["MEMBER"] = frozenset({"OPS"})
    parts.chat.failures.append(PlatformUnavailableError("down"))
    ask = await submitted(service, responders=["@OPS"])
    result = await service.act(ask.id, Answer(value=True), actor("MEMBER"))
    assert isinstance(result, Rejected)
    assert result.why is RejectReason.UNCHECKED
    assert isinstance(await service.act(ask.id, Answer(value=True), actor("MEMBER")), Acted)


@pytest.mark.rule("SUBMIT-11")
async def test_a_shared_place_without_responders_is_refused_with_what_to_add(
    service: Service,
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        await submitted(service, responders=None)
    (problem,) = refused.value.problems
    assert (problem.code, problem.pointer) == ("responders_required", "/responders")
    assert "chat.responders" in problem.message


@pytest.mark.rule("ERROR-1", "ERROR-4")
async def test_errors_in_the_call_and_its_envelope_are_reported_together_and_audited(
    parts: Parts, tmp_path: Path
) -> None:
    service = parts.service()
    with pytest.raises(InvalidCallError) as refused:
        await submitted(service, {"id": "", "text": "?", "answer_type": "boolean"}, to="nowhere")
    assert [p.code for p in refused.value.problems] == ["empty", "unknown_route"]
    assert (await parts.store.asks.page()).rows == ()
    with closing(sqlite3.connect(tmp_path / "asks.db")) as database:
        [line] = database.execute("SELECT entry FROM record").fetchall()
    assert [error["code"] for error in json.loads(line[0])["body"]["errors"]] == [
        "empty",
        "unknown_route",
    ]


@pytest.mark.rule("SUBMIT-4")
@pytest.mark.parametrize("to", ["chat:", "chat:@", "chat:C1/", "nowhere", "nowhere:C1", "chat"])
async def test_an_invalid_destination_is_refused_with_an_explanation(
    service: Service, to: str
) -> None:
    with pytest.raises(InvalidCallError) as refused:
        await submitted(service, to=to)
    assert [(p.code, p.pointer) for p in refused.value.problems] == [("unknown_route", "/to")]


@pytest.mark.rule("SUBMIT-3")
async def test_a_repeated_key_returns_the_first_ask_and_another_body_is_refused(
    service: Service,
) -> None:
    first = await service.submit(ask_user(), idempotency_key="k", digest="one")
    again = await service.submit(ask_user(), idempotency_key="k", digest="one")
    other_agent = await service.submit(
        ask_user(), agent=Agent("b"), idempotency_key="k", digest="two"
    )
    assert (first.created, again.created, again.ask.id) == (True, False, first.ask.id)
    assert other_agent.created
    with pytest.raises(ProblemError) as refused:
        await service.submit(ask_user(), idempotency_key="k", digest="two")
    assert refused.value.status == 422


@pytest.mark.rule("AUTH-2", "SUBMIT-9")
async def test_a_token_may_only_use_its_routes(parts: Parts) -> None:
    routes = Routes(
        "web", {"ops": Route(to="chat:C9", responders="anyone", expires_in=60, remind_after=(5,))}
    )
    service = parts.service(routes=routes)
    agent = Agent("a", routes=("ops",))
    with pytest.raises(InvalidCallError) as refused:
        await service.submit(ask_user(to="web"), agent=agent)
    assert '"ops"' in refused.value.problems[0].message
    ask = (await service.submit(ask_user(to=None, responders=None), agent=agent)).ask
    assert ask.placement.destination.channel == "C9"
    assert ask.schedule.expires_at == ask.created_at + 60
    assert ask.request.remind_after == (5.0,)


@pytest.mark.rule("ASK-6", "ROUTE-1")
async def test_a_fixed_answer_asks_nobody_and_is_never_attributed_to_a_person(parts: Parts) -> None:
    ask = await submitted(parts.service(rules(answer=False)))
    assert (ask.status, result_of(ask)) == (Status.ANSWERED, {"go": False})
    assert ask.outcome is not None
    assert (ask.outcome.source, ask.outcome.ended_by) == (Source.CONFIG, None)


@pytest.mark.rule("ROUTE-1")
async def test_a_fixed_answer_in_mid_form_is_used_when_its_question_is_reached(
    parts: Parts,
) -> None:
    service = parts.service(rules(answer=True))
    ask = await submitted(service, boolean("first"), boolean("go"), boolean("last"))
    acted = await service.act(ask.id, Answer(value=True), actor())
    assert isinstance(acted, Acted)
    assert acted.ask.question is not None
    assert acted.ask.question.id == "last"
    back = await service.act(ask.id, Back(), actor())
    assert isinstance(back, Acted)
    assert back.ask.question is not None
    assert back.ask.question.id == "first", (
        "Back does not stop at an answer that would be filled in again"
    )


@pytest.mark.rule("ROUTE-1", "RECORD-3")
async def test_an_invalid_fixed_answer_fails_the_ask_and_names_the_key(
    parts: Parts,
) -> None:
    ask = await submitted(parts.service(rules(answer="maybe")))
    assert (ask.status, ask.outcome and ask.outcome.reason) == (
        Status.FAILED,
        Reason.INVALID_STATIC_ANSWER,
    )
    assert "tools.ask_user.questions.go.answer" in result_of(ask)["error"]["message"]


@pytest.mark.rule("ROUTE-2", "RECORD-3")
async def test_a_question_only_a_person_may_answer_cannot_go_to_the_assistant(parts: Parts) -> None:
    ask = await submitted(parts.service(rules(target="assistant"), inquiry=True))
    assert (ask.status, ask.outcome and ask.outcome.reason) == (
        Status.FAILED,
        Reason.ASSISTANT_ROUTING_DENIED,
    )
    assert (
        "requires a human answer and cannot be routed to the assistant"
        in result_of(ask)["error"]["message"]
    )


@pytest.mark.rule("ROUTE-4", "RECORD-3")
async def test_without_a_surface_the_model_is_asked_to_continue_without_input(parts: Parts) -> None:
    parts.chat.not_ready = "not connected"
    ask = await submitted(parts.service())
    assert (ask.status, ask.outcome and ask.outcome.reason) == (
        Status.FAILED,
        Reason.NO_PROMPT_BACKEND,
    )
    assert "no chat surface is available" in result_of(ask)["error"]["message"]


async def test_an_open_ask_stays_answerable_while_its_surface_reconnects(parts: Parts) -> None:
    service = parts.service()
    ask = await submitted(service, boolean("a"), boolean("b"))
    await parts.store.asks.save_shown(ask.id, await parts.chat.shown(ask))
    parts.chat.not_ready = "reconnecting"
    acted = await service.act(ask.id, Answer(value=True), actor())
    assert isinstance(acted, Acted)
    assert acted.ask.open


async def test_a_waiter_is_woken_by_the_outcome_and_not_before(service: Service) -> None:
    ask = await submitted(service, boolean("a"), boolean("b"))
    waiting = asyncio.create_task(service.wait(ask.id, WAIT))
    await service.act(ask.id, Answer(value=True), actor())
    assert not waiting.done()
    await service.act(ask.id, Answer(value=False), actor())
    ended = await waiting
    assert ended is not None
    assert ended.status is Status.ANSWERED
    assert service.signals.count == 0


async def test_a_wait_that_times_out_or_is_released_returns_the_current_ask(
    service: Service,
) -> None:
    ask = await submitted(service)
    assert await service.wait(ask.id, 0) == await service.get(ask.id)
    waiting = asyncio.create_task(service.wait(ask.id, WAIT))
    await asyncio.sleep(0)
    service.stop_waiting()
    released = await waiting
    assert released is not None
    assert released.open
    assert await service.wait("ask_none", WAIT) is None


@pytest.mark.rule("WEBHOOK-2")
async def test_every_outcome_stores_its_webhook_in_the_same_write(parts: Parts) -> None:
    service = parts.service()
    callback = {"url": "http://127.0.0.1:1/hook"}
    answered, withdrawn, expired = [await submitted(service, callback=callback) for _ in range(3)]
    parts.chat.not_ready = "not connected"
    failed = await submitted(service, callback=callback)
    await service.act(answered.id, Answer(value=True), actor())
    await service.withdraw(withdrawn.id)
    await service.expire(expired.id)
    due = await parts.store.outbox.claim(SOLE_CLAIM, parts.clock.now(), 10)
    types = {stored.delivery.ask_id: stored.delivery.type for stored in due}
    assert types == {
        answered.id: "ask.answered",
        withdrawn.id: "ask.withdrawn",
        expired.id: "ask.expired",
        failed.id: "ask.failed",
    }


@pytest.mark.rule("SUBMIT-12", "WALK-6", "SURFACE-5")
async def test_defaults_are_used_at_expiry_only_if_every_question_has_one(
    service: Service,
) -> None:
    whole = await submitted(
        service, boolean("a", default=True), boolean("b", default=False), on_expiry="defaults"
    )
    broken = await submitted(
        service, boolean("a", default=True), boolean("b"), on_expiry="defaults"
    )
    for ask in (whole, broken):
        await service.expire(ask.id)
    whole_now, broken_now = await service.get(whole.id), await service.get(broken.id)
    assert whole_now is not None
    assert broken_now is not None
    assert (whole_now.status, result_of(whole_now)) == (Status.ANSWERED, {"a": True, "b": False})
    assert whole_now.outcome is not None
    assert (whole_now.outcome.source, whole_now.outcome.ended_by) == (Source.DEFAULT, None)
    assert result_of(broken_now) == {"cancelled": True, "answered": {}, "reason": "expired"}


@pytest.mark.rule("DIALECT-8")
async def test_a_disabled_tool_is_refused_with_an_explanation(parts: Parts) -> None:
    service = parts.service(Rules.model_validate({"tools": {"ask_user": {"enable": False}}}))
    with pytest.raises(InvalidCallError) as refused:
        await submitted(service)
    assert "switched off" in refused.value.problems[0].message


async def test_a_reply_reaches_the_model_verbatim(service: Service) -> None:
    ask = await submitted(service)
    acted = await service.act(ask.id, Reply(text="wait, which one?"), actor())
    assert isinstance(acted, Acted)
    assert result_of(acted.ask) == {"cancelled": True, "answered": {}, "reply": "wait, which one?"}


@pytest.mark.rule("WALK-15")
async def test_a_thousand_pairs_of_clicks_make_a_thousand_steps(service: Service) -> None:
    for _ in range(100):
        ask = await submitted(service, boolean("a"), boolean("b"))
        both = await asyncio.gather(
            *(
                service.act(ask.id, Answer(value=value), actor(), revision=1)
                for value in (True, False)
            )
        )
        assert sorted(type(result).__name__ for result in both) == ["Acted", "Rejected"]
