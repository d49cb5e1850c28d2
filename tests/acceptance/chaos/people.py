"""Agents that ask without end, by HTTP and MCP; people answer in Slack, in Discord by clicks and words, and by the API.

Some of the forms are decided by several people: see `deciding`.

Each agent asks one form after the other and waits for it to end. A person answers it the way people do: they look and
act, and if nothing seems to have happened, they look and act again. Everything they try is recorded; see `walks`.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

import aiohttp

from answerback.core.labels import Labels
from answerback_chat.control_codec import Control, Verb, decode
from tests.acceptance.chaos.cluster import Stage
from tests.acceptance.chaos.deciding import Deciders
from tests.acceptance.chaos.deciding_forms import AGENT, FRONT_END
from tests.acceptance.chaos.mcp_agent import McpAgent
from tests.acceptance.chaos.walks import BACK, Walk
from tests.acceptance.replicas import ended
from tests.fakes.discord.visible_message import view_message
from tests.fakes.discord.world import Message as Posted
from tests.fakes.slack.workspace import BOT_USER, Snapshot

M = TypeVar("M")

LABELS: Final = Labels()
_ABOUT: Final = re.compile(r"(\w+-\d+) question \d")
"""Matches a message's text; the group is the name of the form that it shows."""
LONGEST: Final = 180.0
"""Seconds within which any form is answered, whatever breaks: several leases, and a person who tries again."""
_LOOK: Final = 0.05
_PATIENCE: Final = 3.0
"""Seconds that an agent waits for a response before it tries again."""
_WORDS_PATIENCE: Final = 90.0
"""Seconds within which typed words are taken or refused: the process that received them may die twice."""
_TOGETHER: Final = "together"
"""The name of the agent whose forms are decided by several people."""
_BACK: Final = 0.15
_TWICE: Final = 0.2
"""The chance that somebody goes back, or clicks twice."""
_UPDATES: Final = frozenset({6, 7})
"""Discord's responses to a click that was accepted; any other says why it was not."""


class Board(Generic[M]):
    """The messages in a place, by the form that they show; each is read once, right after it was posted."""

    def __init__(self, posted: Callable[[], Iterable[M]], text: Callable[[M], str]) -> None:
        self._posted, self._text = posted, text
        self._read = 0
        self._found: dict[str, list[M]] = {}

    def of(self, walk: Walk) -> M | None:
        """Return the form's only message; there are never two."""
        posted = list(self._posted())
        for message in posted[self._read :]:
            for name in set(_ABOUT.findall(self._text(message))):
                self._found.setdefault(name, []).append(message)
        self._read = len(posted)
        found = self._found.get(walk.name, [])
        assert len(found) <= 1, f"{walk.name} was posted {len(found)} times"
        return found[0] if found else None


class People:
    """Everybody who acts."""

    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self._stage, self._chance = stage, chance
        self.walks: list[Walk] = []
        self._mcp = McpAgent(stage.town.api.url, stage.keys[AGENT])
        self.together = Deciders(
            stage.town.api.url, stage.town.folder, stage.keys, stage.receiver, chance
        )
        self._over = False
        self.ada = stage.slack.person("U0ADA", "ada")
        stage.slack.workspace.add_channel("C0OPS", self.ada.id)
        guild = stage.discord.add_guild()
        self.channel = stage.discord.add_channel(guild)
        self.ann = stage.discord.person("ann", guild)
        posted, bot = stage.slack.workspace.messages, stage.discord.bot.id
        self.in_slack = Board(
            lambda: posted.get("C0OPS", {}).values(),
            lambda one: self.ada.sees(one).text if one.user == BOT_USER else "",
        )
        self.in_discord = Board(
            self.channel.messages.values,
            lambda one: (
                view_message(one).text if one.author_id == bot and not one.ephemeral else ""
            ),
        )

    def over(self) -> None:
        """Stop anybody from starting something new."""
        self._over = True

    async def act(self) -> None:
        """Have everybody act until `over`, and finish what they have started."""
        async with asyncio.TaskGroup() as everybody:
            for surface, number in (
                ("slack", 2),
                ("clicks", 2),
                ("words", 2),
                ("api", 1),
                ("mcp", 1),
                (_TOGETHER, 3),
            ):
                for each in range(number):
                    everybody.create_task(self._agent(surface, f"{surface}{each}"))

    async def _agent(self, surface: str, name: str) -> None:
        number = 0
        async with self._stage.client() as http:
            while not self._over:
                number += 1
                if surface == _TOGETHER:
                    await self.together.decide(http, f"{name}-{number}")
                else:
                    await self._form(http, Walk(f"{name}-{number}", surface))

    async def _form(self, http: aiohttp.ClientSession, walk: Walk) -> None:
        walk.ask_id = await self._submit(http, walk)
        self.walks.append(walk)
        by = {"slack": self._on_slack, "clicks": self._by_clicks, "words": self._by_words}
        try:
            async with asyncio.timeout(LONGEST), asyncio.TaskGroup() as group:
                over_mcp = walk.surface == "mcp"
                answer = (
                    self._mcp.answer(walk.ask_id) if over_mcp else ended(http, walk.ask_id, LONGEST)
                )
                waiting = group.create_task(answer)
                if walk.surface in {"api", "mcp"}:
                    async with self._stage.client(FRONT_END) as person:
                        await self._over_the_api(person, walk, waiting.done)
                else:
                    await by[walk.surface](walk, waiting.done)
            walk.outcome = waiting.result()
        except (TimeoutError, ExceptionGroup) as error:
            raise AssertionError(f"{walk} was not answered: {error}") from error

    async def _submit(self, http: aiohttp.ClientSession, walk: Walk) -> str:
        kind = "text" if walk.surface == "words" else "boolean"
        count = self._chance.randint(1, 4)
        questions = [
            {"id": f"q{n}", "text": f"{walk.name} question {n}?", "answer_type": kind}
            for n in range(count)
        ]
        if walk.surface == "mcp":
            return await self._mcp.ask(questions, walk.name)
        body: dict[str, Any] = {
            "name": "ask_user",
            "arguments": {"questions": questions},
            "callback": {"url": self._stage.receiver.url},
        }
        if walk.surface == "slack":
            body |= {"to": "slack:C0OPS", "responders": [self.ada.id]}
        elif walk.surface == "api":
            body |= {"to": "web", "responders": ["ann"]}
        else:
            body |= {"to": f"discord:{self.channel.id}", "responders": [str(self.ann.id)]}
        return str((await request_until_answered(http, "POST", "/v1/asks", body, walk.name))["id"])

    # --- over the API ---

    async def _over_the_api(
        self, person: aiohttp.ClientSession, walk: Walk, done: Callable[[], bool]
    ) -> None:
        path = f"/v1/asks/{walk.ask_id}"
        while not done():
            ask = await request_until_answered(person, "GET", path)
            if ask["status"] != "open":
                continue
            revision, goes_back = ask["revision"], "back" in ask["prompt"]["controls"]
            value = self._value(goes_back)
            attempt = walk.attempt(revision, value)
            action = {"action": BACK} if value == BACK else {"action": "answer", "value": value}
            with suppress(aiohttp.ClientError, TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    body = action | {"revision": revision, "actor": {"user_id": "ann"}}
                    async with person.post(f"{path}/actions", json=body) as response:
                        if response.status == 200:
                            walk.accepted(attempt)
            await asyncio.sleep(self._chance.uniform(0, 0.2))

    def _value(self, goes_back: bool) -> bool | str:
        if goes_back and self._chance.random() < _BACK:
            return BACK
        return self._chance.random() < 0.5

    # --- in Slack ---

    async def _on_slack(self, walk: Walk, done: Callable[[], bool]) -> None:
        while not done():
            await asyncio.sleep(_LOOK)
            message = self.in_slack.of(walk)
            if message is None:
                continue
            seen = message.snapshot()
            values = (each.element.get("value") for each in self.ada.sees(seen).controls)
            controls = [control for text in values if (control := decode(text)) is not None]

            async def click(label: str, seen: Snapshot = seen) -> bool:
                ack = await self.ada.click_on(seen, label)
                return ack is not None and ack.ok

            await self._click(walk, controls, click)

    async def _click(
        self, walk: Walk, controls: list[Control], click: Callable[[str], Awaitable[bool]]
    ) -> None:
        """Click on a message as somebody saw it, perhaps twice, unless a click was accepted at its revision."""
        revision = next((one.revision for one in controls), None)
        if revision is None or walk.is_done(revision):
            return
        goes_back = any(one.verb is Verb.BACK for one in controls)

        async def once() -> None:
            value = self._value(goes_back)
            attempt = walk.attempt(revision, value)
            if await click({BACK: LABELS.back, True: LABELS.yes, False: LABELS.no}[value]):
                walk.accepted(attempt)

        times = 2 if self._chance.random() < _TWICE else 1
        await asyncio.gather(*(once() for _ in range(times)))

    # --- in Discord ---

    def _controls(self, message: Posted) -> list[Control]:
        ids = (each.custom_id for each in view_message(message).controls)
        return [control for text in ids if (control := decode(text)) is not None]

    async def _by_clicks(self, walk: Walk, done: Callable[[], bool]) -> None:
        while not done():
            await asyncio.sleep(_LOOK)
            message = self.in_discord.of(walk)
            if message is None:
                continue
            seen = self.ann.copy(message)

            async def click(label: str, seen: Posted = seen) -> bool:
                made = await self.ann.click_on(seen, label)
                return made.answered and (made.callback or {}).get("type") in _UPDATES

            await self._click(walk, self._controls(seen), click)

    async def _by_words(self, walk: Walk, done: Callable[[], bool]) -> None:
        while not done():
            await asyncio.sleep(_LOOK)
            message = self.in_discord.of(walk)
            shown = self._revision(message)
            if message is None or shown is None or walk.is_done(shown):
                continue
            text = f"{walk.name} words {self._chance.randrange(10**6)}"
            attempt = walk.attempt(shown, text)
            said = self.ann.replies(message, text)
            await self.ann.until(
                lambda: said.reactions or self._revision(self.in_discord.of(walk)) != shown,  # noqa: B023 awaited here
                timeout=_WORDS_PATIENCE,
            )
            if "✅" in said.reactions or self._revision(self.in_discord.of(walk)) != shown:
                walk.accepted(attempt)

    def _revision(self, message: Posted | None) -> int | None:
        return next((one.revision for one in self._controls(message)), None) if message else None


async def request_until_answered(
    http: aiohttp.ClientSession, method: str, path: str, body: object = None, key: str = ""
) -> dict[str, Any]:
    """Send a request until it is answered, as a client does: an idempotency key finds what was stored before."""
    headers = {"Idempotency-Key": key} if key else {}
    while True:
        with suppress(aiohttp.ClientError, TimeoutError):
            async with (
                asyncio.timeout(_PATIENCE),
                http.request(method, path, json=body, headers=headers) as response,
            ):
                found: dict[str, Any] = await response.json()
                if response.status < 300:
                    return found
                assert response.status in {429, 500, 502, 503, 504}, found
        await asyncio.sleep(0.1)
