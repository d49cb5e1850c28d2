"""People signed in by a proxy: Caddy in front of the public listener, and visitors who try to impersonate others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.acceptance.process import Process, serving
from tests.caddy_sign_in import ADDS, HEADER, LOSES_THE_HOST, OUTGOING, STRIPS, caddy
from tests.person_keys import bearer
from tests.ports import free_port
from tests.unit.adapters.web.reader import Reader, reader

Json = dict[str, Any]
SESSIONS = {"a1": "alice@example.com", "b1": "bob@example.com", "o1": "operator", "m1": "a, b"}
TEXT = {"questions": [{"id": "t", "text": "Say something", "answer_type": "text"}]}


class World:
    """A service behind Caddy."""

    def __init__(self, folder: Path, process: Process, api: str, site: str, inside: str) -> None:
        self.folder, self.process = folder, process
        self.api, self.site, self.inside = api, site, inside

    @asynccontextmanager
    async def visitor(self, session: str | None, **headers: str) -> AsyncIterator[Reader]:
        """A visitor of the site, with a session's cookie."""
        async with reader(self.site) as visiting:
            visiting.headers |= headers | ({"Cookie": f"session={session}"} if session else {})
            yield visiting

    async def ask(self, **more: object) -> Json:
        body = {"name": "ask_user", "arguments": TEXT, "to": "web", **more}
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"{self.api}/v1/asks", json=body) as response,
        ):
            assert response.status == 201, await response.text()
            ask: Json = await response.json()
        return ask

    async def record(self, ask: Json) -> list[Json]:
        url = f"{self.api}/v1/asks/{ask['id']}/record"
        async with (
            aiohttp.ClientSession(headers=bearer(self.folder)) as http,
            http.get(url) as response,
        ):
            entries: list[Json] = (await response.json())["entries"]
        return entries

    def path(self, ask: Json) -> str:
        """Return the path of the ask's page, which the ask's link shows."""
        return str(ask["thread"]["url"]).removeprefix(self.site)


@asynccontextmanager
async def world(
    folder: Path, headers: str = STRIPS, environment: Mapping[str, str] | None = None
) -> AsyncIterator[World]:
    """Run a service that trusts Caddy to name people."""
    port, to = free_port(), free_port()
    (folder / "answerback.toml").write_text(
        f"""
[public]
port = {to}
url = "http://127.0.0.1:{port}"

[web]
user_header = "{HEADER}"
trusted_proxies = ["{OUTGOING}/32"]

[web.people."alice@example.com"]
label = "Alice Adams"

[routes.soon]
to = "web"
push_after = 1
"""
    )
    async with AsyncExitStack() as stack:
        process, api = await stack.enter_async_context(serving(folder, environment or {}))
        await stack.enter_async_context(caddy(folder, port, to, SESSIONS, headers))
        site, inside = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{to}"
        yield World(folder, process, api, site, inside)


async def read_log(up: World) -> list[str]:
    """Return what the log says about ignored headers, once the service has ended."""
    up.process.child.terminate()
    _, _, err = await up.process.ended()
    return [line for line in err.splitlines() if "is ignored" in line]


@pytest.mark.rule("AUTH-14", "WHO-4", "AUTH-15")
async def test_a_person_signed_in_by_the_proxy_answers_under_that_name(tmp_path: Path) -> None:
    async with world(tmp_path) as up:
        ask = await up.ask(responders=["web:alice@example.com"])
        async with up.visitor(None) as nobody:
            assert (await nobody.open("/")).status == 401
        async with up.visitor("a1") as alice:
            inbox = await alice.open("/")
            assert "Signed in as Alice Adams (signed in)" in inbox.text
            assert "Say something" in inbox.text
            link = next(one for one in inbox.links if ask["id"] in one).removeprefix("..")
            opened = f"/inbox/me?open={ask['id']}"
            assert link == opened, "an address that opens nothing without the proxy"
            assert "Say something" in (await alice.open(link)).text
            page = await alice.open(up.path(ask))
            ended = await alice.press(
                page, up.path(ask), "answer", {"text": "x"}, headers={"Origin": up.site}
            )
        assert "by Alice Adams (signed in)" in ended.text
        answered = [
            one["response"]["answered"]["by"] for one in await up.record(ask) if "response" in one
        ]
        assert answered == [
            {
                "surface": "web",
                "user_id": "alice@example.com",
                "name": "Alice Adams",
                "known": "proxy",
            }
        ]
        assert await read_log(up) == []


@pytest.mark.rule("AUTH-15", "SURFACE-9")
async def test_a_header_that_a_browser_sends_identifies_nobody(tmp_path: Path) -> None:
    async with world(tmp_path) as up:
        ask = await up.ask(responders=["alice@example.com"])
        spoofed = {HEADER: "alice@example.com", HEADER.replace("-", "_"): "alice@example.com"}
        async with up.visitor("b1", **spoofed) as bob:
            page = await bob.open(up.path(ask))
            assert "Signed in as bob@example.com (signed in)" in page.text
            refused = await bob.press(
                page, up.path(ask), "answer", {"text": "x"}, headers={"Origin": up.site}
            )
            assert refused.status == 403
        for session in ("o1", "m1"):
            async with up.visitor(session) as nobody:
                assert "You are" not in (await nobody.open(up.path(ask))).text
                assert (await nobody.open("/inbox/me")).status == 403
        (name,) = await read_log(up)
        assert "the name in it is not allowed" in name


@pytest.mark.rule("AUTH-15")
async def test_the_header_counts_only_on_the_proxys_connections(tmp_path: Path) -> None:
    async with world(tmp_path) as up:
        ask = await up.ask()
        host = up.site.removeprefix("http://")
        spoofed = {HEADER: "alice@example.com", "X-Forwarded-For": OUTGOING, "Host": host}
        for base in (up.inside, up.api):
            async with reader(base) as agent:
                agent.headers |= spoofed if base == up.inside else {HEADER: "alice@example.com"}
                page = await agent.open(up.path(ask))
                assert "You are" not in page.text
                assert "You need your key to answer" in page.text
                for _ in range(3):
                    response = await agent.press(page, up.path(ask), "answer", {"text": "x"})
                    assert response.status == 403
                assert (await agent.open("/inbox/me")).status == 403
        async with reader(up.api) as local:
            assert (await local.http.get(f"{up.api}/v1/asks/{ask['id']}")).status == 200
        entries = await up.record(ask)
        assert [one["type"] for one in entries] == ["request"]
        (once,) = await read_log(up)
        assert "web.trusted_proxies does not list" in once


@pytest.mark.rule("AUTH-15")
@pytest.mark.parametrize(
    ("headers", "why"),
    [(ADDS, "it was sent twice"), (LOSES_THE_HOST, "pass on the Host header")],
    ids=["adds a second header", "loses the host"],
)
async def test_a_misconfigured_proxy_names_nobody(tmp_path: Path, headers: str, why: str) -> None:
    async with world(tmp_path, headers) as up:
        ask = await up.ask()
        async with up.visitor("b1", **{HEADER: "alice@example.com"}) as bob:
            for _ in range(2):
                page = await bob.open(up.path(ask))
                assert page.status == 200
                assert "You are" not in page.text
        (once,) = await read_log(up)
        assert why in once


@pytest.mark.rule("AUTH-15", "WEB-4")
async def test_a_post_by_a_signed_in_person_has_to_come_from_our_own_pages(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as up:
        ask = await up.ask()
        async with up.visitor("a1") as alice:
            page = await alice.open(up.path(ask))
            for said in (
                {},
                {"Origin": "https://evil.example"},
                {"Origin": "null"},
                {"Sec-Fetch-Site": "cross-site"},
                {"Sec-Fetch-Site": "same-site", "Origin": up.site},
            ):
                refused = await alice.press(
                    page, up.path(ask), "answer", {"text": "x"}, headers=said
                )
                assert refused.status == 403, said
            own = {"Sec-Fetch-Site": "same-origin"}
            done = await alice.press(page, up.path(ask), "answer", {"text": "x"}, headers=own)
            assert done.status == 200
            assert "by Alice Adams (signed in)" in done.text
