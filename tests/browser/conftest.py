"""A real browser on a running site; a page that violates its own policy, or whose script fails, fails its test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import (
    Browser,
    BrowserContext,
    BrowserType,
    ConsoleMessage,
    Page,
    async_playwright,
    expect,
)

from tests.browser.site import Site, site
from tests.chromium import ARGUMENTS, find_full_chromium

EXPECTED = (
    "Failed to load resource: the server responded with a status of 4",
    "Failed to load resource: net::ERR_",
)
"""The lines that Chromium logs for every page with an error status, and for requests that reach nothing."""

expect.set_options(timeout=30_000)  # as long as other steps may take: a busy machine is slow


class RunningBrowser:
    """Debian's Chromium, started again for the next test if it has crashed."""

    def __init__(self, chromium: BrowserType, path: str) -> None:
        self._chromium = chromium
        self._path = path
        self._browser: Browser | None = None

    async def get(self) -> Browser:
        """Return the browser that runs."""
        if self._browser is None or not self._browser.is_connected():
            self._browser = await self._chromium.launch(executable_path=self._path, args=ARGUMENTS)
        return self._browser

    async def close(self) -> None:
        """End it."""
        if self._browser is not None:
            await self._browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def running_browser(chromium: str) -> AsyncIterator[RunningBrowser]:
    """The browser of all tests."""
    async with async_playwright() as playwright:
        running = RunningBrowser(playwright.chromium, chromium)
        yield running
        await running.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def full_browser() -> AsyncIterator[Browser]:
    """Debian's full Chromium."""
    path = find_full_chromium()
    if path is None:
        pytest.skip(
            "The full Chromium is not installed, and its headless shell registers no service workers: this test needs"
            " it (apt-get install chromium)"
        )
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(
            executable_path=path, args=[*ARGUMENTS, "--headless=new"]
        )
        yield launched
        await launched.close()


@pytest_asyncio.fixture(loop_scope="session")
async def browser(running_browser: RunningBrowser) -> Browser:
    """A browser that runs; each test gets its own profile."""
    return await running_browser.get()


@pytest_asyncio.fixture(loop_scope="session")
async def web_site(tmp_path: Path) -> AsyncIterator[Site]:
    """A site where no agent has a token."""
    async with site(tmp_path) as running:
        yield running


async def settled(page: Page) -> None:
    """Return once the page accepts keys and clicks on what it shows."""
    await expect(page.locator("main form").first).to_have_css("pointer-events", "auto")


async def show_other_ways(page: Page) -> None:
    """Show what else a person can do with an ask, besides answering."""
    await page.locator("#more > summary").click()


@asynccontextmanager
async def tab(browser: Browser, **options: Any) -> AsyncIterator[Page]:
    """Open a page in a fresh browser profile; its console's complaints fail the test."""
    async with page_of(await browser.new_context(**options)) as page:
        yield page


@asynccontextmanager
async def page_of(context: BrowserContext, *, close: bool = True) -> AsyncIterator[Page]:
    """Open a page of a profile; its console's complaints fail the test.

    The profile is closed, not only the page: Chromium may drop the request to close a page that is about to show
    another document, and Playwright waits for that page for ever (https://github.com/microsoft/playwright/issues/41900).

    Args:
        close: whether to close the profile; if not, only the page, which must be at rest by then.
    """
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(EXPECTED):
            complaints.append(message.text)

    page = await context.new_page()
    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    await (context if close else page).close()
    assert complaints == []
