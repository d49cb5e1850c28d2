"""The Slack stage, for the contract suite of all surfaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback_chat.delays import Delays
from answerback_slack.manifest import EVENTS_PATH
from answerback_testing.surface_harness import SurfaceHarness, combine_replicas
from tests.fakes import long_timeouts
from tests.fakes.long_timeouts import HASTY, PATIENT
from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.surface_setups import LoadBalancer, Setup, cancel_tasks
from tests.unit.adapters.slack.example_events import example_payloads
from tests.unit.adapters.slack.removal import SlackRemoval
from tests.unit.adapters.slack.rig import CHANNEL, Mode, belongs, run_app, workspace
from tests.unit.adapters.slack.simulated_people import SimulatedSlackPerson


class SlackStage(SlackRemoval):
    """See `answerback_testing.simulated_people.Stage`."""

    place = Destination(surface="slack", channel=CHANNEL)

    def __init__(self, slack: FakeSlack, setup: Setup, mode: Mode) -> None:
        self.slack = slack
        self._setup = setup
        self._mode: Mode = mode
        self._balanced = LoadBalancer(EVENTS_PATH, slack.deliver_to)
        self._up = AsyncExitStack()
        self._people = 0
        self.harness: SurfaceHarness

    async def add_person(self, name: str) -> SimulatedSlackPerson:
        person = self._new_person(name)
        self.slack.workspace.channels[CHANNEL].members.add(person.id)
        return SimulatedSlackPerson(self.slack, person)

    def _new_person(self, name: str) -> Person:
        self._people += 1
        return self.slack.person(f"U0{name.upper()}{self._people}", name)

    async def add_person_alone(self, name: str, *, reachable: bool = True) -> SimulatedSlackPerson:
        person = self._new_person(name)
        person.user.deleted, direct = not reachable, self.slack.workspace.direct(person.id)
        return SimulatedSlackPerson(self.slack, person, direct.id)

    async def other_places(self) -> Mapping[str, Destination]:
        root = self._new_person("Root")
        self.slack.workspace.channels[CHANNEL].members.add(root.id)
        about = await root.post(CHANNEL, "About the deployment")
        return {"thread": Destination(surface="slack", channel=CHANNEL, thread=about.ts)}

    async def restart(self, delays: Delays = PATIENT) -> None:
        await self._up.aclose()
        self._up.push_async_callback(self._balanced.stop)
        benches = []
        for _ in range(self._setup.replicas):
            up = run_app(self.slack, self._setup.database, self._mode, self._balanced.serve, delays)
            app = await self._up.enter_async_context(up)
            benches.append(SurfaceHarness(app.service, app.shower, timers=app.timers))
        self.harness = combine_replicas(benches)

    async def kill(self) -> None:
        cancel_tasks("files")
        await self.restart()

    async def stop(self) -> None:
        await self._up.aclose()

    def rate_limit_next(self, calls: int) -> None:
        self.slack.faults.clear()
        self.slack.faults.add("*", times=calls, status=429, retry_after=0, channel=CHANNEL)

    def count_rate_limited(self) -> int:
        return sum(call.status == 429 for call in self.slack.calls)

    def delay_next_edit(self) -> None:
        self._delayed = self.slack.faults.add("chat.update", drop=True, hang=True)

    async def carry_out_edit(self) -> None:
        self._delayed.release()
        await asyncio.gather(*self.slack._late)

    def delay_next_post(self) -> None:
        self._delayed = self.slack.faults.add("chat.postMessage", drop=True, hang=True)

    carry_out_post = carry_out_edit

    def count_messages(self, ask: Ask) -> int:
        channel = str((ask.placement.message or {})["channel"])
        return sum(belongs(each, ask.id) for each in self.slack.messages(channel))

    def lose_next_post_result(self) -> None:
        self.slack.faults.add("chat.postMessage", drop=True, when="after")

    def forbid_edits(self, *, forbidden: bool) -> None:
        self.slack.faults.clear()
        if forbidden:
            self.slack.faults.add("chat.update", times=None, error="message_limit_exceeded")

    def refuse_token(self, *, refused: bool) -> None:
        self.slack.revoked = refused

    def delete_unnoticed(self, ask: Ask) -> None:
        del self.slack.workspace.messages[CHANNEL][str((ask.placement.message or {})["ts"])]

    def close_place_unnoticed(self, *, closed: bool) -> None:
        self.slack.workspace.channels[CHANNEL].archived = closed

    async def restart_after_gap(self) -> None:
        await self.restart(HASTY)

    def payloads(self) -> list[JsonValue]:
        return example_payloads(self.slack, CHANNEL)

    async def send_payload(self, payload: JsonValue) -> None:
        assert isinstance(payload, dict)
        kind = "interactive" if "actions" in payload or "view" in payload else "events_api"
        kind = "slash_commands" if "command" in payload else kind
        ack = await self.slack.way.send(kind, payload)
        assert ack.ok or ack.status in {400, 401}, (payload, ack)


@asynccontextmanager
async def run_stage(setup: Setup, mode: Mode) -> AsyncIterator[SlackStage]:
    """A fake Slack with the service in front of it, or several behind a load balancer."""
    with pytest.MonkeyPatch.context() as patch:
        long_timeouts.slack(patch)
        async with workspace() as (slack, _, _):
            stage = SlackStage(slack, setup, mode)
            try:
                await stage.restart()
                yield stage
            finally:
                await stage.stop()
