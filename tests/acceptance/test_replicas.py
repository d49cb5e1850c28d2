"""Two real services on one PostgreSQL behind a proxy: what starts at one continues at the other, whatever dies."""

from __future__ import annotations

import asyncio
import signal
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp import Client

from answerback.core.labels import Labels
from tests import postgres
from tests.acceptance.process import PATIENCE
from tests.acceptance.replicas import Town, ended, town
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.world import Message as Posted
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.workspace import BOT_USER, Message

pytestmark = pytest.mark.acceptance

LABELS = Labels()
GO = {"id": "go", "text": "Deploy?", "answer_type": "boolean"}
WHY = {"id": "why", "text": "Why?", "answer_type": "text"}
SURE = GO | {"id": "sure", "text": "Sure?"}
PLACES = {
    "id": "where",
    "text": "Where?",
    "answer_type": "select",
    "options": ["staging", "production"],
}


async def submit(http: aiohttp.ClientSession, *questions: dict[str, Any], **envelope: Any) -> str:
    body = {"name": "ask_user", "arguments": {"questions": [*questions]}, **envelope}
    async with http.post("/v1/asks", json=body) as response:
        assert response.status == 201, await response.text()
        return str((await response.json())["id"])


async def act(http: aiohttp.ClientSession, ask_id: str, **action: Any) -> dict[str, Any]:
    async with http.post(f"/v1/asks/{ask_id}/actions", json=action) as response:
        ask: dict[str, Any] = await response.json()
        assert response.status == 200, ask
        return ask


class World:
    """Two replicas, and people on Slack and Discord."""

    def __init__(
        self, slack: FakeSlack, discord: FakeDiscord, server: postgres.Server, database: str
    ) -> None:
        self.slack, self.discord = slack, discord
        self._server, self._database = server, database.rpartition("/")[2]
        self.ada = slack.person("U0ADA", "ada")
        slack.workspace.add_channel("C0OPS", self.ada.id)
        self.channel = discord.add_channel(guild := discord.add_guild())
        self.ann = discord.person("ann", guild)
        self.town: Town

    @property
    def environment(self) -> dict[str, str]:
        return {
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_SIGNING_SECRET": self.slack.signing_secret,
            "ANSWERBACK_SLACK__API_URL": self.slack.api_url,
            "DISCORD_BOT_TOKEN": self.discord.application.token,
            "DISCORD_PUBLIC_KEY": self.discord.application.public_key,
            "ANSWERBACK_DISCORD__API_URL": self.discord.api_url,
        }

    def connect_platforms(self) -> None:
        """Make the platforms call the proxy."""
        self.slack.deliver_to(f"{self.town.public.url}/slack/events")
        self.discord.application.interactions_endpoint_url = (
            f"{self.town.public.url}/discord/interactions"
        )

    async def wait_until_shown(self) -> None:
        """Return once every message shows its ask: words typed before that are too early for the question."""
        behind = "SELECT 1 FROM asks WHERE shown_revision < revision"
        async with asyncio.timeout(3 * PATIENCE):
            while await asyncio.to_thread(  # noqa: ASYNC110 it signals nobody
                self._server.run, behind, self._database
            ):
                await asyncio.sleep(0.1)

    def slack_text(self) -> str:
        """Return the text of the only message in Slack."""
        return self.ada.sees(self.slack_message()).text

    def slack_message(self) -> Message:
        """Return the only message of ours in Slack."""
        [message] = (one for one in self.slack.messages("C0OPS") if one.user == BOT_USER)
        return message

    async def type_on_discord(self, text: str) -> None:
        """Reply to the message as Ann, and wait until her words are accepted."""
        [mine] = self._on_discord()
        said = self.ann.replies(mine, text)
        await self.ann.until(lambda: "✅" in said.reactions, timeout=40)

    def _on_discord(self) -> list[Posted]:
        bot = self.discord.bot.id
        return [one for one in self.channel.messages.values() if one.author_id == bot]

    def posts(self) -> tuple[int, int]:
        """Return how many messages of ours there are, on Slack and on Discord."""
        mine = self._on_discord()
        return sum(one.user == BOT_USER for one in self.slack.messages("C0OPS")), len(mine)


@pytest.fixture
async def world(
    postgres_server: postgres.Server, database: str, tmp_path: Path
) -> AsyncIterator[World]:
    async with FakeSlack() as slack, FakeDiscord() as discord:
        made = World(slack, discord, postgres_server, database)
        async with town(tmp_path, database, made.environment) as made.town:
            made.connect_platforms()
            yield made


@pytest.mark.rule("CLAIM-9")
async def test_an_answer_at_one_replica_reaches_a_waiter_at_the_other_immediately(
    world: World,
) -> None:
    first, second = (world.town.agent(one.url) for one in world.town.replicas)
    took = []
    async with first, second:
        for _ in range(20):
            ask_id = await submit(first, GO, to="web")
            waiting = asyncio.create_task(ended(second, ask_id))
            await _wait_for_a_waiter(world.town.replicas[1].url)
            since = time.monotonic()
            await act(first, ask_id, action="answer", value=True)
            ask = await waiting
            took.append(time.monotonic() - since)
            assert ask["answers"] == {"go": True}
    # This includes the action's own commit, which takes longer on a busy machine than on an idle one.
    assert statistics.median(took) < 1.0, took
    assert (await world.town.replicas[1].ready())["missed_notifications"] == 0


async def _wait_for_a_waiter(url: str) -> None:
    """Return once somebody waits at a replica."""
    async with aiohttp.ClientSession(url) as http:
        while True:
            async with http.get("/metrics") as response:
                if "answerback_waiters 1.0" in await response.text():
                    return


@pytest.mark.rule("CLAIM-10")
async def test_forms_are_walked_with_each_request_going_to_a_different_replica(
    world: World,
) -> None:
    async with world.town.agent() as http:
        await _walk_on_slack(world, http)
        await _walk_on_discord(world, http)
        async with Client(f"{world.town.replicas[0].url}/mcp") as client:
            asking = asyncio.create_task(client.call_tool("ask_user", {"question": "Which port?"}))
            ask_id = await _newest(http)
            await act(http, ask_id, action="answer", value="8420")
            result = await asking
            assert "8420" in str(result.content)
    assert world.posts() == (1, 1)
    for proxy in (world.town.api, world.town.public):
        assert len(set(proxy.taken)) == 2, "both replicas took requests"
    found = [(await one.ready())["missed_notifications"] for one in world.town.replicas]
    assert found == [0, 0]


@pytest.mark.rule("CLAIM-10", "DATA-3")
async def test_a_walk_continues_at_the_survivor_when_the_replica_of_its_last_click_stops(
    world: World,
) -> None:
    stopping, surviving = world.town.replicas
    ann, public = world.ann, world.town.public
    async with world.town.agent(surviving.url) as http:
        slack = await submit(http, GO, SURE, to="slack:C0OPS", responders=["U0ADA"])
        to = f"discord:{world.channel.id}"
        discord = await submit(http, GO, SURE, to=to, responders=[str(ann.id)])
        waiting = [asyncio.create_task(ended(http, ask_id)) for ask_id in (slack, discord)]
        await world.slack.until(lambda: world.slack.messages("C0OPS"), timeout=40)
        await ann.finds_control("Yes", world.channel, timeout=40)
        public.targets[:] = [stopping.public]
        await world.ada.click(world.slack_message(), LABELS.yes)
        assert (await ann.click("Yes", channel=world.channel)).answered
        stopping.signal(signal.SIGTERM)
        public.targets[:] = [surviving.public]
        assert await stopping.process.child.wait() == 0
        world.town.replicas.remove(stopping)
        await world.slack.until(lambda: "Sure?" in world.slack_text(), timeout=40)
        await world.ada.click(world.slack_message(), LABELS.yes)
        await ann.finds("Sure?", world.channel, timeout=40)
        assert (await ann.click("Yes", channel=world.channel)).answered
        for walk in waiting:
            assert (await walk)["answers"] == {"go": True, "sure": True}
    assert world.posts() == (1, 1)


async def _newest(http: aiohttp.ClientSession) -> str:
    """Return the id of the only open ask."""
    while True:
        async with http.get("/v1/asks?status=open") as response:
            if asks := (await response.json())["asks"]:
                return str(asks[0]["id"])


async def _next_second() -> None:
    """Wait until the clock's next second has begun."""
    now = int(time.time())
    while True:
        if int(time.time()) > now + 1:
            return
        await asyncio.sleep(0.05)


async def _walk_on_slack(world: World, http: aiohttp.ClientSession) -> None:
    ask_id = await submit(http, GO, PLACES, WHY, to="slack:C0OPS", responders=["U0ADA"])
    waiting = asyncio.create_task(ended(http, ask_id))
    await world.slack.until(lambda: world.slack.messages("C0OPS"))
    [message] = world.slack.messages("C0OPS")
    await world.ada.click(message, LABELS.yes)
    await world.slack.until(lambda: "Where?" in world.slack_text())
    await world.ada.click(message, "production")
    await world.slack.until(lambda: "Why?" in world.slack_text())
    await world.wait_until_shown()
    await _next_second()  # Slack tells the time of an edit in whole seconds
    said = await world.ada.mention_bot("C0OPS", "because", thread=message.ts)
    ask = await waiting
    assert ask["answers"] == {"go": True, "where": "production", "why": "because"}
    await world.slack.until(lambda: "✓ Answered by" in world.slack_text())
    await world.slack.until(lambda: said.reactions)


async def _walk_on_discord(world: World, http: aiohttp.ClientSession) -> None:
    ann, to = world.ann, f"discord:{world.channel.id}"
    ask_id = await submit(http, GO, WHY, GO | {"id": "sure"}, to=to, responders=[str(ann.id)])
    waiting = asyncio.create_task(ended(http, ask_id))
    await ann.finds_control("Yes", world.channel)
    assert (await ann.click("Yes", channel=world.channel)).answered
    await ann.finds("Why?", world.channel)
    await world.wait_until_shown()
    await world.type_on_discord("because")
    await ann.finds_control("Yes", world.channel)
    assert (await ann.click("Yes", channel=world.channel)).answered
    assert (await waiting)["answers"] == {"go": True, "why": "because", "sure": True}
    await ann.finds("Answered by", world.channel)


@pytest.mark.long
@pytest.mark.rule("CLAIM-3", "CLAIM-10")
async def test_a_killed_leader_is_replaced_and_nothing_is_lost(world: World) -> None:
    async with world.town.agent() as http:
        leader = await world.town.leader()
        to, mine = f"discord:{world.channel.id}", [str(world.ann.id)]
        ask_id = await submit(http, WHY, WHY | {"id": "more"}, to=to, responders=mine)
        waiting = asyncio.create_task(ended(http, ask_id))
        await world.wait_until_shown()
        await world.type_on_discord("first")
        await world.wait_until_shown()
        await world.town.kill(leader)
        await world.type_on_discord("second")
        ask = await waiting
        assert ask["answers"] == {"why": "first", "more": "second"}
        assert await world.town.leader() is not leader
    assert world.posts()[1] == 1


@pytest.mark.long
@pytest.mark.rule("CLAIM-6", "CLAIM-10")
async def test_a_leader_paused_for_longer_than_its_lease_changes_nothing_when_it_resumes(
    world: World,
) -> None:
    async with world.town.agent() as http:
        leader = await world.town.leader()
        to, mine = f"discord:{world.channel.id}", [str(world.ann.id)]
        ask_id = await submit(
            http, WHY, WHY | {"id": "more"}, WHY | {"id": "last"}, to=to, responders=mine
        )
        await world.wait_until_shown()
        leader.signal(signal.SIGSTOP)
        world.town.api.targets.remove(leader.url)
        world.town.public.targets.remove(leader.public)
        await world.type_on_discord("first")  # it also waits in the paused leader's socket
        await world.wait_until_shown()
        await world.type_on_discord("second")
        leader.signal(signal.SIGCONT)
        async with asyncio.timeout(PATIENCE):
            while (await leader.ready())["leads"]["discord"]:  # noqa: ASYNC110 it signals nobody
                await asyncio.sleep(0.1)
        await world.wait_until_shown()
        await world.type_on_discord("third")
        ask = await ended(http, ask_id)
        assert ask["answers"] == {"why": "first", "more": "second", "last": "third"}
        async with http.get(f"/v1/asks/{ask_id}/record") as response:
            kinds = [line["type"] for line in (await response.json())["entries"]]
        assert kinds.count("response") == 3
    assert world.posts()[1] == 1


@pytest.mark.rule("CLAIM-12")
async def test_a_restart_of_the_database_loses_no_answer(
    world: World, postgres_server: postgres.Server
) -> None:
    async with world.town.agent() as http:
        ask_id = await submit(http, GO, PLACES, to="slack:C0OPS", responders=["U0ADA"])
        waiting = asyncio.create_task(ended(http, ask_id))
        await world.slack.until(lambda: world.slack.messages("C0OPS"))
        [message] = world.slack.messages("C0OPS")
        await world.ada.click(message, LABELS.yes)
        await world.slack.until(lambda: "Where?" in world.slack_text())
        await asyncio.to_thread(postgres_server.stop)
        await asyncio.to_thread(postgres_server.start)
        async with asyncio.timeout(3 * PATIENCE):
            while "production" not in world.slack_text() or "Answered" not in world.slack_text():
                await world.ada.click(message, "production")
                await asyncio.sleep(0.5)
        assert (await waiting)["answers"] == {"go": True, "where": "production"}
    assert world.posts()[0] == 1


@pytest.mark.rule("CLAIM-9")
async def test_a_cut_listening_connection_is_reopened_and_delays_nobody_for_more_than_seconds(
    world: World, postgres_server: postgres.Server, database: str
) -> None:
    first, second = world.town.replicas
    name = database.rpartition("/")[2]
    async with (
        world.town.agent(first.url) as one,
        world.town.agent(second.url) as other,
    ):
        ask_id = await submit(one, GO, to="web")
        waiting = asyncio.create_task(ended(other, ask_id))
        await _wait_for_a_waiter(second.url)
        listening = f"datname = '{name}' AND query LIKE 'LISTEN%'"
        cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {listening}"
        assert len(postgres_server.run(cut)) == 2
        await act(one, ask_id, action="answer", value=True)
        async with asyncio.timeout(10):
            assert (await waiting)["status"] == "answered"
