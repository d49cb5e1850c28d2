"""A picture is enlarged by the mouse, the keys and a finger, and closed by them; nothing else happens meanwhile."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import settled, tab
from tests.browser.kinds import COMPARED, LAYOUTS_SENT
from tests.browser.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def opened(page: Page, site: Site) -> None:
    """Open a page with two pictures."""
    ask = await site.ask(COMPARED, **LAYOUTS_SENT)
    await page.goto(site.page(ask))
    await settled(page)


async def is_loaded(page: Page) -> bool:
    """Return True if the enlarged picture has its pixels."""
    return bool(await page.locator("dialog.zoom img").evaluate("each => each.naturalWidth === 400"))


@pytest.mark.rule("FILE-7")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_click_enlarges_a_picture_and_another_one_closes_it(
    browser: Browser, web_site: Site, scheme: str
) -> None:
    async with tab(browser, color_scheme=scheme) as page:
        await opened(page, web_site)
        await page.get_by_alt_text("After").click()
        large = page.locator("dialog.zoom")
        await expect(large).to_have_attribute("aria-label", "After")
        assert await is_loaded(page)
        await large.locator("img").click()
        await expect(large).to_have_count(0)
        await expect(page.locator("a.picture").nth(1)).to_be_focused()


@pytest.mark.rule("FILE-7")
@pytest.mark.parametrize("key", ["Escape", "Enter", " "])
async def test_keys_enlarge_a_picture_and_close_it_and_answer_nothing(
    browser: Browser, web_site: Site, key: str
) -> None:
    async with tab(browser) as page:
        await opened(page, web_site)
        link = page.locator("a.picture").first
        await link.focus()
        await page.keyboard.press("Enter")
        large = page.locator("dialog.zoom")
        await expect(large).to_be_visible()
        await page.keyboard.press("y")
        await expect(large).to_be_visible()
        await page.keyboard.press(key)
        await expect(large).to_have_count(0)
        await expect(link).to_be_focused()
        await expect(page.get_by_role("button", name="Yes")).to_be_visible()


@pytest.mark.rule("FILE-7")
async def test_a_finger_enlarges_a_picture_inside_a_phones_window(
    browser: Browser, web_site: Site
) -> None:
    phone = {"width": 390, "height": 844}
    async with tab(browser, viewport=phone, has_touch=True, is_mobile=True) as page:
        await opened(page, web_site)
        await page.get_by_alt_text("Before").tap()
        large = page.locator("dialog.zoom img")
        await expect(large).to_be_visible()
        box = await large.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= phone["width"]
        await large.tap()
        await expect(page.locator("dialog.zoom")).to_have_count(0)
