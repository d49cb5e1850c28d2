"""The contract of stores: notifications that are sent like webhooks."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from answerback.ports.claims import Claim
from answerback.ports.store import Store, Write
from answerback.ports.store_values import DeliveryState
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import new_delivery


class PushContract:
    """Deliveries whose types begin with ``push.``."""

    @pytest.mark.rule("PUSH-5")
    async def test_pushes_are_no_webhooks_they_are_not_counted_and_leave_nothing_behind(
        self, store: Store
    ) -> None:
        webhook = new_delivery(1)
        pushes = [
            replace(new_delivery(n), ask_id=f"push_{n}", type="push.waits") for n in (2, 3, 4)
        ]
        await store.asks.create(Write(new_ask(), deliveries=(webhook, *pushes)), None)
        claimed = await store.outbox.claim(Claim("ann", 60.0), 2_000.0, 9)
        assert len(claimed) == 4
        assert (await store.counts())["pending"] == 1
        settled = {"msg_2": DeliveryState.DELIVERED, "msg_3": DeliveryState.DEAD}
        results = [
            replace(each, tries=1, state=settled.get(each.delivery.id, each.state))
            for each in claimed
        ]
        await store.outbox.save_results(results, [], "ben")
        assert await store.outbox.get("msg_2") is not None, "another process has it"
        await store.outbox.save_results(results, [], "ann")
        page = await store.outbox.page(state=None, agent=None, after=None, limit=9)
        assert {each.delivery.id for each in page.rows} == {"msg_1", "msg_4"}
        await store.outbox.save_results([replace(results[0], state=DeliveryState.DELIVERED)], [])
        counted = await store.counts()
        assert (counted["pending"], counted["delivered"], counted["dead"]) == (0, 1, 0)

    @pytest.mark.rule("PUSH-5")
    async def test_a_page_of_deliveries_can_be_read_while_pushes_are_settled(
        self, store: Store
    ) -> None:
        pushes = [
            replace(new_delivery(n), ask_id=f"push_{n}", type="push.waits") for n in range(200)
        ]
        await store.asks.create(Write(new_ask(), deliveries=tuple(pushes)), None)
        claimed = await store.outbox.claim(Claim("ann", 60.0), 2_000.0, 200)
        over = [replace(each, state=DeliveryState.DELIVERED) for each in claimed]

        async def settle() -> None:
            for each in over:
                await store.outbox.save_results([each], [], "ann")

        settling = asyncio.create_task(settle())
        while not settling.done():
            await store.outbox.page(state=None, agent=None, after=None, limit=200)
            await asyncio.sleep(0)  # a store in memory never waits
        await settling
        page = await store.outbox.page(state=None, agent=None, after=None, limit=9)
        assert (len(claimed), page.rows) == (200, ())
