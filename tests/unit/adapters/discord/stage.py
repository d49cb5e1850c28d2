"""The Discord stage, for the contract suite of all surfaces."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import aiohttp
import pytest
from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback_chat.delays import Delays
from answerback_discord import api_client
from answerback_discord.api_client import USER_AGENT
from answerback_discord.errors import ErrorCode
from answerback_discord.http_endpoint import PATH
from answerback_testing.surface_harness import SurfaceHarness
from tests.fakes import long_timeouts
from tests.fakes.discord.faults import Call
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import view_message
from tests.fakes.discord.world import Channel, Guild
from tests.fakes.long_timeouts import HASTY, PATIENT
from tests.surface_setups import LoadBalancer, Setup, cancel_tasks, start_replicas
from tests.unit.adapters.discord.example_events import EXAMPLE_EVENTS
from tests.unit.adapters.discord.rig import Mode, run_surface
from tests.unit.adapters.discord.simulated_people import SimulatedDiscordPerson

POST, EDIT = "POST /channels/*/messages", "PATCH /channels/*/messages/*"
ANY_POST = "POST /channels/*"
"""The post of a message, also as the first of a post in a forum."""


class DiscordStage:
    """See `answerback_testing.simulated_people.Stage`."""

    def __init__(self, discord: FakeDiscord, setup: Setup, mode: Mode) -> None:
        self.discord = discord
        self.guild: Guild = discord.add_guild()
        self.channel: Channel = discord.add_channel(self.guild)
        self.place = Destination(surface="discord", channel=str(self.channel.id))
        self._setup = setup
        self._token = discord.application.token
        self._mode: Mode = mode
        self._load_balancer = LoadBalancer(PATH, self._set_endpoint)
        self._up = AsyncExitStack()
        self._closed: dict[int, Channel] = {}
        self.harness: SurfaceHarness

    async def add_person(self, name: str) -> SimulatedDiscordPerson:
        return SimulatedDiscordPerson(
            self.discord, self.channel, self.discord.person(name, self.guild)
        )

    async def add_person_alone(
        self, name: str, *, reachable: bool = True
    ) -> SimulatedDiscordPerson:
        person = self.discord.person(name, self.guild)
        person.user.dms_open = reachable
        return SimulatedDiscordPerson(self.discord, self.discord.direct(person.user), person)

    async def other_places(self) -> Mapping[str, Destination]:
        thread = self.discord.add_thread(self.channel)
        forum = self.discord.add_forum(self.guild)
        return {
            "thread": Destination(
                surface="discord", channel=str(self.channel.id), thread=str(thread.id)
            ),
            "forum": Destination(surface="discord", channel=str(forum.id)),
        }

    async def restart(self, delays: Delays = PATIENT) -> None:
        await self._up.aclose()
        self._up.push_async_callback(self._load_balancer.stop)
        start = partial(
            run_surface,
            self.discord,
            self._setup.database,
            self._mode,
            self._load_balancer.serve,
            delays=delays,
        )
        self.harness = await start_replicas(self._up, self._setup.replicas, start)

    def _set_endpoint(self, url: str) -> None:
        self.discord.application.interactions_endpoint_url = url

    async def kill(self) -> None:
        cancel_tasks("click", "modal")
        await self.restart()

    async def stop(self) -> None:
        await self._up.aclose()

    def rate_limit_next(self, calls: int) -> None:
        self.discord.faults.clear()
        for place in (POST, EDIT):
            self.discord.faults.rate_limit(place, times=calls)

    def count_rate_limited(self) -> int:
        return sum(call.status == 429 for call in self.discord.faults.log)

    def delay_next_edit(self) -> None:
        self.discord.faults.drop(EDIT, after=False)
        self._edits = self.discord.faults.count(EDIT)

    async def carry_out_edit(self) -> None:
        await self._carry_out(self.discord.faults.calls(EDIT)[self._edits])

    def delay_next_post(self) -> None:
        self.discord.faults.drop(ANY_POST, after=False)
        self._posts = self.discord.faults.count(ANY_POST)

    async def carry_out_post(self) -> None:
        await self._carry_out(self.discord.faults.calls(ANY_POST)[self._posts])

    async def _carry_out(self, late: Call) -> None:
        token = {"Authorization": f"Bot {self._token}", "User-Agent": USER_AGENT}
        async with aiohttp.ClientSession(headers=token) as session:
            url = self.discord.api_url + late.path
            async with session.request(late.method, url, json=late.body) as response:
                assert response.status < 300

    def count_messages(self, ask: Ask) -> int:
        stem = f"ab1:{ask.id}:"
        known, place = self.discord.world.channels.values(), ask.placement.destination
        here = int(place.thread or place.channel or 0)
        channels = [each for each in known if here in {each.id, each.parent_id}]
        shown = [
            view_message(m) for each in channels for m in each.messages.values() if not m.deleted
        ]
        live = int(str((ask.placement.message or {})["id"]))
        return sum(
            each.message.id == live or any(c.custom_id.startswith(stem) for c in each.controls)
            for each in shown
        )

    def lose_next_post_result(self) -> None:
        self.discord.faults.drop(ANY_POST, after=True)

    def forbid_edits(self, *, forbidden: bool) -> None:
        self.discord.faults.clear()
        if forbidden:
            self.discord.faults.code(EDIT, ErrorCode.NO_PERMISSION, times=1_000)

    def refuse_token(self, *, refused: bool) -> None:
        self.discord.application.token = "another" if refused else self._token

    def delete_unnoticed(self, ask: Ask) -> None:
        del self.channel.messages[int(str((ask.placement.message or {})["id"]))]

    def close_place_unnoticed(self, *, closed: bool) -> None:
        known = self.discord.world.channels
        if not closed:
            known |= self._closed
            return
        here = self.channel.id
        self._closed = {i: each for i, each in known.items() if here in {i, each.parent_id}}
        for number in self._closed:
            del known[number]

    async def remove_bot(self) -> None:
        self.discord.remove_guild(self.guild)

    async def add_bot(self) -> None:
        self.discord.add_bot_again(self.guild)
        # The starts in later tests are not just after it, or each would show all earlier asks again.
        self.guild.joined_at = Guild.joined_at

    async def restart_after_gap(self) -> None:
        await self.restart(HASTY)

    def payloads(self) -> list[JsonValue]:
        clicks = [each.body for each in self.discord.interactions.all.values()]
        sent = [{"t": "INTERACTION_CREATE", "d": body} for body in clicks[-3:]]
        events = [{"t": name, "d": data} for name, data in EXAMPLE_EVENTS.items()]
        return [*sent, *(events if self._mode == "gateway" else ())]

    async def send_payload(self, payload: JsonValue) -> None:
        assert isinstance(payload, dict)
        name, data = payload.get("t"), payload.get("d")
        url = self.discord.application.interactions_endpoint_url
        if url is not None:
            body = json.dumps(data).encode()
            status, _, _ = await self.discord.interactions.signed_post(url, body)
            assert status in {200, 202, 400}, (
                status,
                payload,
            )  # 202: answered by a call of our own
            return
        for session in self.discord.gateway.sessions.values():
            if session.connection is not None:
                session.connection.send(0, data, seq=len(session.events), event=name)


@asynccontextmanager
async def run_stage(setup: Setup, mode: Mode) -> AsyncIterator[DiscordStage]:
    """Run a fake Discord with one service, or with several behind a load balancer."""
    with pytest.MonkeyPatch.context() as patch:
        long_timeouts.discord(patch)
        patch.setattr(api_client, "PER_SECOND", 1_000_000)
        async with FakeDiscord() as discord:
            stage = DiscordStage(discord, setup, mode)
            try:
                await stage.restart()
                yield stage
            finally:
                await stage.stop()
