"""A browser that crashes costs one test, not all that follow."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Error, async_playwright

from tests.browser.conftest import RunningBrowser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def running_browser(chromium: str) -> AsyncIterator[RunningBrowser]:
    """A browser of its own, so that no other test loses its pages."""
    async with async_playwright() as playwright:
        running = RunningBrowser(playwright.chromium, chromium)
        yield running
        await running.close()


async def test_the_test_after_a_crash_gets_a_new_browser(running_browser: RunningBrowser) -> None:
    crashed = await running_browser.get()
    commands = await crashed.new_browser_cdp_session()
    with pytest.raises(Error):
        await commands.send("Browser.crash")
    following = await running_browser.get()
    assert following is not crashed
    page = await following.new_page()
    assert await page.evaluate("1 + 1") == 2
    await page.close()
    assert await running_browser.get() is following
