"""Attacks of an agent on the page: from its own server on another port (same-site to a browser), or with its link."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from playwright.async_api import Browser, Page, expect

from answerback.runtime import app
from answerback.runtime.config import ServerSettings, Settings, StorageSettings
from tests.browser.conftest import settled, tab
from tests.browser.site import MIGRATION
from tests.person_keys import bearer, read_person_key

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ASKED = "Apply the proposed migration?"
YES = {"do": "yes", "revision": "1", "at": "0"}
FETCHES = """async (address) => {
  const form = {method: "POST", body: new URLSearchParams({do: "yes", revision: "1", at: "0"})};
  const seen = [];
  for (const options of [{}, {credentials: "include"}, {mode: "no-cors", credentials: "include"},
                         {...form, credentials: "include"}, {...form, mode: "no-cors", credentials: "include"}]) {
    try { seen.push(await (await fetch(address, options)).text()); } catch (error) { seen.push(String(error)); }
  }
  return seen.join();
}"""
FRAME = """(address) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.onload = () => {
    try { done(frame.contentDocument.body.innerText); } catch (error) { done(String(error)); }
  };
  frame.src = address;
  document.body.append(frame);
})"""
POPUP = """(address) => { window.opened = window.open(address); }"""
LOOK = """() => {
  try { return window.opened.location.href + window.opened.document.body.innerText; }
  catch (error) { return error.name; }
}"""
FORM = """([address, fields]) => {
  const form = Object.assign(document.createElement("form"), {method: "post", action: address});
  for (const [name, value] of Object.entries(fields))
    form.append(Object.assign(document.createElement("input"), {name, value}));
  document.body.append(form);
  form.submit();
}"""


@dataclass
class DevServer:
    """An agent's server on another port, which records everything it is sent."""

    url: str = ""
    received: list[str] = field(default_factory=list)

    async def serve(self, request: web.Request) -> web.Response:
        """Take a request, and answer with a page."""
        self.received.append(f"{request.path_qs} {dict(request.headers)} {await request.text()}")
        return web.Response(text="<!doctype html><h1>Dev server</h1>", content_type="text/html")


@pytest_asyncio.fixture(loop_scope="session")
async def evil() -> AsyncIterator[DevServer]:
    """Run an agent's server."""
    made, application = DevServer(), web.Application()
    application.router.add_route("*", "/{path:.*}", made.serve)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@dataclass
class Victim:
    """The whole service without tokens, and what its agent knows: one ask and its link."""

    running: app.RunningService
    http: aiohttp.ClientSession
    ask_id: str
    link: str
    key: str
    person: dict[str, str]

    async def revision(self) -> int:
        """Return the ask's current revision."""
        async with self.http.get(f"/v1/asks/{self.ask_id}") as response:
            found: int = (await response.json())["revision"]
            return found


@pytest_asyncio.fixture(loop_scope="session")
async def victim(tmp_path: Path) -> AsyncIterator[Victim]:
    """A service with one open ask."""
    settings = Settings.model_construct(
        server=ServerSettings(port=0),
        storage=StorageSettings(url=f"sqlite:///{tmp_path / 'asks.db'}"),
    )
    async with app.run_service(settings) as running, aiohttp.ClientSession(running.api_url) as http:
        body = {"name": "ask_user", "arguments": {"questions": list(MIGRATION)}, "to": "web"}
        async with http.post("/v1/asks", json=body) as response:
            ask = await response.json()
        url = ask["thread"]["url"]
        yield Victim(running, http, ask["id"], url, read_person_key(tmp_path), bearer(tmp_path))


@asynccontextmanager
async def person(browser: Browser, **options: Any) -> AsyncIterator[Page]:
    """Open a person's tab, in which Chromium may complain about what a hostile page tries."""
    context = await browser.new_context(**options)
    yield await context.new_page()
    await context.close()


async def use_the_inbox(page: Page, victim: Victim) -> tuple[str, str]:
    """As a person, open the link that `answerback serve` prints, and an ask; return the addresses reached."""
    await page.goto(victim.running.inbox_url)
    inbox = victim.running.api_url + await page.evaluate("history.state.address")
    await page.get_by_role("link", name=ASKED).click()
    await expect(page.locator("#question")).to_have_text(ASKED)
    action = await page.locator(".card form").get_attribute("action")
    assert action is not None
    return inbox, victim.running.api_url + action.removeprefix("..")


@pytest.mark.rule("AUTH-12")
async def test_a_page_on_another_port_gets_no_key_and_can_read_or_answer_nothing(
    browser: Browser, evil: DevServer, victim: Victim
) -> None:
    api = victim.running.api_url
    async with person(browser) as page:
        inbox, own = await use_the_inbox(page, victim)
        await page.goto(evil.url)
        assert await page.context.cookies() == []
        assert await page.evaluate("document.cookie + document.referrer + window.name") == ""
        # Even addresses that it cannot know do not help it.
        for address in (api, inbox, victim.link, own, f"{api}/v1/asks", f"{api}/v1/inbox"):
            seen = await page.evaluate(FETCHES, address) + await page.evaluate(FRAME, address)
            assert victim.ask_id not in seen
            assert ASKED not in seen
        async with page.expect_popup() as opening:
            await page.evaluate(POPUP, victim.link)
        popup = await opening.value
        await expect(popup.locator("h1")).to_have_text(ASKED)
        assert await popup.evaluate("window.opener") is None
        looked = await page.evaluate(LOOK)
        assert victim.ask_id not in looked
        assert ASKED not in looked
    secrets = (victim.key, inbox.rpartition("/")[2], own.rpartition(".")[2])
    assert evil.received
    assert not [
        request for request in evil.received if any(secret in request for secret in secrets)
    ]
    assert await victim.revision() == 1


@pytest.mark.rule("WEB-4")
async def test_a_form_on_another_port_answers_nothing_even_at_an_answering_address(
    browser: Browser, evil: DevServer, victim: Victim
) -> None:
    async with person(browser) as page:
        _, own = await use_the_inbox(page, victim)
        for address in (victim.link, own):
            for fields in (YES, YES | {"key": victim.key}):
                await page.goto(evil.url)
                async with page.expect_navigation(url=f"{address}*"):
                    await page.evaluate(FORM, [address, fields])
                await expect(page.locator("body")).not_to_contain_text("Which environment?")
    assert await victim.revision() == 1


@pytest.mark.rule("AUTH-12")
async def test_nothing_a_browser_sends_to_another_port_gives_access(
    browser: Browser, evil: DevServer, victim: Victim
) -> None:
    received: list[dict[str, str]] = []
    async with person(browser) as page:
        await use_the_inbox(page, victim)
        page.on("request", lambda request: received.append(request.headers))
        await page.goto(evil.url)
        await page.evaluate("fetch('/again', {credentials: 'include'}).then((a) => a.text())")
    for headers in received:
        replayed = {name: text for name, text in headers.items() if not name.startswith("sec-")}
        for path in ("/", "/inbox/0"):
            async with victim.http.get(path, headers=replayed) as response:
                assert victim.ask_id not in await response.text()
        act = f"/v1/asks/{victim.ask_id}/actions"
        body = {"action": "answer", "value": True}
        async with victim.http.post(act, json=body, headers=replayed) as response:
            assert response.status == 401
    assert len(received) > 1
    assert await victim.revision() == 1


@pytest.mark.rule("AUTH-11")
@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
async def test_the_agents_link_shows_the_ask_and_answers_only_with_the_key(
    browser: Browser, victim: Victim, script: bool
) -> None:
    async with tab(browser, java_script_enabled=script) as page:
        await page.goto(victim.link)
        await expect(page.locator("h1")).to_have_text(ASKED)
        await expect(page.get_by_role("button", name="Yes", exact=True)).to_be_disabled()
        await expect(page.get_by_role("button", name="End Turn")).to_have_count(0)
        for key, text in (
            ("guessed", "This key is not valid."),
            ("", "This key is not valid."),
        ):
            await settled(page)
            await page.get_by_label("Your key").fill(key)
            answered = "**/a/-/sealed" if script else "**/a/ask_*"
            async with page.expect_response(answered):
                await page.get_by_role("button", name="Sign in").click()
            await expect(page.get_by_label("Your key")).to_be_empty()
            await expect(page.get_by_text(text)).to_be_visible()
        assert await victim.revision() == 1
        await settled(page)
        await page.get_by_label("Your key").fill(victim.key)
        await page.get_by_label("Your key").press("Enter")
        await settled(page)
        assert await victim.revision() == 1  # Enter in the key's field decides nothing
        await page.get_by_role("button", name="Yes", exact=True).click()
        await expect(page.locator("h1")).to_have_text("Which environment?")
        assert await page.context.cookies() == []
        assert victim.key not in await page.content()
        assert victim.key not in page.url
    assert await victim.revision() == 2
