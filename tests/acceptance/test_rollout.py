"""The rollout in docs/deploy.md, with its configuration, a fake Slack, and two hundred people and agents."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest

from answerback.core.labels import Labels
from tests.acceptance.process import QUIET, serving
from tests.documentation.blocks import block_with
from tests.fakes import long_timeouts
from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.visible_message import look
from tests.ports import free_port

pytestmark = [pytest.mark.acceptance, pytest.mark.long]

LABELS = Labels()
PEOPLE: Final = 200
AT_ONCE: Final = 10
"""People who are busy at the same time."""
SECONDS: Final = 240.0
"""Seconds that all of it may take on a busy machine; on an idle one it takes a tenth of that."""
_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_CLIENT: Final = {"client_id": "answerback"}
_CHANNEL, _GROUP = "C0123456", "S0ENGINEER"
_HOST: Final = "ask.example.com"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Slack wait as long as a busy machine needs."""
    long_timeouts.slack(monkeypatch)


def _configuration() -> str:
    """Return the page's configuration, with the test as the proxy."""
    table = block_with("10.0.0.7", "docs/deploy.md")
    return table.replace("10.0.0.7", "127.0.0.1")


class _Team:
    """People behind a proxy that signs them in, with an agent each, at an address of its own."""

    def __init__(self, world: FakeSlack, http: aiohttp.ClientSession, pages: str) -> None:
        self._world, self._http, self._pages = world, http, pages
        self._busy = asyncio.Semaphore(AT_ONCE)

    async def _agent_calls(self, path: str, number: int, **how: Any) -> dict[str, Any]:
        headers = {"X-Forwarded-For": f"10.1.{number // 100}.{number % 100 + 1}"}
        headers |= how.pop("headers", {})
        async with self._http.post(path, headers=headers, **how) as response:
            found: dict[str, Any] = await response.json()
            assert response.ok, found
            return found

    async def _person_sends(self, number: int, **form: str) -> str:
        headers = {"Host": _HOST, "Sec-Fetch-Site": "same-origin"}
        headers["X-Forwarded-Email"] = f"person{number}@example.com"
        where = f"{self._pages}/inbox/me/device"
        async with self._http.post(where, data=form, headers=headers) as response:
            page = await response.text()
            assert response.ok, page
            return page

    async def connect(self, person: Person, number: int) -> str:
        """Sign an agent in, as `answerback connect --sign-in` and its person do; return its token."""
        names = {**_CLIENT, "program": "Claude Code", "machine": f"laptop-{number}"}
        began = await self._agent_calls("/oauth/device_authorization", number, data=names)
        if number % 2:
            await self._approve_in_slack(person, began["user_code"])
        else:
            shown = await self._person_sends(number, do="look_up", code=began["user_code"])
            [sign_in] = re.findall(r'name="id" value="(\w+)"', shown)
            await self._person_sends(number, do="approve", id=sign_in)
        poll = {**_CLIENT, "grant_type": _GRANT, "device_code": began["device_code"]}
        return str((await self._agent_calls("/oauth/token", number, data=poll))["access_token"])

    async def _approve_in_slack(self, person: Person, code: str) -> None:
        answer = await person.slash("/answerback", f"connect {code.lower()}", _CHANNEL)
        assert "laptop-" in answer.text
        await person.click(answer, LABELS.approve)
        approved = LABELS.connect_approved.format(program="Claude Code")
        await self._world.until(lambda: approved in look(answer).text, timeout=SECONDS)

    async def ask_and_answer(self, person: Person, number: int) -> None:
        """Connect an agent, which asks one question; answer it in Slack."""
        async with self._busy:
            bearer = {"Authorization": f"Bearer {await self.connect(person, number)}"}
            call = {"question": f"Deploy {number}?", "answer_type": "boolean"}
            asked = asyncio.create_task(
                self._agent_calls(
                    "/v1/asks",
                    number,
                    json={"name": "ask_user", "arguments": call},
                    headers={**bearer, "Prefer": "wait=300"},
                )
            )
            await self._world.until(lambda: self._find(number), timeout=SECONDS)
            await person.click(self._find(number)[0], LABELS.yes)
            ended = await asked
            assert ended["tool_result"]["structured"]["answer"] is True
            assert ended["ended_by"]["user_id"] == person.id
            assert f"person{number}" in ended["asked_by"]

    def _find(self, number: int) -> list[Any]:
        """Return the message with this person's question, once it is there."""
        question = f"Deploy {number}?"
        return [each for each in self._world.messages(_CHANNEL) if question in each.text]


async def test_two_hundred_people_connect_their_agents_and_answer(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    (tmp_path / "answerback.toml").write_text(_configuration())
    public = free_port()
    async with FakeSlack() as world:
        people = [world.person(f"U0{number:06}", f"person{number}") for number in range(PEOPLE)]
        world.workspace.add_channel(_CHANNEL, *(each.id for each in people))
        world.workspace.add_group(_GROUP, *(each.id for each in people))
        environment = {
            **QUIET,
            "ANSWERBACK_PUBLIC__PORT": str(public),
            "ANSWERBACK_SLACK__API_URL": world.api_url,
            "SLACK_APP_TOKEN": world.app_token,
            "SLACK_BOT_TOKEN": world.bot_token,
        }
        async with serving(tmp_path, environment) as (_, url), aiohttp.ClientSession(url) as http:
            await world.socket.connected()
            team, began = _Team(world, http, f"http://127.0.0.1:{public}"), time.monotonic()
            async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as day:
                for number, person in enumerate(people):
                    day.create_task(team.ask_and_answer(person, number))
            record_property("seconds", time.monotonic() - began)
