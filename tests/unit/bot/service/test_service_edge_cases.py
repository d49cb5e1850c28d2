"""The service's smaller entry points: unknown asks, drafts, threads, and groups that cannot be looked up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from answerback.core.actions import Answer, Submit
from answerback.core.ask import Status
from answerback.core.errors import InvalidCallError, ProblemError, StoreError
from answerback.core.walker import Source
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.notify import Signals
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes
from answerback_testing.example_asks import new_ask
from tests.service_support import actor, ask_user, boolean
from tests.unit.bot.conftest import Parts


async def test_an_unknown_ask_cannot_be_withdrawn_expired_or_failed(service: Service) -> None:
    for done in (await service.withdraw("ask_none"), await service.expire("ask_none")):
        assert done == Rejected(RejectReason.NOT_FOUND)
    await service.save_retired(new_ask("none"), None)
    assert await service.get("ask_none") is None


async def test_waiting_for_an_unreadable_ask_raises(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = (await service.submit(ask_user())).ask
    monkeypatch.setattr(service.store.asks, "get", AsyncMock(side_effect=StoreError("no disk")))
    with pytest.raises(StoreError, match="no disk"):
        await service.wait(ask.id, 60.0)


async def test_the_open_asks_of_a_thread_are_found_by_where_they_are_shown(parts: Parts) -> None:
    service = parts.service()
    shown, _elsewhere = [(await service.submit(ask_user(to=f"chat:C{n}"))).ask for n in (1, 2)]
    at = await parts.chat.shown(shown)
    await parts.store.asks.save_shown(shown.id, at)
    assert [ask.id for ask in await service.list_open_in("chat", "C1", at.thread.id)] == [shown.id]
    assert [ask.id for ask in await service.list_open_in("chat", "C1", None)] == [shown.id]
    assert await service.list_open_in("chat", "C1", "another") == []
    await service.withdraw(shown.id)
    assert await service.list_open_in("chat", "C1", None) == []


async def test_a_draft_survives_a_restart_until_it_is_dropped(parts: Parts) -> None:
    await parts.service().save_draft("ask_1 U1", {"page": 2})
    again = parts.service()
    assert await again.draft("ask_1 U1") == {"page": 2}
    await again.save_draft("ask_1 U1", None)
    assert await again.draft("ask_1 U1") is None


async def test_a_group_on_a_removed_surface_admits_nobody(parts: Parts) -> None:
    parts.chat.groups["MEMBER"] = frozenset({"OPS"})
    ask = (await parts.service().submit(ask_user(responders=["@OPS"]))).ask
    alone = parts.service(surfaces=("web",))
    result = await alone.act(ask.id, Answer(value=True), actor("MEMBER"))
    assert isinstance(result, Rejected)
    assert result.why is RejectReason.NOT_ALLOWED
    assert isinstance(await parts.service().act(ask.id, Answer(value=True), actor("MEMBER")), Acted)


async def test_an_ask_withdrawn_at_its_review_cancels_no_question(service: Service) -> None:
    options = [{"value": "x", "label": "X"}]
    arguments = {"questions": [{"id": n, "prompt": f"{n}?", "options": options} for n in "ab"]}
    call = ask_user().model_copy(update={"name": "question", "arguments": arguments})
    ask = (await service.submit(call)).ask
    for _ in "ab":
        await service.act(ask.id, Answer(value="x"), actor())
    done = await service.withdraw(ask.id)
    assert isinstance(done, Acted)
    assert done.ask.status is Status.WITHDRAWN
    kinds = [line.entry.kind for line in await service.record(ask.id)]
    assert kinds == ["request", "answered", "request", "answered", "ended"]
    refused = await service.act(ask.id, Submit(), actor())
    assert isinstance(refused, Rejected)
    assert refused.why is RejectReason.ENDED


@pytest.mark.rule("SUBMIT-12")
async def test_a_default_that_violates_its_schema_is_not_used_at_expiry(
    service: Service,
) -> None:
    schema = {"type": "object", "required": ["port"]}
    question: dict[str, Any] = {"id": "s", "text": "S?", "answer_type": "schema", "schema": schema}
    questions: list[dict[str, Any]] = [{**question, "default": d} for d in ({"port": 1}, {})]
    calls = [ask_user(each, on_expiry="defaults", to="chat:C1") for each in questions]
    fits, unfit = [(await service.submit(call)).ask for call in calls]
    for ask, status in ((fits, Status.ANSWERED), (unfit, Status.EXPIRED)):
        done = await service.expire(ask.id)
        assert isinstance(done, Acted)
        assert (done.ask.status, done.ask.revision) == (status, 2)


async def test_an_ask_is_shown_again_if_an_older_state_may_have_overwritten_a_newer_one(
    parts: Parts,
) -> None:
    service = parts.service()
    ask = (await service.submit(ask_user(boolean("a"), boolean("b")))).ask
    await service.act(ask.id, Answer(value=True), actor())
    first = await parts.chat.shown(ask)
    newer = replace(first, revision=2)
    for shown in (newer, first):
        await parts.store.asks.save_shown(ask.id, shown)
    now = await service.get(ask.id)
    assert now is not None
    assert now.placement.shown_revision < now.revision
    assert ask.id in await parts.store.messages.list_outdated(10)


async def test_a_waiter_released_by_a_stop_is_not_held_by_a_simultaneous_commit() -> None:
    signals = Signals()
    with signals.follow("ask_1") as follower:
        signals.release()
        signals.notify(new_ask())
        assert await follower.next_commit() is None
        assert await follower.next_commit() is None


@pytest.mark.rule("SUBMIT-12")
@pytest.mark.parametrize("default", [{"default": "production"}, {}])
async def test_at_expiry_a_fixed_answer_still_comes_from_the_configuration(
    parts: Parts, default: dict[str, Any]
) -> None:
    fixed = {"tools": {"ask_user": {"questions": {"env": {"answer": "staging"}}}}}
    service = parts.service(Rules.model_validate(fixed))
    env: dict[str, Any] = {"id": "env", "text": "Where?", "answer_type": "select"}
    env |= {"options": ["staging", "production"], **default}
    body = ask_user(boolean("go", default=True), env, on_expiry="defaults", to="chat:C1")
    ask = (await service.submit(body)).ask
    result = await service.expire(ask.id)
    assert isinstance(result, Acted)
    assert result.ask.status is Status.ANSWERED
    assert [given.value for given in result.ask.walk.answers] == [True, "staging"]
    assert [given.source for given in result.ask.walk.answers] == [Source.DEFAULT, Source.CONFIG]


async def test_a_repeated_key_returns_its_ask_even_if_the_call_would_now_be_refused(
    parts: Parts,
) -> None:
    routes = Routes("web", {"ops": Route(to="chat:C1", responders=("U1",))})
    body = ask_user(boolean(), to="ops", responders=None)
    first = await parts.service(routes=routes).submit(body, idempotency_key="k", digest="d")
    without = parts.service()
    again = await without.submit(body, idempotency_key="k", digest="d")
    assert (again.ask.id, again.created) == (first.ask.id, False)
    with pytest.raises(ProblemError, match="Send the same body"):
        await without.submit(body, idempotency_key="k", digest="other")
    with pytest.raises(InvalidCallError):
        await without.submit(body, idempotency_key="new", digest="d")
