"""The contract of stores: the browsers in which people are notified."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.ports.store import Store
from answerback_push.stored_subscriptions import StoredSubscriptions
from answerback_push.subscriptions import PushSubscription


def new_subscription(number: int = 1) -> PushSubscription:
    """Return the subscription of a browser."""
    return PushSubscription(
        id=f"{number:032x}",
        person="kim",
        endpoint=f"https://push.example/{number}",
        key="p256dh",
        auth="auth",
        device="Firefox",
        credential="sha256:1",
        operator="sha256:2",
        at=float(number),
    )


class SubscriptionsContract:
    """Push subscriptions."""

    @pytest.mark.rule("PUSH-2")
    async def test_subscriptions_are_kept_oldest_first_replaced_by_id_and_removed(
        self, store: Store
    ) -> None:
        stored = StoredSubscriptions(store.rows)
        first, second = new_subscription(1), new_subscription(2)
        await stored.save(second)
        await stored.save(first)
        assert list(await stored.list()) == [first, second]
        again = replace(first, person="ann", at=3.0)
        await stored.save(again)
        assert list(await stored.list()) == [second, again]
        await stored.remove(second.id)
        await stored.remove(second.id)
        assert list(await stored.list()) == [again]
