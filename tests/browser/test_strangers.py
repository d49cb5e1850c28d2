"""A program that takes the service's port for a while: what it gets from an open page, and what it leaves behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from playwright.async_api import Browser, Route, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.person import AuthMethod
from answerback.core.walker import Person
from answerback.ports.person_key import operator_holder
from answerback_web.adapter import WebSurface
from answerback_web.page_access import PageLinks
from answerback_web.page_proof import CHALLENGE_HEADER, PROOF_HEADER, PageProofs
from answerback_web.sealed_requests import TICKET_HEADER
from tests.browser.conftest import settled, tab
from tests.browser.site import INBOX, SECRET, Site, answering_path, listen, operator_only, site
from tests.service_support import WAIT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TEXT = {"id": "t", "text": "Say something", "answer_type": "text"}
PLANTED = """<!doctype html><title>planted</title><body data-events="/planted">
<main id="main"><meta http-equiv="refresh" content="0;url=/planted"><h1>PLANTED</h1></main>"""


@dataclass
class Stranger:
    """A program on the service's port, and all that it was told."""

    paths: list[str] = field(default_factory=list)
    received: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    """The target, the headers and the body of each request."""
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
        seen.received.append((request.path_qs, dict(request.headers), await request.read()))
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


def learned(seen: Stranger, *secrets: str) -> list[str]:
    """Return which of these the program was told, in whatever place."""
    return [each for each in secrets if each in str(seen.received)]


def secrets_of(ask: Ask) -> tuple[str, str]:
    """Return what opens the operator's inbox, and what answers an ask."""
    return INBOX.rpartition("/")[2], answering_path(ask).rpartition(".")[2]


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
            await page.evaluate(SHOWN_AGAIN)
            for key in ("r", "Escape"):
                await page.keyboard.press(key)
            await page.locator(".inbox a").click()
            await expect(page.locator("#live")).to_contain_text(Labels().page_away)
            assert set(seen.paths) == {"/a/-/proof"}
            assert learned(seen, *secrets_of(ask), "half a sentence") == []
        for shown in (page, asked):
            assert await shown.get_by_text("PLANTED").count() == 0
        runner, _ = await listen(web_site.surface.routes(), local=True, port=port)
        await web_site.ask({**TEXT, "text": "And this?"})
        await expect(page.get_by_text("And this?")).to_be_visible()
        await expect(asked.locator("h1")).to_contain_text("Answered")
    await runner.cleanup()
    assert (await web_site.stored(ask)).walk.answers[0].value == "half a sentence"


SHOWN_AGAIN = "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"
"""Chromium keeps no page of an automated browser in its back/forward cache."""


@pytest.mark.rule("WEB-10")
@pytest.mark.parametrize("what", ["the inbox", "a link", "a form"])
async def test_a_program_that_takes_the_port_between_proof_and_request_learns_and_replays_nothing(
    browser: Browser, web_site: Site, what: str
) -> None:
    ask = await web_site.ask(TEXT)
    runner, url = await listen(web_site.surface.routes(), local=True)
    port = urlsplit(url).port
    assert port is not None
    async with AsyncExitStack() as stack:
        page = await stack.enter_async_context(tab(browser))
        await page.goto(url + (answering_path(ask) if what == "a form" else INBOX))
        taken: asyncio.Future[Stranger] = asyncio.get_running_loop().create_future()

        async def take_port(route: Route) -> None:
            if not taken.done():  # the proof has just been given
                await runner.cleanup()
                taken.set_result(await stack.enter_async_context(stranger(port)))
            await route.continue_()

        await page.route("**/a/-/sealed", take_port)
        match what:
            case "the inbox":
                await page.evaluate(SHOWN_AGAIN)
            case "a link":
                await page.locator(".inbox a").click()
            case _:
                await page.locator("#text").fill("half a sentence")
                await page.get_by_role("button", name="Answer").click()
        async with asyncio.timeout(WAIT):
            seen = await taken
            while "/a/-/sealed" not in seen.paths:
                seen.asked.clear()
                await seen.asked.wait()
        assert learned(seen, *secrets_of(ask), "half a sentence") == []
        await page.close()
        target, headers, body = seen.received[seen.paths.index("/a/-/sealed")]
    # The service is back, and the program sends what it got.
    runner, _ = await listen(restarted(web_site), local=True, port=port)
    async with (
        aiohttp.ClientSession() as http,
        http.post(url + target, headers=headers, data=body) as response,
    ):
        assert (response.status, await response.read()) == (409, b"")
    await runner.cleanup()
    assert (await web_site.stored(ask)).walk.answers == ()


def restarted(there: Site) -> list[web.RouteDef]:
    """Return the pages of a process that was started again: its tickets are new."""
    surface = WebSurface(
        there.service,
        secret=SECRET,
        labels=Labels(),
        local_url=there.url,
        now=time.time,
        holders=operator_only,
    )
    return surface.routes()


@pytest.mark.rule("WEB-19")
async def test_the_address_that_a_browser_shows_is_worth_nothing_elsewhere(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page, tab(browser) as elsewhere:
        await page.goto(web_site.url + INBOX)
        await expect(page).to_have_url(f"{web_site.url}/inbox/-")
        await page.locator(".inbox a").click()
        await expect(page.locator("#question")).to_have_text(TEXT["text"])
        await expect(page).to_have_url(f"{web_site.url}/inbox/-?open={ask.id}")
        await page.goto(web_site.page(ask))
        read_only = web_site.surface.url(ask.id).removeprefix(web_site.public_url)
        await expect(page).to_have_url(web_site.url + read_only)
        await elsewhere.goto(page.url)
        await expect(elsewhere.locator("#text")).to_be_disabled()
        await page.reload()
        await expect(page.locator("#text")).to_be_enabled()
        await page.go_back()
        await expect(page.locator(".inbox a")).to_have_count(1)
        await elsewhere.goto(page.url)
        await expect(elsewhere.get_by_text(Labels().sign_in_again)).to_be_visible()
        await page.reload()
        await expect(page.locator(".inbox a")).to_have_count(1)
        await page.go_forward()
        await expect(page.locator("#text")).to_be_enabled()


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
            page_id, _, ticket = route.request.headers[TICKET_HEADER.lower()].partition(".")
            host = urlsplit(web_site.url).netloc
            cipher = AESGCM(PageProofs(SECRET).sealing_key(page_id, host))
            sealed, context = await response.body(), f"answer.{ticket}".encode()
            plain = cipher.decrypt(sealed[:12], sealed[12:], context)
            changed = plain.replace(b"<h1 ", tag.encode() + b"<h1 ")
            assert changed != plain
            await route.fulfill(
                response=response, body=sealed[:12] + cipher.encrypt(sealed[:12], changed, context)
            )

        await page.route("**/a/-/sealed", tampered)
        async with page.expect_response("**/a/-/sealed"):
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
            await page.evaluate(SHOWN_AGAIN)
            await expect(page.get_by_label(Labels().key_label)).to_be_visible()
            await expect(yes).to_have_count(0)
