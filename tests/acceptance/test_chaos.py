"""Replicas on one PostgreSQL while everything breaks: nothing that was accepted is lost, and nothing happens twice.

`CHAOS_ROUNDS` says how many rounds there are; `make chaos ARGS=100` sets it. A round is one thing that breaks, while
people answer forms in Slack and over the API, and agents wait and get webhooks.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from answerback.core.labels import Labels
from tests import postgres
from tests.acceptance.replicas import Town, ended, town
from tests.fakes.receiver import Receiver, receiving
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.state import ClientRefusalError
from tests.fakes.slack.workspace import BOT_USER, Message

ROUNDS: Final = int(os.environ.get("CHAOS_ROUNDS", "3"))
QUESTIONS: Final = 3
LABELS: Final = Labels()


@dataclass
class Walk:
    """A form that somebody answers, and which answers were accepted."""

    ask_id: str
    name: str
    accepted: dict[str, bool] = field(default_factory=dict)


class Chaos:
    """Everything that acts and breaks."""

    def __init__(
        self, made: Town, slack: FakeSlack, server: postgres.Server, receiver: Receiver
    ) -> None:
        self.town, self.slack, self._server = made, slack, server
        self._receiver = receiver
        self._database = made.database.rpartition("/")[2]
        self._chance = random.Random(11)
        self.ada = slack.person("U0ADA", "ada")
        slack.workspace.add_channel("C0OPS", self.ada.id)
        self.walks: list[Walk] = []

    async def round(self, number: int) -> None:
        """Something breaks while three forms are answered."""
        breaks = (self._kill, self._cut, self._deafen, self._restart_database, self._pause)
        some = [self._walk(f"{number}{letter}", on_slack=letter != "c") for letter in "abc"]
        await asyncio.gather(breaks[number % len(breaks)](), *some)

    # --- what breaks -------------------------------------------------------------------------------

    async def _kill(self) -> None:
        await asyncio.sleep(self._chance.uniform(0, 0.3))
        await self.town.kill(self._chance.choice(self.town.replicas))
        await self.town.add()

    async def _cut(self) -> None:
        """Every connection to the database breaks, again and again."""
        for _ in range(5):
            await asyncio.sleep(self._chance.uniform(0, 0.1))
            await self._terminate("TRUE")

    async def _deafen(self) -> None:
        await self._terminate("query LIKE 'LISTEN%'")

    async def _terminate(self, which: str) -> None:
        statement = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE datname = '{self._database}' AND pid <> pg_backend_pid() AND {which}"
        )
        await asyncio.to_thread(self._server.run, statement)

    async def _restart_database(self) -> None:
        await asyncio.to_thread(self._server.stop)
        await asyncio.to_thread(self._server.start)

    async def _pause(self) -> None:
        """A replica stands still for longer than its claims last; the load balancer notices."""
        paused = self._chance.choice(self.town.replicas)
        self.town.api.targets.remove(paused.url)
        self.town.public.targets.remove(paused.public)
        paused.signal(signal.SIGSTOP)
        await asyncio.sleep(10)
        paused.signal(signal.SIGCONT)
        self.town.api.targets.append(paused.url)
        self.town.public.targets.append(paused.public)

    # --- who acts ----------------------------------------------------------------------------------

    async def _walk(self, name: str, *, on_slack: bool) -> None:
        async with self.town.agent() as http:
            walk = Walk(await self._submitted(http, name, on_slack=on_slack), name)
            self.walks.append(walk)
            waiting = asyncio.create_task(ended(http, walk.ask_id))
            if on_slack:
                await self._clicked_through(walk, waiting)
            else:
                await self._acted_through(http, walk, waiting)
            await waiting

    async def _submitted(self, http: aiohttp.ClientSession, name: str, *, on_slack: bool) -> str:
        questions = [
            {"id": f"q{n}", "text": f"{name} question {n}?", "answer_type": "boolean"}
            for n in range(QUESTIONS)
        ]
        where = {"to": "slack:C0OPS", "responders": [self.ada.id]} if on_slack else {"to": "web"}
        body = {
            "name": "ask_user",
            "arguments": {"questions": questions},
            "callback": {"url": self._receiver.url},
            **where,
        }
        return str((await _insisted(http, "/v1/asks", body, name))["id"])

    async def _clicked_through(self, walk: Walk, waiting: asyncio.Task[Any]) -> None:
        while not waiting.done():
            message = self._message(walk.name)
            text = "" if message is None else self.ada.sees(message).text
            shown = next(
                (n for n in range(QUESTIONS) if f"{walk.name} question {n}?" in text.splitlines()),
                None,
            )
            value = self._chance.random() < 0.5
            if message is not None and shown is not None:
                with suppress(ClientRefusalError):
                    ack = await self.ada.click(message, LABELS.yes if value else LABELS.no)
                    if ack is not None and ack.ok and f"q{shown}" not in walk.accepted:
                        walk.accepted[f"q{shown}"] = value
            await asyncio.sleep(0.1)

    async def _acted_through(
        self, http: aiohttp.ClientSession, walk: Walk, waiting: asyncio.Task[Any]
    ) -> None:
        path, revision = f"/v1/asks/{walk.ask_id}/actions", 1
        while not waiting.done():
            value, number = self._chance.random() < 0.5, revision - 1
            body = {"action": "answer", "value": value, "revision": revision}
            with suppress(aiohttp.ClientError):
                async with http.post(path, json=body) as response:
                    if response.status == 200:
                        walk.accepted[f"q{number}"] = value
                    if response.status in {200, 409}:
                        revision = (await response.json())["revision"]
            await asyncio.sleep(0.05)

    def _message(self, name: str) -> Message | None:
        """The one message of a form; there are never two."""
        ours = [one for one in self.slack.messages("C0OPS") if one.user == BOT_USER]
        found = [one for one in ours if f"{name} question" in self.ada.sees(one).text]
        assert len(found) <= 1, f"{name} was posted twice"
        return found[0] if found else None

    # --- at the end --------------------------------------------------------------------------------

    async def verify(self) -> None:
        """Everything that was accepted holds, happened once, and was told."""
        async with asyncio.timeout(60):
            while {walk.ask_id for walk in self.walks} - self._told():  # noqa: ASYNC110 looked at often
                await asyncio.sleep(0.1)
        async with self.town.agent() as http:
            for walk in self.walks:
                ask = await _read(http, f"/v1/asks/{walk.ask_id}")
                assert ask["status"] == "answered"
                assert len(ask["answers"]) == QUESTIONS
                assert walk.accepted.items() <= ask["answers"].items(), walk
                lines = (await _read(http, f"/v1/asks/{walk.ask_id}/record"))["entries"]
                responses = [line for line in lines if line["type"] == "response"]
                assert len(responses) == QUESTIONS, "each question was answered once"
                self._message(walk.name)

    def _told(self) -> set[str]:
        return {one.event["data"]["id"] for one in self._receiver.received}


async def _insisted(
    http: aiohttp.ClientSession, path: str, body: dict[str, Any], key: str
) -> dict[str, Any]:
    """Submits until it is answered, as a client does: the key finds what was stored before."""
    while True:
        with suppress(aiohttp.ClientError):
            async with http.post(path, json=body, headers={"Idempotency-Key": key}) as response:
                if response.status in {200, 201}:
                    told: dict[str, Any] = await response.json()
                    return told
        await asyncio.sleep(0.1)


async def _read(http: aiohttp.ClientSession, path: str) -> dict[str, Any]:
    while True:
        with suppress(aiohttp.ClientError):
            async with http.get(path) as response:
                if response.status == 200:
                    told: dict[str, Any] = await response.json()
                    return told
        await asyncio.sleep(0.1)


@pytest.mark.rule("CLAIM-12", "DATA-3", "CLAIM-1", "CLAIM-3")
@pytest.mark.acceptance
@pytest.mark.timeout(120 + 60 * ROUNDS)
async def test_whatever_breaks_what_was_accepted_holds_and_nothing_happens_twice(
    postgres_server: postgres.Server, database: str, tmp_path: Path
) -> None:
    async with FakeSlack() as slack, receiving() as receiver:
        environment = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": slack.signing_secret,
            "ANSWERBACK_SLACK__API_URL": slack.api_url,
            "ANSWERBACK_CALLBACKS__SECRET": "whsec_" + "QUJD" * 8,
        }
        async with town(tmp_path, database, environment) as made:
            slack.deliver_to(f"{made.public.url}/slack/events")
            chaos = Chaos(made, slack, postgres_server, receiver)
            for number in range(ROUNDS):
                await chaos.round(number)
            await chaos.verify()
