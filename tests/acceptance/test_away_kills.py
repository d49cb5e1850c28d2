"""A service that is killed as soon as it has confirmed what people say about being away and snoozing, on each store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance.process import QUIET, serving
from tests.person_keys import bearer
from tests.postgres import STORES, database_of

pytestmark = pytest.mark.acceptance
CALL = {"name": "ask_user", "arguments": {"question": "Go?"}, "to": "web"}
ME = "person=web:operator"


@pytest.fixture(params=STORES)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with database_of(request, tmp_path) as url:
        yield url


async def call(http: aiohttp.ClientSession, method: str, path: str, **body: Any) -> Any:
    async with http.request(method, f"/v1/{path}", json=body or None) as response:
        assert response.status in {200, 201}, await response.text()
        return await response.json()


@pytest.mark.rule("SNOOZE-5", "AWAY-5")
async def test_what_was_confirmed_before_the_kill_holds_after_it(
    tmp_path: Path, database: str
) -> None:
    settings = {**QUIET, "ANSWERBACK_STORAGE__URL": database, "ANSWERBACK_AWAY__ENABLED": "true"}
    leave = {"until": "3d", "stand_in": "web:bob", "hours": "9-17 UTC"}
    async with (
        serving(tmp_path, settings) as (process, url),
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as http,
        aiohttp.ClientSession(url) as agent,
    ):
        asks = [await call(agent, "POST", "asks", **CALL) for _ in range(3)]
        left = await call(http, "PUT", "away?person=web:ann", **leave)
        for ask in asks[:2]:
            await call(http, "PUT", f"asks/{ask['id']}/snooze?{ME}", until="4h")
        await call(http, "DELETE", f"asks/{asks[0]['id']}/snooze?{ME}")
        process.child.kill()
    async with (
        serving(tmp_path, settings) as (_, url),
        aiohttp.ClientSession(url, headers=bearer(tmp_path)) as http,
    ):
        assert await call(http, "GET", "away?person=web:ann") == left
        snoozed = await call(http, "GET", f"snoozes?{ME}")
        assert [each["ask_id"] for each in snoozed["snoozes"]] == [asks[1]["id"]]
        waiting = await call(http, "GET", "inbox?responder=web:operator")
        assert [ask["id"] for ask in waiting["asks"]] == [asks[0]["id"], asks[2]["id"]]
