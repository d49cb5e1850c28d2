"""Webhooks of the real process: kill -9 between outcome and delivery loses none, and no receiver gets another's."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import aiohttp
import pytest

from answerback_client import verify_webhook
from tests.acceptance.agents import eventually, restartable
from tests.fakes.receiver import never, receiving
from tests.unit.bot.outbox_support import SECRET

pytestmark = pytest.mark.acceptance

QUESTION = {"question": "Deploy?", "answer_type": "boolean"}


def call(url: str) -> dict[str, object]:
    return {"name": "ask_user", "arguments": QUESTION, "callback": {"url": url}}


@pytest.mark.rule("WEBHOOK-4", "DATA-1")
async def test_a_process_killed_between_outcome_and_delivery_delivers_after_a_restart(
    tmp_path: Path,
) -> None:
    async with receiving() as receiver, restartable(tmp_path) as service:
        receiver.answers = [never]
        ask = await service.call("POST", "/v1/asks", call(receiver.url))
        await service.answer(ask["id"])
        await receiver.until(1)
        await service.kill()
        await service.start()
        first, second = await receiver.until(2)

        async def delivered() -> list[dict[str, object]]:
            page = await service.call("GET", "/v1/deliveries?state=delivered")
            rows: list[dict[str, object]] = page["deliveries"]
            return rows

        rows = await eventually(delivered)
        record = await service.call("GET", f"/v1/asks/{ask['id']}/record")
    assert first.id == second.id
    assert first.body == second.body
    event = verify_webhook(second.body, second.headers, SECRET)
    assert (event.type, event.ask.id) == ("ask.answered", ask["id"])
    assert [row["ask_id"] for row in rows] == [ask["id"]]
    tries = [line["delivery"]["try"] for line in record["entries"] if line["type"] == "delivery"]
    assert tries == [1]


@pytest.mark.rule("WEBHOOK-4", "DATA-1")
async def test_every_acknowledged_outcome_reaches_the_receiver_however_often_the_service_is_killed(
    tmp_path: Path,
) -> None:
    chance = random.Random(7)
    acknowledged: set[str] = set()
    async with receiving() as receiver, restartable(tmp_path) as service:

        async def one() -> None:
            try:
                ask = await service.call("POST", "/v1/asks", call(receiver.url))
                await service.answer(ask["id"])
                acknowledged.add(ask["id"])
            except (aiohttp.ClientError, ConnectionError, TimeoutError):
                pass  # not acknowledged: nobody knows whether it happened

        for _ in range(2):
            before = len(acknowledged)
            working = [asyncio.create_task(one()) for _ in range(40)]
            wanted = before + chance.randint(3, 30)

            async def enough(wanted: int = wanted) -> bool:
                return len(acknowledged) >= wanted

            await eventually(enough)
            await service.kill()
            await asyncio.gather(*working)
            await service.start()

        async def all_told() -> bool:
            return acknowledged <= {r.event["data"]["id"] for r in receiver.received}

        await eventually(all_told)
        by_ask: dict[str, set[str]] = {}
        for received in receiver.received:
            by_ask.setdefault(received.event["data"]["id"], set()).add(received.id)
    assert len(acknowledged) >= 6
    assert all(len(ids) == 1 for ids in by_ask.values())


async def test_a_callback_to_an_internal_address_is_refused_with_words_for_the_model(
    tmp_path: Path,
) -> None:
    async with restartable(tmp_path) as service, aiohttp.ClientSession() as http:
        for url in (
            "http://169.254.169.254/latest/meta-data",
            "http://10.0.0.1/hook",
            "http://[::ffff:10.0.0.1]/hook",
            "ftp://example.com/",
        ):
            async with http.post(f"{service.url}/v1/asks", json=call(url)) as response:
                assert response.status == 422
                body = await response.json()
            assert body["errors"][0]["pointer"] == "/callback/url"
            assert body["tool_result"]["is_error"] is True
        assert (await service.call("GET", "/v1/asks"))["asks"] == []


@pytest.mark.rule("CLARIFY-1", "CLARIFY-2", "DATA-1")
async def test_asking_back_and_its_explanation_survive_kill_9(tmp_path: Path) -> None:
    async with receiving() as receiver, restartable(tmp_path) as service:
        receiver.answers = [never]
        ask = await service.call("POST", "/v1/asks", call(receiver.url) | {"accepts": ["clarify"]})
        path = f"/v1/asks/{ask['id']}"
        asking = {"action": "ask_back", "text": "Which service?"}
        await service.call("POST", f"{path}/actions", asking)
        await receiver.until(1)
        await service.kill()
        await service.start()
        first, second = await receiver.until(2)
        asked = await service.call("GET", path)
        await service.call("POST", f"{path}/context", {"text": "The api."})
        await service.kill()
        await service.start()
        explained = await service.call("GET", path)
        record = await service.call("GET", f"{path}/record")
    assert (first.id, first.body) == (second.id, second.body)
    event = verify_webhook(second.body, second.headers, SECRET)
    assert (event.type, event.ask.id) == ("ask.clarify", ask["id"])
    assert (asked["status"], asked["clarify"]["text"]) == ("open", "Which service?")
    asides = [aside["text"] for aside in explained["prompt"]["asides"]]
    assert (explained["status"], asides) == ("open", ["Which service?", "The api."])
    kinds = [line["type"] for line in record["entries"] if line["type"] != "delivery"]
    assert kinds == ["request", "clarify", "context"]
