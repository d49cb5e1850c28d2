"""Sign-ins at a real process that is killed: who was signed in stays so, and who signed out does, too."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance.process import QUIET, serving
from tests.fakes.oidc_provider import CLIENT, SECRET, FakeProvider, oidc_provider
from tests.ports import free_port

pytestmark = [pytest.mark.acceptance, pytest.mark.long]

SIGN_INS = 8


class Tab:
    """A tab of a browser: the requests of its page's script."""

    def __init__(self, http: aiohttp.ClientSession, url: str, provider: FakeProvider) -> None:
        self.http, self.url, self.provider = http, url, provider
        self.session = ""
        self.sent: dict[str, str] = {}

    async def post(self, path: str, **fields: str) -> tuple[int, Any]:
        own = {"Origin": self.url, "Sec-Fetch-Site": "same-origin"}
        async with self.http.post(f"{self.url}{path}", data=fields, headers=own) as response:
            is_json = response.content_type == "application/json"
            return response.status, await (response.json() if is_json else response.text())

    async def begin(self) -> None:
        _, begun = await self.post("/oidc/begin", to="")
        response = self.provider.sign_in(begun["url"])
        self.sent = {"attempt": begun["attempt"], "response": response}

    async def finish(self) -> int:
        """End the sign-in; return the status, 0 if the process died over it."""
        try:
            status, done = await self.post("/oidc/finish", **self.sent)
        except aiohttp.ClientError:
            return 0
        if status == 200:
            self.session = done["session"]
        return status

    async def opened(self) -> int:
        async with self.http.get(f"{self.url}/inbox/{self.session}") as response:
            return response.status


@pytest.mark.rule("OIDC-3", "OIDC-7")
async def test_what_a_person_was_told_of_a_session_holds_whenever_the_process_is_killed(
    tmp_path: Path,
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with oidc_provider() as provider, aiohttp.ClientSession() as http:
        (tmp_path / "answerback.toml").write_text(f"""
            [public]
            port = {port}
            url = "{url}"
            [oidc]
            issuer = "{provider.url}"
            client_id = "{CLIENT}"
            client_secret = "{SECRET}"
            [people.ann]
            ids = ["oidc:{provider.url}#{provider.subject}"]
        """)
        tabs = [Tab(http, url, provider) for _ in range(SIGN_INS)]
        async with serving(tmp_path, QUIET) as (process, _):
            for tab in tabs:
                await tab.begin()
            ending = [asyncio.create_task(tab.finish()) for tab in tabs]
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
            process.signal(signal.SIGKILL)
            statuses = await asyncio.gather(*ending)
        assert 200 in statuses
        async with serving(tmp_path, QUIET) as (process, _):
            for tab, status in zip(tabs, statuses, strict=True):
                if status == 200:
                    assert await tab.opened() == 200
                again = await tab.finish()
                assert again in ({403, 502} if status == 200 else {200, 403, 502})
            signed_in = [tab for tab in tabs if tab.session]
            path = f"/inbox/{signed_in[0].session}/sign-out"
            assert (await signed_in[0].post(path, do="all"))[0] == 200
            process.signal(signal.SIGKILL)
        async with serving(tmp_path, QUIET):
            assert {await tab.opened() for tab in signed_in} == {403}
