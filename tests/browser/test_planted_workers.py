"""A service worker that a program planted on the service's port is gone once a browser visits the service there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from playwright.async_api import Browser, Page, expect

from answerback.core.labels import Labels
from answerback.runtime.app import run_service
from answerback.runtime.config import ServerSettings, StorageSettings, settings_type
from answerback_testing.store_examples import PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

PAGE = """<!doctype html><title>free lunch</title><script>
navigator.serviceWorker.register("/static/worker.js", { scope: "/" });
</script>"""
WORKER = """
self.addEventListener("install", (event) => event.waitUntil(
  caches.open("loot").then((cache) => cache.put("/loot", new Response("kept"))).then(() => self.skipWaiting())));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => event.respondWith(new Response(
  "<!doctype html><title>PLANTED</title><h1>PLANTED</h1>", { headers: { "Content-Type": "text/html" } })));
"""
HEADERS = {"Service-Worker-Allowed": "/", "Cache-Control": "max-age=31536000, immutable"}
REMAINS = """async () => [
  (await navigator.serviceWorker.getRegistrations()).length,
  await caches.keys(),
  navigator.serviceWorker.controller,
]"""


@asynccontextmanager
async def hostile_program() -> AsyncIterator[str]:
    """A program on a free port that plants a service worker in whichever browser visits it."""

    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith(".js"):
            return web.Response(text=WORKER, content_type="text/javascript", headers=HEADERS)
        return web.Response(text=PAGE, content_type="text/html")

    app = web.Application()
    app.add_routes([web.route("*", "/{tail:.*}", answer)])
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def is_planted(page: Page, url: str) -> None:
    """Visit the hostile program, and check that its worker answers in its place from then on."""
    await page.goto(url)
    await page.wait_for_function("navigator.serviceWorker.controller !== null")
    await page.goto(url)
    await expect(page.get_by_text("PLANTED")).to_be_visible()


@pytest.mark.rule("WEB-11")
async def test_a_planted_service_worker_is_gone_after_a_visit_to_the_service(
    full_browser: Browser, tmp_path: Path
) -> None:
    context = await full_browser.new_context()
    page = await context.new_page()
    async with hostile_program() as url:
        await is_planted(page, url)
    settings = settings_type().model_construct(
        server=ServerSettings(port=int(url.rpartition(":")[2])),
        storage=StorageSettings(url=f"sqlite:///{tmp_path / 'asks.db'}"),
    )
    async with run_service(settings):
        await page.goto(url)
        await expect(page.get_by_text("PLANTED")).to_be_visible()  # the worker still answers, once
        await expect(page.get_by_label(Labels().key_label)).to_be_visible(timeout=PATIENCE * 1_000)
        assert await page.evaluate(REMAINS) == [0, [], None]
    await context.close()
