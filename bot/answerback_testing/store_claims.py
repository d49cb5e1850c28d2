"""Contract tests for a store's claims and leases: two holders share the work, and nothing is done twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from answerback.core.ask import Ask, RecordEntry, Thread
from answerback.core.errors import IdempotencyKeyReusedError, LeaseLostError
from answerback.ports.claims import Claim, Fence
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import DeliveryState
from answerback.ports.surface import Shown
from answerback_testing.example_asks import new_ask
from answerback_testing.store_changes import SharedChangesContract
from answerback_testing.store_examples import (
    PATIENCE,
    delivery_result,
    end_decision,
    new_delivery,
    release_all,
)

ANN, BEN = Claim("ann", 60.0), Claim("ben", 60.0)
SHORT_LEASE = 0.2
"""Seconds of a claim that should expire soon."""
NOW = 9_000.0


async def take_after_lease(since: float, take: Callable[[], Awaitable[object]]) -> None:
    """Wait until something can be taken, and assert that this is not before the short claim on it has expired."""
    async with asyncio.timeout(PATIENCE):
        while not await take():  # noqa: ASYNC110 the end of a lease is not signalled
            await asyncio.sleep(0.01)
    assert time.monotonic() - since >= SHORT_LEASE - 0.01


def advance_decision(claim: Claim | None = None) -> Callable[[Ask | None], Decision[int]]:
    """Return a decision that moves the ask to its next revision and claims its message; its result is the revision."""

    def decide(ask: Ask | None) -> Decision[int]:
        assert ask is not None
        moved = replace(ask, revision=ask.revision + 1)
        return Decision(Write(moved, claim=claim), moved.revision)

    return decide


def deadline_decision(at: float) -> Callable[[Ask | None], Decision[None]]:
    """Return a decision that changes the ask's deadline."""

    def decide(ask: Ask | None) -> Decision[None]:
        assert ask is not None
        return Decision(Write(replace(ask, schedule=replace(ask.schedule, expires_at=at))), None)

    return decide


async def deliveries(store: Store, claim: Claim, limit: int = 10) -> list[str]:
    """Claim deliveries and return their ids."""
    return [each.delivery.id for each in await store.outbox.claim(claim, NOW, limit)]


class ClaimsContract:
    """Two holders of claims on one store."""

    # --- messages ---

    @pytest.mark.rule("CLAIM-1", "CLAIM-2")
    async def test_the_message_of_an_ask_has_one_holder_until_it_is_up_to_date(
        self, store: Store
    ) -> None:
        ask = new_ask()
        await store.asks.create(Write(ask), None)
        assert await store.claims.claim_message("ask_1", ANN) == ask
        assert await store.claims.claim_message("ask_1", BEN) is None
        assert await store.claims.claim_message("ask_1", ANN) == ask
        await store.asks.change("ask_1", advance_decision())
        await store.asks.save_shown("ask_1", Shown(1, {"id": "1"}, Thread()))
        assert await store.claims.claim_message("ask_1", BEN) is None, "the ask has changed since"
        await store.asks.save_shown("ask_1", Shown(2, {"id": "1"}, Thread()))
        shown = await store.claims.claim_message("ask_1", BEN)
        assert shown is not None
        assert shown.placement.shown_revision == shown.revision == 2
        await store.asks.change("ask_1", advance_decision())
        assert await store.claims.claim_message("ask_1", ANN) is not None, (
            "an up-to-date message has no holder"
        )
        assert await store.claims.claim_message("ask_1", BEN) is None
        assert await store.claims.claim_message("ask_0", ANN) is None

    @pytest.mark.rule("CLAIM-1")
    async def test_a_change_claims_the_message_that_it_leaves_behind(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(1), claim=ANN), None)
        assert await store.claims.claim_message("ask_1", BEN) is None
        await store.asks.change("ask_1", advance_decision(BEN))
        assert await store.claims.claim_message("ask_1", BEN) is None, "the first holder keeps it"
        await store.asks.save_shown("ask_1", Shown(2, {"id": "1"}, Thread()))
        await store.asks.change("ask_1", advance_decision(BEN))
        assert await store.claims.claim_message("ask_1", ANN) is None
        await store.asks.create(Write(new_ask(2, shown_revision=1), claim=ANN), None)
        await store.asks.change("ask_2", advance_decision())
        found = await store.claims.claim_message("ask_2", BEN)
        assert found is not None, "it did not need to be shown"

    @pytest.mark.rule("CLAIM-1")
    async def test_changes_at_the_same_time_leave_the_message_to_the_first(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask(shown_revision=1)), None)
        await asyncio.gather(
            store.asks.change("ask_1", advance_decision(ANN)),
            store.asks.change("ask_1", deadline_decision(5_000.0)),
            store.asks.change("ask_1", advance_decision(ANN)),
            store.asks.save_shown("ask_1", Shown(2, {"id": "1"}, Thread())),
        )
        assert await store.claims.claim_message("ask_1", BEN) is None
        assert await store.claims.claim_message("ask_1", ANN) is not None

    @pytest.mark.rule("CLAIM-3")
    async def test_a_message_whose_holder_died_can_be_claimed_after_the_lease(
        self, store: Store
    ) -> None:
        since = time.monotonic()
        await store.asks.create(Write(new_ask(), claim=Claim("ann", SHORT_LEASE)), None)
        await take_after_lease(since, lambda: store.claims.claim_message("ask_1", BEN))
        assert await store.claims.claim_message("ask_1", ANN) is None

    @pytest.mark.rule("CLAIM-4")
    async def test_a_message_that_shows_an_older_state_late_is_outdated(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        await store.asks.change("ask_1", advance_decision())
        await store.asks.save_shown("ask_1", Shown(2, {"id": "1"}, Thread()))
        assert await store.messages.list_outdated(1) == []
        await store.asks.save_shown("ask_1", Shown(1, {"id": "1"}, Thread()))
        assert await store.messages.list_outdated(1) == ["ask_1"]

    @pytest.mark.rule("CLAIM-1")
    async def test_outdated_asks_leave_out_those_claimed_by_others(self, store: Store) -> None:
        for number, claim in enumerate((ANN, Claim("ann", 0.0), None, BEN), 1):
            await store.asks.create(Write(new_ask(number, at=1_000.0 + number), claim=claim), None)
        assert await store.messages.list_outdated(9) == ["ask_1", "ask_2", "ask_3", "ask_4"]
        assert await store.messages.list_outdated(9, "ann") == ["ask_1", "ask_2", "ask_3"]
        assert await store.messages.list_outdated(9, "ben") == ["ask_2", "ask_3", "ask_4"]
        assert await store.messages.list_outdated(1, "ben") == ["ask_2"], (
            "asks claimed by others do not count towards the limit"
        )

    # --- timers ---

    @pytest.mark.rule("CLAIM-1", "CLAIM-2")
    async def test_a_timer_has_one_holder_until_the_deadline_changes(self, store: Store) -> None:
        for number in range(3):
            await store.asks.create(Write(new_ask(number, expires_at=5_000.0 + number)), None)
        assert await store.claims.claim_due(ANN, NOW, 2) == ["ask_0", "ask_1"]
        assert await store.claims.claim_due(BEN, NOW, 5) == ["ask_2"]
        assert await store.claims.claim_due(ANN, NOW, 5) == ["ask_0", "ask_1"]
        await store.asks.change("ask_0", advance_decision())
        assert await store.claims.claim_due(BEN, NOW, 5) == ["ask_2"], "the deadline is the same"
        await store.asks.change("ask_0", deadline_decision(6_000.0))
        await store.asks.change("ask_1", end_decision())
        assert await store.claims.claim_due(BEN, NOW, 5) == ["ask_2", "ask_0"]

    @pytest.mark.rule("CLAIM-3")
    async def test_a_timer_whose_holder_died_can_be_claimed_after_the_lease(
        self, store: Store
    ) -> None:
        await store.asks.create(Write(new_ask(expires_at=5_000.0)), None)
        since = time.monotonic()
        assert await store.claims.claim_due(Claim("ann", SHORT_LEASE), NOW, 1) == ["ask_1"]
        await take_after_lease(since, lambda: store.claims.claim_due(BEN, NOW, 1))
        assert await store.claims.claim_due(ANN, NOW, 1) == []

    @pytest.mark.rule("CLAIM-1")
    async def test_simultaneous_claims_are_divided(self, store: Store) -> None:
        for number in range(20):
            delivery = new_delivery(number, ask=f"ask_{number}")
            ask = new_ask(number, expires_at=5_000.0)
            await store.asks.create(Write(ask, deliveries=(delivery,)), None)
        claims = store.claims
        timers = await asyncio.gather(*(claims.claim_due(claim, NOW, 20) for claim in (ANN, BEN)))
        sent = await asyncio.gather(*(deliveries(store, claim, 20) for claim in (ANN, BEN)))
        shown = await asyncio.gather(
            *(claims.claim_message(f"ask_{n}", claim) for n in range(20) for claim in (ANN, BEN))
        )
        for shares in (timers, sent):
            ids = [each for share in shares for each in share]
            assert len(set(ids)) == len(ids) == 20
        assert len([ask for ask in shown if ask is not None]) == 20

    # --- deliveries ---

    @pytest.mark.rule("CLAIM-1", "WEBHOOK-4")
    async def test_only_the_first_undelivered_of_an_ask_can_be_claimed(self, store: Store) -> None:
        await store.asks.create(
            Write(new_ask(), deliveries=(new_delivery(1), new_delivery(2, at=500.0))), None
        )
        assert await deliveries(store, ANN) == ["msg_1"]
        assert await deliveries(store, BEN) == []
        assert await deliveries(store, ANN) == [], "it is being delivered"
        later = delivery_result(new_delivery(1), DeliveryState.PENDING, next_at=8_000.0)
        await store.outbox.save_results([later], [], "ann")
        assert await deliveries(store, BEN) == ["msg_1"]
        await store.outbox.save_results(
            [delivery_result(new_delivery(1), DeliveryState.DELIVERED)], [], "ben"
        )
        assert await deliveries(store, ANN) == ["msg_2"]

    @pytest.mark.rule("CLAIM-3", "CLAIM-4")
    async def test_a_holder_that_lost_a_delivery_cannot_save_its_result(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(), deliveries=(new_delivery(),)), None)
        since = time.monotonic()
        brief = Claim("ann", SHORT_LEASE)
        assert await deliveries(store, brief) == ["msg_1"]
        await take_after_lease(since, lambda: deliveries(store, BEN))
        assert not await store.outbox.renew("msg_1", ANN)
        line = ("ask_1", RecordEntry(at=3_000.0, kind="delivery"))
        await store.outbox.save_results(
            [delivery_result(new_delivery(), DeliveryState.DEAD)], [line], "ann"
        )
        assert await store.record.read("ask_1") == []
        found = await store.outbox.get("msg_1")
        assert found is not None
        assert found.state is DeliveryState.PENDING
        delivered = delivery_result(new_delivery(), DeliveryState.DELIVERED)
        await store.outbox.save_results([delivered], [line], "ben")
        assert await store.outbox.get("msg_1") == delivered
        assert len(await store.record.read("ask_1")) == 1
        assert not await store.outbox.renew("msg_1", BEN), "it is already delivered"

    @pytest.mark.rule("CLAIM-3")
    async def test_a_renewed_claim_continues(self, store: Store) -> None:
        await store.asks.create(Write(new_ask(), deliveries=(new_delivery(),)), None)
        assert await deliveries(store, Claim("ann", 0.0)) == ["msg_1"]
        assert await store.outbox.renew("msg_1", ANN), "nobody else has taken it"
        assert await deliveries(store, BEN) == []
        await store.outbox.save_results(
            [delivery_result(new_delivery(), DeliveryState.DELIVERED)], [], "ann"
        )

    # --- all of them ---

    @pytest.mark.rule("CLAIM-5")
    async def test_released_claims_can_be_taken_at_once(self, store: Store) -> None:
        ask = new_ask(expires_at=5_000.0)
        await store.asks.create(Write(ask, deliveries=(new_delivery(),), claim=ANN), None)
        await store.asks.create(Write(new_ask(2), claim=BEN), None)
        await store.claims.claim_due(ANN, NOW, 1)
        await deliveries(store, ANN)
        await release_all(store, "ann")
        assert await store.claims.claim_message("ask_1", BEN) is not None
        assert await store.claims.claim_message("ask_2", ANN) is None, "another holder has it"
        assert await store.claims.claim_due(BEN, NOW, 1) == ["ask_1"]
        assert await deliveries(store, BEN) == ["msg_1"]

    # --- leases ---

    @pytest.mark.rule("CLAIM-6")
    async def test_a_lease_has_one_holder_and_a_new_epoch_per_holding(self, store: Store) -> None:
        assert await store.leases.take("gateway", ANN) == 1
        assert await store.leases.take("gateway", BEN) is None
        assert await store.leases.take("gateway", ANN) == 1
        assert await store.leases.take("other", BEN) == 1
        await store.leases.release("gateway", "ben")
        assert await store.leases.take("gateway", BEN) is None
        await store.leases.release("gateway", "ann")
        await store.leases.release("nothing", "ann")
        since = time.monotonic()
        assert await store.leases.take("gateway", Claim("ben", SHORT_LEASE)) == 2
        await take_after_lease(since, lambda: store.leases.take("gateway", ANN))
        assert await store.leases.take("gateway", ANN) == 3
        assert await store.leases.take("gateway", Claim("ann", 0.0)) == 3
        assert await store.leases.take("gateway", ANN) == 4, "in between nobody held it"

    @pytest.mark.rule("CLAIM-6")
    async def test_a_process_that_lost_a_lease_changes_nothing(self, store: Store) -> None:
        await store.asks.create(Write(new_ask()), None)
        fence = Fence("gateway", 1)
        with pytest.raises(LeaseLostError, match="gateway"):
            await store.asks.change("ask_1", advance_decision(), fence=fence)
        await store.leases.take("gateway", ANN)
        await store.asks.change("ask_1", advance_decision(), fence=fence)
        await store.leases.take("gateway", Claim("ann", 0.0))
        with pytest.raises(LeaseLostError):
            await store.asks.change("ask_1", advance_decision(), fence=fence)
        assert await store.leases.take("gateway", BEN) == 2
        lost, held = await asyncio.gather(
            store.asks.change("ask_1", advance_decision(), fence=fence),
            store.asks.change("ask_1", advance_decision(), fence=Fence("gateway", 2)),
            return_exceptions=True,
        )
        assert isinstance(lost, LeaseLostError)
        assert held == (3, False)
        mixed = [
            store.asks.change("ask_1", advance_decision(), fence=needed)
            for needed in (fence, None, fence)
        ]
        before, free, after = await asyncio.gather(*mixed, return_exceptions=True)
        assert free == (4, False), "it needs no lease"
        assert isinstance(before, LeaseLostError)
        assert isinstance(after, LeaseLostError)

    # --- the clock, rate limits and notifications ---

    @pytest.mark.rule("CLAIM-13")
    async def test_a_store_with_its_own_clock_returns_the_time(self, store: Store) -> None:
        first = await store.changes.time()
        if first is not None:
            assert abs(first - time.time()) < PATIENCE
            assert first <= (await store.changes.time() or 0.0)

    @pytest.mark.rule("CLAIM-7")
    async def test_the_longest_retry_delay_of_a_bucket_counts(self, store: Store) -> None:
        assert await store.rate_limits.get_retry_after("slack:C1") == 0.0
        await store.rate_limits.set_retry_after("slack:C1", 60.0)
        await store.rate_limits.set_retry_after("slack:C1", 10.0)
        assert 50.0 < await store.rate_limits.get_retry_after("slack:C1") <= 60.0
        assert await store.rate_limits.get_retry_after("slack:C2") == 0.0
        await store.rate_limits.set_retry_after("slack:C2", 0.0)
        await store.rate_limits.set_retry_after("slack:C3", 0.01)
        async with asyncio.timeout(PATIENCE):
            while await store.rate_limits.get_retry_after("slack:C3"):  # noqa: ASYNC110 not signalled
                await asyncio.sleep(0.01)

    @pytest.mark.rule("CLAIM-8")
    async def test_a_store_does_not_notify_about_its_own_changes(self, store: Store) -> None:
        notifications = set[str | None]()
        store.changes.listen(notifications.add)
        await store.asks.create(Write(new_ask()), None)
        await store.asks.change("ask_1", advance_decision())
        store.changes.announce("something else")
        await store.check()
        assert notifications <= {None}


class SharedStoreContract(SharedChangesContract):
    """Further tests for a store that several processes share, each with its own store object."""

    @pytest.mark.rule("CLAIM-8")
    async def test_what_one_process_changes_or_announces_is_notified_to_the_others(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        other = make_store()
        await other.open()
        notifications = asyncio.Queue[str | None]()
        other.changes.listen(notifications.put_nowait)
        await store.asks.create(Write(new_ask()), None)
        await store.asks.change("ask_1", advance_decision())
        store.changes.announce("something else")
        awaited: set[str | None] = {"ask_1", "something else"}
        async with asyncio.timeout(PATIENCE):
            while awaited:
                awaited.discard(await notifications.get())
        assert await other.changes.revisions(["ask_1"]) == {"ask_1": 2}
        await other.close()
        await store.asks.change("ask_1", advance_decision())

    @pytest.mark.rule("ACT-9")
    async def test_a_delivery_at_several_processes_counts_once(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        other = make_store()
        await other.open()
        for number in range(2):
            await store.asks.create(Write(new_ask(number)), None)
        results = await asyncio.gather(
            *(
                each.asks.change("ask_0", advance_decision(), delivery="key", digest="a")
                for each in (store, other)
            )
        )
        assert sorted(repeated for _, repeated in results) == [False, True]
        outcomes = await asyncio.gather(
            store.asks.change("ask_0", advance_decision(), delivery="next", digest="b"),
            other.asks.change("ask_1", advance_decision(), delivery="next", digest="c"),
            return_exceptions=True,
        )
        assert sum(isinstance(each, IdempotencyKeyReusedError) for each in outcomes) == 1
        assert sum((await store.changes.revisions(["ask_0", "ask_1"])).values()) == 4
        await other.close()

    @pytest.mark.rule("CLAIM-1", "CLAIM-6")
    async def test_claims_and_leases_hold_between_processes(
        self, store: Store, make_store: Callable[[], Store]
    ) -> None:
        other = make_store()
        await other.open()
        ask = new_ask(expires_at=5_000.0)
        await store.asks.create(Write(ask, deliveries=(new_delivery(),), claim=ANN), None)
        assert await store.claims.claim_due(ANN, NOW, 1) == ["ask_1"]
        assert await deliveries(store, ANN) == ["msg_1"]
        assert await store.leases.take("gateway", ANN) == 1
        await store.rate_limits.set_retry_after("slack:C1", 60.0)
        assert await other.claims.claim_message("ask_1", BEN) is None
        assert await other.claims.claim_due(BEN, NOW, 1) == []
        assert await deliveries(other, BEN) == []
        assert await other.leases.take("gateway", BEN) is None
        assert await other.rate_limits.get_retry_after("slack:C1") > 0
        await other.close()
