"""The time for which a prompt waits for a service that is away when it comes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from answerback_agents.cli import bridged_server
from answerback_agents.pipe.ask_people import AskClient, Asking, Call
from answerback_agents.pipe.exchange import answer_event
from answerback_client import retries
from answerback_client.blocking_connection import BlockingConnection, Response
from answerback_client.errors import UnreachableError
from tests.unit.bot.agent_support import Json
from tests.unit.bot.hook_support import COPILOT

UPGRADE = 30.0
"""Seconds for which the service is away."""


class Clock:
    """A clock that only moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(retries, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def upgraded(clock: Clock, answer: Json) -> BlockingConnection:
    """A service that is upgraded, and then answers."""

    class Upgraded(BlockingConnection):
        def _call_once(self, *_: Any) -> Response:
            if clock.now < UPGRADE:
                raise UnreachableError("It is being upgraded.")
            return Response(200, answer)

    return Upgraded("http://127.0.0.1:1", pause=clock.wait)


@pytest.mark.rule("CONNECT-10")
def test_a_hook_waits_for_a_service_that_is_upgraded(clock: Clock) -> None:
    service = upgraded(clock, {"behavior": "allow"})
    assert answer_event("copilot", COPILOT, service).output == {"behavior": "allow"}
    assert UPGRADE <= clock.now < 2 * UPGRADE


@pytest.mark.rule("CONNECT-10")
def test_proxies_and_bridges_wait_for_a_service_that_is_upgraded(clock: Clock) -> None:
    answered = {"id": "ask_1", "status": "answered", "source": "human"}
    people = AskClient(upgraded(clock, answered))
    assert people.ask(Asking(), Call("ask_user", "", {}, None)).is_decided
    assert UPGRADE <= clock.now < 2 * UPGRADE
    assert bridged_server._START_PATIENCE > UPGRADE
