"""The last confirmation and an objection in the same moment: one of them counts, on every store and over replicas."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from answerback.core.actions import Answer, Confirm, EndTurn, Object
from answerback.core.ask import Status
from answerback.core.handing_over import HandOver
from answerback.core.person import Person
from answerback.ports.claims import SOLE_CLAIM, Claim
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason, Surface
from answerback.service.service import Service
from answerback.service.submission_request import Route, Routes
from tests.postgres import database_of, store_at
from tests.service_support import FakeSurface, ManualClock, ask_user

ROUNDS = 30
ROUTES = Routes(
    "prod",
    {
        "prod": Route.model_validate(
            {"to": "chat:C1", "responders": ["ann", "bob", "cy"], "confirmations": 1}
        )
    },
)


def who(name: str) -> Actor:
    return Actor(Person(surface="chat", user_id=name))


@pytest.fixture(params=["sqlite", "postgresql"])
async def services(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[Service, Service]]:
    """Two processes on one PostgreSQL database; a store of one process has two names for one service."""
    async with AsyncExitStack() as up:
        url = up.enter_context(database_of(request, tmp_path))
        stores = [store_at(url) for _ in range(1 if request.param == "sqlite" else 2)]
        made = []
        for number, store in enumerate(stores):
            await store.open()
            up.push_async_callback(store.close)
            claim = Claim(f"process {number}", 60.0) if len(stores) > 1 else SOLE_CLAIM
            surfaces: dict[str, Surface] = {"chat": FakeSurface()}
            names: frozenset[str] = frozenset()
            made.append(
                Service(
                    store,
                    ManualClock(),
                    surfaces,
                    known_surfaces=names,
                    routes=ROUTES,
                    claim=claim,
                )
            )
        yield made[0], made[-1]


@pytest.mark.rule("CONFIRM-1", "CONFIRM-4", "WALK-9")
async def test_one_outcome_follows_from_a_last_confirmation_and_an_objection(
    services: tuple[Service, Service],
) -> None:
    one, other = services
    ended = set()
    for number in range(ROUNDS):
        ask = (await one.submit(ask_user(to=None, responders=None))).ask
        answered = await one.act(ask.id, Answer(value=True), who("ann"))
        assert isinstance(answered, Acted)
        votes = [
            one.act(ask.id, Confirm(), who("bob"), revision=2),
            other.act(ask.id, Object(text="Wait"), who("cy"), revision=2),
        ]
        done = await asyncio.gather(*(votes if number % 2 else reversed(votes)))
        [refused] = [each for each in done if isinstance(each, Rejected)]
        [counted] = [each for each in done if isinstance(each, Acted)]
        assert refused.why in {RejectReason.ENDED, RejectReason.STALE}
        stored = await other.get(ask.id)
        assert stored is not None
        assert (stored.status, stored.revision) == (counted.ask.status, 3)
        ended.add(stored.status)
        assert len(stored.walk.votes) == (stored.status is Status.ANSWERED)
        kinds = [each.entry.kind for each in await other.record(ask.id)]
        vote = "confirmed" if stored.status is Status.ANSWERED else "objected"
        assert kinds == ["request", "answered", vote, "ended"]
    assert ended <= {Status.ANSWERED, Status.CANCELLED}


@pytest.mark.rule("HANDOVER-1")
async def test_a_hand_over_and_an_ending_in_the_same_moment_make_one_step(
    services: tuple[Service, Service],
) -> None:
    one, other = services
    for _ in range(ROUNDS // 3):
        ask = (await one.submit(ask_user(to=None, responders=["ann", "bob"]))).ask
        done = await asyncio.gather(
            one.act(ask.id, HandOver(to="cy"), who("ann"), revision=1),
            other.act(ask.id, EndTurn(), who("bob"), revision=1),
        )
        assert sorted(isinstance(each, Acted) for each in done) == [False, True]
        stored = await one.get(ask.id)
        assert stored is not None
        assert stored.open is isinstance(done[0], Acted)
        assert ("cy" in stored.placement.responders) is stored.open
