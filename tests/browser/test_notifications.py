"""Desktop notifications of an inbox that is open in the background."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import pytest
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer
from answerback.core.labels import Labels
from tests.browser.conftest import tab
from tests.browser.site import INBOX, Site
from tests.unit.adapters.web.examples import TEXT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-17"),
]
DESKTOP: Final = """
window.shown = [];
window.Notification = class extends EventTarget {
  static get permission() { return sessionStorage.getItem("allowed") || "default"; }
  static async requestPermission() { sessionStorage.setItem("allowed", "granted"); return "granted"; }
  constructor(title, { body, tag }) {
    super();
    Object.assign(this, { title, body, tag });
    shown.push(this);
    document.documentElement.dataset.shown = shown.length;
  }
  close() { document.documentElement.dataset.shown = "closed"; this.dispatchEvent(new Event("close")); }
};
window.inBackground = false;
Object.defineProperty(document, "hidden", { get: () => inBackground });
"""
"""A desktop that allows notifications once it is asked, and a tab that can be sent to the background."""


VISIBILITY: Final = """(hidden) => {
  inBackground = hidden;
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@asynccontextmanager
async def inbox(browser: Browser, there: Site, *, presses: int) -> AsyncIterator[Page]:
    """Open the inbox, press its button, and send it to the background."""
    async with tab(browser) as page:
        await page.clock.install()
        await page.add_init_script(DESKTOP)
        await page.goto(there.url + INBOX)
        button = page.get_by_role("button", name=Labels().notify)
        await expect(button).to_have_attribute("aria-pressed", "false")
        for press in range(1, presses + 1):
            await button.click()
            await expect(button).to_have_attribute("aria-pressed", "true" if press % 2 else "false")
        await page.reload()
        await expect(button).to_have_attribute("aria-pressed", "true" if presses % 2 else "false")
        await there.ask({**TEXT, "text": "While it is in sight"})
        await expect(page.get_by_text("While it is in sight")).to_be_visible()
        await page.evaluate(VISIBILITY, True)
        yield page


async def test_a_question_that_waits_is_announced_by_its_agent_alone_and_taken_back_when_answered(
    browser: Browser, web_site: Site
) -> None:
    async with inbox(browser, web_site, presses=1) as page:
        ask = await web_site.ask(
            {**TEXT, "text": "A secret?"}, agent="ann", origin={"project": "app"}
        )
        await expect(page.get_by_text("A secret?")).to_be_visible()
        assert await page.evaluate("shown.length") == 0
        await page.clock.fast_forward(10_000)
        desktop = page.locator("html")
        await expect(desktop).to_have_attribute("data-shown", "1")
        said = await page.evaluate("shown.map((each) => [each.title, each.body])")
        assert said == [["Answerback", "A question from ann is waiting."]]
        await web_site.act(ask, Answer(value="x"))
        await expect(desktop).to_have_attribute("data-shown", "closed")


@pytest.mark.rule("CONFIRM-7")
async def test_what_was_in_sight_is_announced_once_it_waits_for_a_confirmation(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask({**TEXT, "text": "Seen before"}, confirmations=1, responders="anyone")
    async with inbox(browser, web_site, presses=1) as page:
        await expect(page.get_by_text("Seen before")).to_be_visible()
        await web_site.act(ask, Answer(value="x"))
        await expect(page.get_by_text("Confirm this?")).to_be_visible()
        await page.clock.fast_forward(10_000)
        await expect(page.locator("html")).to_have_attribute("data-shown", "1")


async def test_what_is_answered_at_once_is_not_announced(browser: Browser, web_site: Site) -> None:
    async with inbox(browser, web_site, presses=1) as page:
        ask = await web_site.ask({**TEXT, "text": "At once?"})
        await expect(page.get_by_text("At once?")).to_be_visible()
        await web_site.act(ask, Answer(value="x"))
        await expect(page.get_by_text("At once?")).to_have_count(0)
        await page.clock.fast_forward(10_000)
        assert await page.evaluate("shown.length") == 0


@pytest.mark.rule("WEB-3")
async def test_since_when_a_question_waits_is_kept_up_to_date(
    browser: Browser, web_site: Site
) -> None:
    async with tab(browser) as page:
        await page.clock.install()
        await web_site.ask(TEXT)
        await page.goto(web_site.url + INBOX)
        await expect(page.get_by_text("Say something")).to_be_visible()
        async with page.expect_response("**/a/-/sealed"):
            await page.clock.fast_forward(60_000)
        await expect(page.get_by_text("Say something")).to_be_visible()


@pytest.mark.parametrize("presses", [0, 2])
async def test_nothing_is_announced_unless_the_button_is_pressed(
    browser: Browser, web_site: Site, presses: int
) -> None:
    async with inbox(browser, web_site, presses=presses) as page:
        await web_site.ask({**TEXT, "text": "In the background"})
        await page.clock.fast_forward(10_000)
        await page.evaluate(VISIBILITY, False)
        await expect(page.get_by_text("In the background")).to_be_visible()
        await page.clock.fast_forward(10_000)
        assert await page.evaluate("shown.length") == 0
