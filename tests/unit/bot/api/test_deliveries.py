"""Webhook deliveries through the API: their state, and sending one again."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from answerback.api.wire import DeliveryPage
from answerback_webhooks.settings import CallbackSettings
from tests.unit.bot.api.conftest import Json, Serve, Served, until

SECRET = CallbackSettings(secret=(SecretStr("whsec_" + "QUJD" * 8),))
NOBODY = "http://127.0.0.1:1/hook"


async def ended_ask(api: Served, **headers: Any) -> Json:
    """Create an ended ask whose webhook goes to an unreachable receiver."""
    ask = await api.asked(callback={"url": NOBODY}, **headers)
    await api.http.delete(f"/v1/asks/{ask['id']}", **headers)
    return ask


@pytest.mark.rule("API-10")
async def test_deliveries_are_listed_newest_first_with_their_state(serve: Serve) -> None:
    async with serve(callbacks=SECRET) as api:
        asks = [await ended_ask(api) for _ in range(3)]

        async def tried() -> bool:
            _, body = await api.get("/v1/deliveries?state=pending")
            return all(one["tries"] and one["last_error"] for one in body["deliveries"])

        await until(tried)
        _, body = await api.get("/v1/deliveries")
        DeliveryPage.model_validate(body)
        rows = body["deliveries"]
        assert [row["ask_id"] for row in rows] == [ask["id"] for ask in reversed(asks)]
        assert {row["type"] for row in rows} == {"ask.withdrawn"}
        _, first = await api.get("/v1/deliveries?limit=2")
        _, second = await api.get(f"/v1/deliveries?limit=2&after={first['next']}")
        assert [row["id"] for row in first["deliveries"] + second["deliveries"]] == [
            row["id"] for row in rows
        ]
        assert second["next"] is None
        assert (await api.get("/v1/deliveries?state=dead"))[1]["deliveries"] == []


@pytest.mark.rule("API-10")
async def test_a_delivery_is_sent_again_on_request(serve: Serve) -> None:
    async with serve(callbacks=SECRET) as api:
        await ended_ask(api)

        async def tried() -> bool:
            _, body = await api.get("/v1/deliveries")
            return bool(body["deliveries"] and body["deliveries"][0]["tries"])

        await until(tried)
        _, body = await api.get("/v1/deliveries")
        delivery = body["deliveries"][0]["id"]
        async with api.http.post(f"/v1/deliveries/{delivery}/redeliver") as response:
            assert response.status == 202
            again = await response.json()
        assert (again["id"], again["state"]) == (delivery, "pending")
        await until(tried)


async def test_an_unknown_delivery_or_another_agents_is_404(serve: Serve) -> None:
    async with serve() as api:
        async with api.http.post("/v1/deliveries/msg_none/redeliver") as response:
            assert response.status == 404
        status, body = await api.get("/v1/deliveries?after=made-up")
        assert (status, body["title"]) == (400, "Bad query")
        assert (await api.get("/v1/deliveries?state=lost"))[0] == 400


@pytest.mark.rule("AUTH-3")
async def test_an_agent_sees_only_its_own_deliveries(serve: Serve) -> None:
    async with serve({"ci": "agent", "other": "agent"}) as api:
        ask = await api.asked(callback={"url": NOBODY}, headers=api.bearer("ci"))
        await api.act(ask, action="end_turn")
        _, mine = await api.get("/v1/deliveries", **api.bearer("ci"))
        (delivery,) = mine["deliveries"]
        assert (await api.get("/v1/deliveries", **api.bearer("other")))[1]["deliveries"] == []
        again = f"/v1/deliveries/{delivery['id']}/redeliver"
        for who, status in (("other", 404), ("ci", 202)):
            async with api.http.post(again, headers=api.bearer(who)) as response:
                assert response.status == status
