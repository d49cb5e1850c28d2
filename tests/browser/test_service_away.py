"""Input that was entered while the service was away stays on the page, and is sent once the service is back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Status
from answerback.core.labels import Labels
from tests.browser.conftest import settled, tab
from tests.browser.site import INBOX, Site, listen
from tests.unit.adapters.web.examples import TEXT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-2", "WEB-16"),
]
LABELS: Final = Labels()
RETURN: Final = 60_000
"""Milliseconds for which a test waits until a page notices that the service is back."""


class Away(NamedTuple):
    """A page whose Answer was pressed while the service was away."""

    page: Page
    ask: Ask
    come_back: Callable[[], Awaitable[None]]


@asynccontextmanager
async def pressed_while_away(browser: Browser, there: Site) -> AsyncIterator[Away]:
    """Type an answer, take the service away, and press Answer."""
    ask = await there.ask(TEXT, {**TEXT, "id": "u", "text": "And then?"})
    runner, url = await listen(there.surface.routes(), local=True)
    runners = [runner]

    async def come_back() -> None:
        port = urlsplit(url).port or 0
        runners.append((await listen(there.surface.routes(), local=True, port=port))[0])

    async with tab(browser) as page:
        await page.clock.install()
        await page.goto(there.page(ask).replace(there.url, url))
        await page.locator("#text").fill("typed")
        await settled(page)
        await runner.cleanup()
        await page.get_by_role("button", name="Answer").click()
        await expect(page.locator("#live")).to_contain_text(LABELS.unreachable)
        assert await page.locator("#text").input_value() == "typed"
        yield Away(page, ask, come_back)
    for each in runners[1:]:
        await each.cleanup()


async def test_pressed_again_as_the_service_comes_back_nothing_else_is_sent_or_said(
    browser: Browser, web_site: Site
) -> None:
    async with pressed_while_away(browser, web_site) as away:
        await away.come_back()
        await away.page.get_by_role("button", name="Answer").click()
        await expect(away.page.locator("h1")).to_have_text("And then?")
        await away.page.clock.fast_forward(RETURN)
        for _ in range(2):  # longer than it would take to look whether the ask has moved on
            await away.page.evaluate("channel.isThere(document.body.dataset.proof)")
        await expect(away.page.locator("#live")).to_be_empty()


async def test_nothing_says_that_an_answer_waits_that_was_pressed_again_with_a_file_that_does_not_arrive(
    browser: Browser, web_site: Site
) -> None:
    async with pressed_while_away(browser, web_site) as away:
        file: Any = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"text"}
        await away.page.locator("#files [type=file]").set_input_files(file)
        await away.page.get_by_role("button", name="Answer").click()
        for _ in range(4):  # the tries of the upload
            await away.page.clock.fast_forward(4_000)
        await expect(away.page.locator("#files .error")).to_be_visible()
        await expect(away.page.locator("#live")).to_be_empty()


async def test_it_is_sent_once_when_the_service_is_back(browser: Browser, web_site: Site) -> None:
    async with pressed_while_away(browser, web_site) as away:
        await away.page.get_by_role(
            "button", name="Answer"
        ).click()  # pressed again, it counts once
        await away.come_back()
        await expect(away.page.locator("h1")).to_have_text("And then?", timeout=RETURN)
        await expect(away.page.locator("#live")).to_be_empty()
    stored = await web_site.stored(away.ask)
    assert [given.value for given in stored.walk.answers] == ["typed"]


async def test_it_is_not_sent_to_a_question_that_has_moved_on(
    browser: Browser, web_site: Site
) -> None:
    async with pressed_while_away(browser, web_site) as away:
        await web_site.act(away.ask, Answer(value="Kim's"))
        await away.come_back()
        await expect(away.page.locator("#live")).to_contain_text(LABELS.moved_on, timeout=RETURN)
        await expect(away.page.locator("#text")).to_have_value("typed")
    stored = await web_site.stored(away.ask)
    assert [given.value for given in stored.walk.answers] == ["Kim's"]


async def test_it_can_be_taken_back_and_changed(browser: Browser, web_site: Site) -> None:
    async with pressed_while_away(browser, web_site) as away:
        await away.page.get_by_role("button", name=LABELS.do_not_send).click()
        await expect(away.page.locator("#live")).to_be_empty()
        await away.come_back()
        await web_site.ask({**TEXT, "text": "Another"})
        async with away.page.expect_response("**/a/-/events/**", timeout=RETURN):
            pass  # the page follows its ask again
        assert (await web_site.stored(away.ask)).walk.answers == ()
        await away.page.locator("#text").fill("changed")
        await away.page.get_by_role("button", name="Answer").click()
        await expect(away.page.locator("h1")).to_have_text("And then?")
    stored = await web_site.stored(away.ask)
    assert [given.value for given in stored.walk.answers] == ["changed"]
    assert stored.status is Status.OPEN


async def test_a_search_is_kept_as_well(browser: Browser, web_site: Site) -> None:
    await web_site.ask(TEXT)
    runner, url = await listen(web_site.surface.routes(), local=True)
    async with tab(browser) as page:
        await page.goto(url + INBOX)
        await runner.cleanup()
        await page.locator("input[name=q]").fill("say")
        await page.locator("input[name=q]").press("Enter")
        await expect(page.locator("#live")).to_contain_text(LABELS.unreachable)
        port = urlsplit(url).port or 0
        runner, _ = await listen(web_site.surface.routes(), local=True, port=port)
        await expect(page.locator("h1")).to_have_text("History", timeout=RETURN)
    await runner.cleanup()
