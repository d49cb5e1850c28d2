"""Where a grant is said to have been used, and from when on its clock counts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer, GrantTerms
from answerback.core.ask import Ask, Change, Destination, Thread
from answerback.core.walker import Source
from answerback.ports.store import Store
from answerback.ports.surface import Acted
from answerback.service.service import Service
from answerback.service.submission_request import Agent, Route, Routes, read_submission
from answerback_storage.sqlite.store import SqliteStore
from tests.service_support import FakeSurface, ManualClock, actor

AGENT: Final = Agent("ci", token_hash="hash")
C1: Final = Destination(surface="chat", channel="C1")


@dataclass
class Granting:
    """A service whose only route has grants, and leads where the test says."""

    store: Store
    clock: ManualClock

    def serving(self, to: str) -> Service:
        table = {"to": to, "responders": ["U1"], "grants": {}}
        return Service(
            self.store,
            self.clock,
            {"chat": FakeSurface()},
            known_surfaces=frozenset(),
            routes=Routes("ops", {"ops": Route.model_validate(table)}),
        )

    async def asked(self, service: Service, command: str = "ls") -> Ask:
        body: JsonValue = {
            "name": "PermissionRequest",
            "arguments": {"tool_name": "Bash", "tool_input": {"command": command}},
            "origin": {"folder": "/srv"},
        }
        return (await service.submit(read_submission(body), agent=AGENT)).ask

    async def granted(self, service: Service, thread: str | None = None) -> None:
        """Give a grant with the answer to an ask that was posted in a thread."""
        ask, shown = await self.asked(service), Thread(channel="C1", id=thread)
        await service.update(
            ask.id,
            lambda ask, at: Change(
                replace(ask, placement=replace(ask.placement, thread=shown)), ()
            ),
        )
        answer = Answer(value="allow", grant=GrantTerms("command", 60, 5))
        assert isinstance(await service.act(ask.id, answer, actor("U1")), Acted)


@pytest.fixture
async def granting(tmp_path: Path) -> AsyncIterator[Granting]:
    store = SqliteStore(tmp_path / "asks.db")
    await store.open()
    yield Granting(store, ManualClock())
    await store.close()


@pytest.mark.rule("GRANT-4")
@pytest.mark.parametrize(
    ("made_at", "thread", "used_at", "expected"),
    [
        ("chat:C1", "1.1", "chat:C1", replace(C1, thread="1.1")),
        ("chat:C1", None, "chat:C1", C1),
        ("chat:C1", "1.1", "chat:C2", replace(C1, channel="C2")),
        ("chat:C1/9.9", "9.9", "chat:C1/9.9", replace(C1, thread="9.9")),
        ("chat:C1/9.9", "1.1", "chat:C1/9.9", replace(C1, thread="9.9")),
        ("chat:@U1", "1.1", "chat:@U1", Destination(surface="chat", user="U1")),
    ],
    ids=[
        "in its thread",
        "not posted yet",
        "the route leads elsewhere now",
        "a thread of the route",
        "another thread of the route",
        "a direct message",
    ],
)
async def test_people_read_that_a_grant_was_used_in_the_thread_where_it_was_made(
    granting: Granting, made_at: str, thread: str | None, used_at: str, expected: Destination
) -> None:
    service = granting.serving(made_at)
    await granting.granted(service, thread)
    used = await granting.asked(granting.serving(used_at))
    assert used.walk.answers[0].source is Source.GRANT
    assert used.placement.destination == expected


@pytest.mark.rule("GRANT-4")
async def test_where_the_ask_that_made_it_is_gone_a_grant_is_used_where_the_route_leads(
    granting: Granting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(_ask_id: str) -> None:
        return None

    service = granting.serving("chat:C1")
    await granting.granted(service, "1.1")
    monkeypatch.setattr(granting.store.asks, "get", gone)
    used = await granting.asked(service)
    assert (used.open, used.placement.destination) == (False, C1)


@pytest.mark.rule("GRANT-7")
async def test_once_the_clock_was_set_back_no_earlier_grant_counts_even_when_it_has_caught_up(
    granting: Granting,
) -> None:
    service = granting.serving("chat:C1")
    await granting.granted(service)
    await granting.clock.advance(100.0)
    assert not (await granting.asked(service)).open
    await granting.clock.set(-50.0)
    assert (await granting.asked(service)).open
    await granting.clock.advance(200.0)
    assert (await granting.asked(service)).open
