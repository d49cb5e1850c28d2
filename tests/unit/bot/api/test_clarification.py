"""Asking back: the ask stays open, its agent gets the question in whatever way it waits, and explains once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import TypeAdapter

from answerback.api.wire import RecordPage
from answerback.core.errors import StoreError
from answerback.service.ask_wire import AskBody
from answerback_client import (
    AskedBackError,
    AsyncClient,
    EndedError,
    InvalidCallError,
    verify_webhook,
)
from tests.fakes.receiver import receiving
from tests.unit.bot.api.conftest import Json, Served
from tests.unit.bot.api.test_event_stream import read
from tests.unit.bot.outbox_support import SECRET

CLARIFY: Json = {"accepts": ["clarify"]}
HOLD = {"Prefer": "wait=9"}
WAIT = 60.0


async def explain(api: Served, ask: Json, text: str) -> tuple[int, Json]:
    async with api.http.post(f"/v1/asks/{ask['id']}/context", json={"text": text}) as response:
        return response.status, await response.json(content_type=None)


async def wait_for(api: Served, ask: Json) -> tuple[int, Json]:
    async with asyncio.timeout(WAIT):
        return await api.get(f"/v1/asks/{ask['id']}", **HOLD)


@pytest.mark.rule("CLARIFY-1")
async def test_a_waiting_call_returns_at_once_with_the_question_and_the_next_one_waits(
    api: Served,
) -> None:
    ask = await api.asked(**CLARIFY)
    assert (ask["accepts"], ask["clarify"]) == (["clarify"], None)
    assert ask["prompt"]["controls"] == ["ask_back", "reply", "end_turn"]
    waiting = asyncio.create_task(wait_for(api, ask))
    await api.waiters(1)
    status, asked = await api.act(ask, action="ask_back", text="Which table?", revision=1)
    assert (status, asked["status"], asked["revision"]) == (200, "open", 2)
    status, body = await waiting
    TypeAdapter(AskBody).validate_python(body)
    assert (status, body["clarify"]["text"], body["clarify"]["question_id"]) == (
        202,
        "Which table?",
        "apply",
    )
    assert body["clarify"]["by"]["user_id"] == "operator"
    again = asyncio.create_task(wait_for(api, ask))
    await api.waiters(1)
    assert not again.done(), "it was told once; the question is still in every answer"
    status, shown = await explain(api, ask, "The *small* one.")
    assert (status, shown["clarify"], shown["revision"]) == (200, None, 3)
    assert [aside["text"] for aside in shown["prompt"]["asides"]] == [
        "Which table?",
        "The *small* one.",
    ]
    await api.act(ask, action="answer", value=False)
    status, ended = await again
    assert (status, ended["status"]) == (200, "answered")


@pytest.mark.rule("CLARIFY-1")
async def test_a_question_asked_between_two_waiting_calls_ends_the_next_one(api: Served) -> None:
    ask = await api.asked(**CLARIFY)
    await api.act(ask, action="ask_back", text="Which table?")
    status, body = await wait_for(api, ask)
    assert (status, body["clarify"]["text"]) == (202, "Which table?")


async def test_a_question_is_reported_again_if_its_report_could_not_be_saved(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*_: object, **__: object) -> None:
        raise StoreError("no")

    ask = await api.asked(**CLARIFY)
    await api.act(ask, action="ask_back", text="Which table?")
    with monkeypatch.context() as patched:
        patched.setattr(api.running.service.store.asks, "change", failing)
        assert (await wait_for(api, ask))[0] == 202
    assert (await wait_for(api, ask))[1]["clarify"]["text"] == "Which table?"


@pytest.mark.rule("CLARIFY-1", "EVENT-1")
async def test_a_stream_reports_the_question_and_continues(api: Served) -> None:
    ask = await api.asked(**CLARIFY)
    async with asyncio.timeout(WAIT), api.http.get(f"/v1/asks/{ask['id']}/events") as response:
        stream = read(response)
        assert (await anext(stream))[1] == "prompt"
        await api.act(ask, action="ask_back", text="Which table?")
        _, name, line = await anext(stream)
        assert (name, line["clarify"]["text"], line["question_id"]) == (
            "clarify",
            "Which table?",
            "apply",
        )
        await explain(api, ask, "The small one.")
        _, name, line = await anext(stream)
        assert (name, line["context"]) == ("context", {"text": "The small one.", "by": None})
        await api.act(ask, action="answer", value=False)
        assert [(await anext(stream))[1] for _ in range(2)] == ["answer", "outcome"]
    _, record = await api.get(f"/v1/asks/{ask['id']}/record")
    RecordPage.model_validate(record)
    assert [line["type"] for line in record["entries"]] == [
        *("request", "clarify", "context", "response", "ended")
    ]


@pytest.mark.rule("CLARIFY-2")
async def test_repeating_an_explanation_changes_nothing(api: Served) -> None:
    ask = await api.asked(**CLARIFY)
    await api.act(ask, action="ask_back", text="Which table?")
    first = await explain(api, ask, "The small one.")
    assert await explain(api, ask, "The small one.") == first
    assert (await explain(api, ask, "Not the large one."))[1]["revision"] == first[1][
        "revision"
    ] + 1


@pytest.mark.rule("CLARIFY-1", "WALK-15")
async def test_of_two_people_who_ask_back_at_once_one_succeeds(api: Served) -> None:
    ask = await api.asked(**CLARIFY)
    asking = (api.act(ask, action="ask_back", text=f"{n}?", revision=1) for n in range(2))
    assert sorted(status for status, _ in await asyncio.gather(*asking)) == [200, 409]
    _, stood = await api.get(f"/v1/asks/{ask['id']}")
    assert len(stood["prompt"]["asides"]) == 1


@pytest.mark.rule("CLARIFY-2", "WALK-16")
async def test_an_answer_given_before_the_explanation_was_seen_is_refused(api: Served) -> None:
    ask = await api.asked(**CLARIFY)
    _, asked = await api.act(ask, action="ask_back", text="Which table?")
    await explain(api, ask, "The small one.")
    status, stood = await api.act(ask, action="answer", value=True, revision=asked["revision"])
    assert (status, stood["answers"]) == (409, {})
    assert (await api.act(ask, action="answer", value=True, revision=stood["revision"]))[0] == 200


@pytest.mark.rule("CLARIFY-2")
async def test_an_explanation_belongs_to_the_question_it_was_requested_for(api: Served) -> None:
    ask = await api.asked(**CLARIFY)
    await api.act(ask, action="ask_back", text="Which table?")
    await api.act(ask, action="answer", value=True)
    status, stood = await explain(api, ask, "The small one.")
    assert (status, stood["prompt"]["question_id"], stood["prompt"]["asides"]) == (200, "env", [])
    _, back = await api.act(ask, action="back")
    assert len(back["prompt"]["asides"]) == 2
    status, stood = await explain(api, ask, "And one more thing.")
    assert len(stood["prompt"]["asides"]) == 3


@pytest.mark.rule("CLARIFY-1")
@pytest.mark.parametrize(
    ("more", "action", "pointer", "code"),
    [
        ({}, {"text": "Which?"}, "/action", "cannot_ask_back"),
        (CLARIFY, {"text": "  "}, "/text", "empty"),
        (CLARIFY, {"text": "x" * 2_001}, "/text", "too_long"),
    ],
)
async def test_an_invalid_question_back_is_refused_with_a_reason(
    api: Served, more: dict[str, Any], action: Json, pointer: str, code: str
) -> None:
    ask = await api.asked(**more)
    status, problem = await api.act(ask, action="ask_back", **action)
    [error] = problem["errors"]
    assert (status, error["pointer"], error["code"]) == (422, pointer, code)
    assert (await api.get(f"/v1/asks/{ask['id']}"))[1] == ask


@pytest.mark.rule("CLARIFY-2")
async def test_an_explanation_that_cannot_be_shown_is_refused_with_a_reason(api: Served) -> None:
    plain, ask = await api.asked(), await api.asked(**CLARIFY)
    for target, text, code in (
        (plain, "x", "takes_no_explanation"),
        (ask, " ", "empty"),
        (ask, "x" * 20_001, "too_long"),
        (ask, "\ud800", "wrong_type"),
    ):
        status, problem = await explain(api, target, text)
        assert (status, problem["errors"][0]["code"]) == (422, code)
    async with api.http.post(f"/v1/asks/{ask['id']}/context", json={"texts": "x"}) as response:
        assert response.status == 422
    await api.act(ask, action="end_turn")
    assert (await explain(api, ask, "x"))[0] == 410
    assert (await explain(api, {"id": "ask_none"}, "x"))[0] == 404


async def test_there_is_nothing_to_explain_in_a_review(api: Served) -> None:
    options = [{"value": "x", "label": "X"}]
    questions = [{"id": n, "prompt": f"{n}?", "options": options} for n in ("a", "b")]
    ask = await api.asked({"questions": questions}, name="question", **CLARIFY)
    for _ in range(2):
        _, ask = await api.act(ask, action="answer", value="x")
    assert ask["prompt"]["controls"] == ["edit", "submit", "back", "reply", "end_turn"]
    status, problem = await explain(api, ask, "x")
    assert (status, problem["errors"][0]["code"]) == (422, "nothing_to_explain")
    status, problem = await api.act(ask, action="ask_back", text="x")
    assert (status, problem["errors"][0]["code"]) == (422, "cannot_ask_back")


@pytest.mark.rule("CLARIFY-1", "WEBHOOK-1")
async def test_webhooks_report_the_question_before_the_outcome(serve: Any) -> None:
    from answerback_webhooks.settings import CallbackSettings

    callbacks = CallbackSettings.model_validate({"secret": SECRET})
    async with receiving() as receiver, serve(callbacks=callbacks) as api:
        ask = await api.asked(**CLARIFY, callback={"url": receiver.url})
        await api.act(ask, action="ask_back", text="Which table?")
        [first] = await receiver.until(1)
        await api.act(ask, action="end_turn")
        _, second = await receiver.until(2)
    events = [verify_webhook(one.body, one.headers, SECRET) for one in (first, second)]
    assert [event.type for event in events] == ["ask.clarify", "ask.turn_ended"]
    assert events[0].ask.clarify is not None
    assert events[0].ask.clarify["text"] == "Which table?"
    assert first.id != second.id


@pytest.mark.rule("CLARIFY-1", "CLARIFY-2")
async def test_the_client_passes_the_question_on_and_waits_again_after_the_explanation(
    api: Served,
) -> None:
    async with AsyncClient(api.running.api_url) as client:
        ask = await client.submit("ask_user", {"question": "Go?"}, accepts=["clarify"], to="web")
        waiting = asyncio.create_task(client.wait(ask.id, timeout=WAIT))
        await api.waiters(1)
        await api.act({"id": ask.id}, action="ask_back", text="Where to?")
        with pytest.raises(AskedBackError, match="Where to") as error:
            await waiting
        assert (error.value.ask.id, error.value.clarify["text"]) == (ask.id, "Where to?")
        assert (await client.add_context(ask.id, "Up.")).clarify is None
        with pytest.raises(InvalidCallError) as refused:
            await client.add_context(ask.id, " ")
        assert refused.value.messages == ["The text is blank."]
        waiting = asyncio.create_task(client.wait(ask.id, timeout=WAIT))
        await api.waiters(1)
        await api.act({"id": ask.id}, action="answer", value="Yes")
        assert (await waiting).answers
        with pytest.raises(EndedError):
            await client.add_context(ask.id, "Late.")


@pytest.mark.rule("CLARIFY-2")
async def test_questions_and_explanations_are_searchable_once_the_ask_has_ended(
    api: Served,
) -> None:
    ask = await api.asked(**CLARIFY)
    await api.act(ask, action="ask_back", text="Which xylophone?")
    await explain(api, ask, "The zwieback.")
    await api.act(ask, action="end_turn")
    for word in ("xylophone", "zwieback"):
        _, found = await api.get(f"/v1/search?q={word}")
        assert [one["id"] for one in found["asks"]] == [ask["id"]]
    async with api.http.get("/v1/export") as response:
        exported = await response.text()
    assert "Which xylophone?" in exported
    assert "The zwieback." in exported
