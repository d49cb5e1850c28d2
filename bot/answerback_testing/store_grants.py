"""Contract tests for grants: made, used and revoked with the changes of asks, each use once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.ask import Ask, RecordEntry
from answerback.core.grants import Grant, GrantEnd, GrantUse
from answerback.core.walker import Person
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import AskLimits, Created, Existing, GrantGone, Idempotency
from answerback_testing.example_asks import new_ask
from answerback_testing.store_examples import answer_decision, end_decision

_AT = 2_000.0


def new_grant(number: int = 1, **fields: Any) -> Grant:
    """Return an example of a grant that was made with an ask."""
    values = {
        "id": f"grant_{number}",
        "ask_id": f"ask_{number}",
        "scope": "scope",
        "match": "command",
        "subject": "ls ü\u0000😀",
        "agent": "coder",
        "owner": None,
        "folder": "/w",
        "route": "ops",
        "by": Person(surface="slack", user_id="U1", name="Ann"),
        "credential": "",
        "at": _AT,
        "until": _AT + 900.0,
        "uses": 2,
    }
    return Grant(**(values | fields))


async def end_with_grant(store: Store, grant: Grant) -> Grant:
    """Create the ask of a grant, and end it with the grant."""
    await store.asks.create(Write(new_ask(grant.ask_id.removeprefix("ask_"))), None)

    def decide(ask: Ask | None) -> Decision[None]:
        write = end_decision()(ask).write
        assert write is not None
        return Decision(write._replace(grant=grant), None)

    await store.asks.change(grant.ask_id, decide)
    return grant


def using(number: int, use: GrantUse) -> Write:
    """Return the write of a new ask that uses a grant."""
    return Write(new_ask(number), grant=use)


class GrantsContract:
    """Tests that every store passes: what it keeps of a grant, and when a grant is used up."""

    @pytest.mark.rule("GRANT-4")
    async def test_a_grant_is_stored_with_the_answer_and_found_by_its_scope(
        self, store: Store
    ) -> None:
        grant = await end_with_grant(store, new_grant())
        assert await store.grants.get(grant.id) == grant
        assert await store.grants.get("grant_9") is None
        assert await store.grants.find(["other", "scope"]) == [grant]
        assert await store.grants.find(["other"]) == []
        assert await store.grants.find([]) == []

    @pytest.mark.rule("GRANT-4")
    async def test_grants_that_end_first_are_found_first_and_new_ones_listed_first(
        self, store: Store
    ) -> None:
        late = await end_with_grant(store, new_grant(1, until=_AT + 99.0))
        soon = await end_with_grant(store, new_grant(2, until=_AT + 9.0, at=_AT + 1))
        assert await store.grants.find(["scope"]) == [soon, late]
        assert await store.grants.newest(9) == [soon, late]
        assert await store.grants.newest(1) == [soon]

    @pytest.mark.rule("GRANT-4")
    async def test_each_use_is_counted_once_and_with_its_ask(self, store: Store) -> None:
        grant = await end_with_grant(store, new_grant())
        first = GrantUse(grant.id, 1, _AT)
        assert isinstance(await store.asks.create(using(11, first), None), Created)
        assert await store.asks.create(using(12, first), None) == GrantGone()
        assert await store.asks.get("ask_12") is None
        second = GrantUse(grant.id, 2, _AT)
        assert isinstance(await store.asks.create(using(13, second), None), Created)
        assert await store.grants.find(["scope"]) == []
        assert await store.asks.create(using(14, GrantUse(grant.id, 3, _AT)), None) == GrantGone()
        assert await store.grants.get(grant.id) == replace(grant, used=2)

    @pytest.mark.rule("GRANT-4")
    @pytest.mark.parametrize("at", [_AT - 0.5, _AT + 900.0, _AT + 901.0])
    async def test_a_use_outside_its_time_is_none(self, store: Store, at: float) -> None:
        grant = await end_with_grant(store, new_grant())
        assert await store.asks.create(using(11, GrantUse(grant.id, 1, at)), None) == GrantGone()
        assert await store.asks.create(using(11, GrantUse("grant_9", 1, _AT)), None) == GrantGone()
        assert await store.asks.get("ask_11") is None
        assert await store.grants.get(grant.id) == grant

    @pytest.mark.rule("GRANT-4")
    async def test_stores_that_use_the_last_one_at_once_use_it_once(
        self, make_store: Callable[[], Store]
    ) -> None:
        stores = [make_store(), make_store()]
        await asyncio.gather(*(store.open() for store in stores))
        grant = await end_with_grant(stores[0], new_grant(uses=1))
        last = GrantUse(grant.id, 1, _AT)
        results = await asyncio.gather(
            *(stores[n % 2].asks.create(using(10 + n, last), None) for n in range(10))
        )
        assert sum(isinstance(each, Created) for each in results) == 1
        assert results.count(GrantGone()) == 9
        assert (await stores[0].counts())["open"] == 1
        await asyncio.gather(*(store.close() for store in stores))

    @pytest.mark.rule("GRANT-4")
    async def test_a_repeated_submission_uses_no_grant(self, store: Store) -> None:
        grant = await end_with_grant(store, new_grant())
        key = Idempotency("coder", "k", "digest")
        first, second = GrantUse(grant.id, 1, _AT), GrantUse(grant.id, 2, _AT)
        await store.asks.create(using(11, first), key)
        repeated = await store.asks.create(using(12, second), key)
        assert isinstance(repeated, Existing)
        assert repeated.ask.id == "ask_11"
        used = await store.grants.get(grant.id)
        assert used is not None
        assert used.used == 1

    @pytest.mark.rule("GRANT-4")
    async def test_what_a_limit_refuses_uses_no_grant(self, store: Store) -> None:
        grant = await end_with_grant(store, new_grant())
        limits = AskLimits(open_asks=1)
        await store.asks.create(using(11, GrantUse(grant.id, 1, _AT)), None, limits)
        await store.asks.create(using(12, GrantUse(grant.id, 2, _AT)), None, limits)
        assert await store.grants.get(grant.id) == replace(grant, used=1)

    @pytest.mark.rule("GRANT-6")
    async def test_a_revoked_grant_is_used_no_more(self, store: Store) -> None:
        grant = await end_with_grant(store, new_grant())

        def revoke(ask: Ask | None) -> Decision[None]:
            assert ask is not None
            return Decision(Write(ask, grant=GrantEnd(grant.id, _AT + 1)), None)

        await store.asks.change(grant.ask_id, revoke)
        ended = replace(grant, ended_at=_AT + 1)
        assert await store.grants.get(grant.id) == ended
        assert await store.grants.find(["scope"]) == []
        assert await store.asks.create(using(11, GrantUse(grant.id, 1, _AT)), None) == GrantGone()
        await store.asks.change(
            grant.ask_id,
            lambda ask: Decision(Write(ask, grant=GrantEnd(grant.id, _AT + 9)) if ask else None, 0),
        )
        assert await store.grants.get(grant.id) == ended, "it ends once"

    @pytest.mark.rule("GRANT-6")
    async def test_a_change_of_another_ask_leaves_grants_alone(self, store: Store) -> None:
        grant = await end_with_grant(store, new_grant())
        await store.asks.create(Write(new_ask(11)), None)
        await store.asks.change("ask_11", answer_decision())
        assert await store.grants.get(grant.id) == grant

    @pytest.mark.rule("GRANT-7")
    async def test_erasing_the_ask_of_a_grant_deletes_it(self, store: Store) -> None:
        grant = await end_with_grant(store, new_grant(1))
        kept = await end_with_grant(store, new_grant(2))
        await store.erasure.erase(grant.ask_id, _AT, ())
        assert await store.grants.newest(9) == [kept]

    @pytest.mark.rule("GRANT-7")
    async def test_all_grants_end_when_the_clock_is_set_back(self, store: Store) -> None:
        grant = await end_with_grant(store, new_grant(1))
        before = await end_with_grant(store, new_grant(2, ended_at=_AT + 1))
        await store.maintenance.shift_schedule(60.0, 1_990.0)
        assert await store.grants.get(grant.id) == replace(grant, ended_at=1_990.0)
        assert await store.grants.get(before.id) == before
        late = await end_with_grant(store, new_grant(3))
        await store.maintenance.shift_schedule(60.0, 1_990.0)
        assert await store.grants.get(late.id) == replace(late, ended_at=1_990.0), (
            "it was made by a process that had not noticed yet"
        )

    @pytest.mark.rule("GRANT-7")
    async def test_the_latest_time_is_kept_until_all_grants_are_over(self, store: Store) -> None:
        async def latest_after(at: float) -> float | None:
            await store.maintenance.note_time(at)
            return await store.record.last_time()

        assert await latest_after(9_000.0) is None, "there is no grant"
        await end_with_grant(store, new_grant(1, until=_AT + 90.0))
        assert await store.record.last_time() == _AT
        assert [await latest_after(_AT + after) for after in (50.0, 40.0)] == [_AT + 50.0] * 2
        await store.record.add(None, RecordEntry(at=_AT + 30.0, kind="note"))
        assert await store.record.last_time() == _AT + 50.0, "a line by a clock that was set back"
        assert [await latest_after(_AT + after) for after in (95.0, 500.0)] == [_AT + 95.0] * 2
        await store.maintenance.shift_schedule(60.0, _AT + 35.0)
        assert await latest_after(_AT + 40.0) == _AT + 35.0, (
            "all have ended, and the new time counts"
        )

    @pytest.mark.rule("GRANT-7")
    async def test_old_grants_are_pruned(self, store: Store) -> None:
        await end_with_grant(store, new_grant(1, at=_AT - 1))
        kept = await end_with_grant(store, new_grant(2))
        await store.maintenance.prune(_AT)
        assert await store.grants.newest(9) == [kept]
