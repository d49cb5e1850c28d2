"""A program that takes the service's port for a while: what it gets from an open page, and what it leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web
from playwright.async_api import Browser, Route, expect

from answerback.core.actions import Answer
from answerback.core.labels import Labels
from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback.ports.person_key import operator_holder
from answerback_web.page_access import PageLinks
from answerback_web.page_proof import CHALLENGE_HEADER, PROOF_HEADER, PageProofs
from tests.browser.conftest import settled, tab
from tests.browser.site import INBOX, SECRET, Site, listen, site
from tests.service_support import WAIT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TEXT = {"id": "t", "text": "Say something", "answer_type": "text"}
PLANTED = """<!doctype html><title>planted</title><body data-events="/planted">
<main id="main"><meta http-equiv="refresh" content="0;url=/planted"><h1>PLANTED</h1></main>"""


@dataclass
class Stranger:
    """A program on the service's port, and the paths that it was asked for."""

    paths: list[str] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_until_asked(self, times: int) -> None:
        """Return once it has had so many requests."""
        async with asyncio.timeout(WAIT):
            while len(self.paths) < times:
                self.asked.clear()
                await self.asked.wait()


@asynccontextmanager
async def stranger(port: int, *, forwards_to: str | None = None) -> AsyncIterator[Stranger]:
    """Listen on the service's port; says that everything has moved, or forwards all requests to the service."""
    seen = Stranger()

    async def answer(request: web.Request) -> web.Response:
        seen.paths.append(request.path)
        seen.asked.set()
        if forwards_to is not None:
            return await _forwarded(request, forwards_to)
        if request.path.endswith("/events"):
            return web.Response(text="event: moved\ndata:\n\n", content_type="text/event-stream")
        return web.Response(text=PLANTED, content_type="text/html", headers={PROOF_HEADER: "00"})

    runner, _ = await listen([web.route("*", "/{tail:.*}", answer)], local=False, port=port)
    yield seen
    await runner.cleanup()


async def _forwarded(request: web.Request, to: str) -> web.Response:
    headers = {"Host": urlsplit(to).netloc}
    challenge = request.headers.get(CHALLENGE_HEADER, "")
    async with (
        aiohttp.ClientSession() as http,
        http.get(to + request.path_qs, headers=headers | {CHALLENGE_HEADER: challenge}) as known,
    ):
        proof = known.headers.get(PROOF_HEADER, "")
        return web.Response(body=await known.read(), headers={PROOF_HEADER: proof})


@pytest.mark.rule("WEB-10")
@pytest.mark.parametrize("forwards", [False, True], ids=["lies", "forwards"])
async def test_an_open_page_tells_a_stranger_nothing_and_takes_nothing_from_it(
    browser: Browser, web_site: Site, forwards: bool
) -> None:
    ask = await web_site.ask(TEXT)
    runner, url = await listen(web_site.surface.routes(), local=True)
    port = urlsplit(url).port
    assert port is not None
    async with tab(browser) as page, tab(browser) as asked:
        await page.goto(url + INBOX)
        await asked.goto(web_site.page(ask).replace(web_site.url, url))
        await asked.locator("#text").fill("half a sentence")
        async with asyncio.timeout(WAIT):
            while web_site.service.signals.count < 2:  # noqa: ASYNC110 - counted, not signalled
                await asyncio.sleep(0.01)
        await runner.cleanup()
        async with stranger(port, forwards_to=web_site.url if forwards else None) as seen:
            await seen.wait_until_asked(3)
            await asked.get_by_role("button", name="Answer").click()
            await expect(asked.locator("#live")).to_contain_text(Labels().unreachable)
            assert await asked.locator("#text").input_value() == "half a sentence"
            assert set(seen.paths) == {"/a/-/proof"}
        for shown in (page, asked):
            assert await shown.get_by_text("PLANTED").count() == 0
        runner, _ = await listen(web_site.surface.routes(), local=True, port=port)
        await web_site.ask({**TEXT, "text": "And this?"})
        await expect(page.get_by_text("And this?")).to_be_visible(timeout=15_000)
        await expect(asked.locator("h1")).to_contain_text("Answered", timeout=15_000)
    await runner.cleanup()
    assert (await web_site.stored(ask)).walk.answers[0].value == "half a sentence"


REMOVAL = """async (script) => {
  const done = [], listeners = {};
  const scope = {
    addEventListener: (name, listener) => { listeners[name] = listener; },
    skipWaiting: () => done.push("skipWaiting"),
    registration: { unregister: async () => done.push("unregister") },
    clients: { matchAll: async () => [{ url: "/here", navigate: async (url) => done.push(url) }] },
  };
  const caches = { keys: async () => ["old"], delete: async (name) => done.push(name) };
  new Function("self", "caches", script)(scope, caches);
  listeners.install();
  await new Promise((end) => listeners.activate({ waitUntil: (work) => work.then(end) }));
  return done;
}"""
"""Runs a worker's script in a scope like a worker's: Chromium's headless shell registers no service workers."""


@pytest.mark.rule("WEB-11")
async def test_the_script_for_service_workers_removes_them(
    browser: Browser, web_site: Site
) -> None:
    async with aiohttp.ClientSession() as http:
        headers = {"Service-Worker": "script"}
        async with http.get(f"{web_site.url}/anything.js", headers=headers) as response:
            script = await response.text()
    async with tab(browser) as page:
        done = await page.evaluate(REMOVAL, script)
    assert done == ["skipWaiting", "unregister", "old", "/here"]


@pytest.mark.rule("WEB-10")
@pytest.mark.parametrize("tag", ["<meta charset=utf-8>", "<link rel=author>", "<iframe></iframe>"])
async def test_not_even_a_proved_page_brings_elements_that_load_or_lead_elsewhere(
    browser: Browser, web_site: Site, tag: str
) -> None:
    ask = await web_site.migration()
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))

        async def tampered(route: Route) -> None:
            response = await route.fetch()
            body = (await response.body()).replace(b"<h1 ", tag.encode() + b"<h1 ")
            challenge = route.request.headers[CHALLENGE_HEADER.lower()]
            host = urlsplit(web_site.url).netloc
            proof = PageProofs(SECRET).prove(challenge, host, body) or ""
            await route.fulfill(
                response=response, body=body, headers=response.headers | {PROOF_HEADER: proof}
            )

        await page.route(web_site.page(ask), tampered)
        async with page.expect_response(web_site.page(ask)):
            await web_site.act(ask, Answer(value=True))
        await expect(page.locator("h1")).to_have_text("Apply the proposed migration?")
        assert await page.locator("main :is(meta, link, iframe)").count() == 0


@pytest.mark.rule("WEB-10")
async def test_where_a_browser_cannot_check_a_proof_the_page_offers_to_refresh(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.migration()
    async with tab(browser) as page, tab(browser) as inbox:
        for each, address in ((page, web_site.page(ask)), (inbox, web_site.url + INBOX)):
            await each.add_init_script(
                "Object.defineProperty(crypto, 'subtle', { value: undefined })"
            )
            await each.goto(address)
        async with asyncio.timeout(WAIT):
            while web_site.service.signals.count < 2:  # noqa: ASYNC110 - counted, not signalled
                await asyncio.sleep(0.01)
        await web_site.act(ask, Answer(value=True))
        await expect(page.locator("h1")).to_have_text("Apply the proposed migration?")
        await expect(inbox.locator("#live")).to_contain_text(Labels().inbox_moved)
        await page.locator("#live").get_by_role("link").click()
        await expect(page.locator("h1")).to_have_text("Which environment?")
        await settled(page)
        await page.get_by_role("button", name="staging").click()
        await expect(page.locator("h1")).to_have_text("Optional note for the migration log")


@pytest.mark.rule("AUTH-14", "WEB-2")
async def test_back_to_a_page_of_a_revoked_link_shows_no_live_control(
    browser: Browser, tmp_path: Path
) -> None:
    alice = Person(surface="web", user_id="alice", name="Alice", known=AuthMethod.LINK)
    keys = {"abp_alice": alice}
    async with site(tmp_path, keys=keys) as shared:
        ask = await shared.migration()
        link = PageLinks(SECRET).answering_link(ask.id, operator_holder("abp_alice", alice))
        async with tab(browser) as page:
            await page.goto(f"{shared.url}/a/{link}")
            yes = page.get_by_role("button", name="Yes", exact=True)
            await expect(yes).to_be_enabled()
            keys.clear()
            # Chromium keeps no page of an automated browser in its back/forward cache.
            await page.evaluate(
                "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
            )
            await expect(yes).to_be_disabled()
            await expect(page.get_by_label(Labels().key_label)).to_be_visible()
