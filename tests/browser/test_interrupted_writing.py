"""Writing goes on while the page refreshes, and decides nothing if the page has taken the text away."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Page, Route, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.labels import Labels
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.kinds import permission
from tests.browser.site import INBOX, Site
from tests.service_support import WAIT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("CARE-2"),
]
LABELS = Labels()
SETTLING = 500  # ms for which a page ignores input after it changed
PAUSE = 2_000  # ms that have to pass between a text that is gone and a key that counts
MINUTE = 60_000  # ms after which an inbox is fetched again
PLAN = "# Plan\n\nDrop the table\n\nMake a new one"
TEXT = {"id": "t", "text": "Say something", "answer_type": "text"}
DROP = {"id": "b", "text": "Drop the table?", "answer_type": "boolean"}
MANY = {
    "id": "m",
    "text": "Which host?",
    "answer_type": "select",
    "options": [f"host {n}" for n in range(40)],
}
CAUSES = ["another ask", "a minute"]
SHOWS_DROP = f"document.querySelector('h1').textContent === '{DROP['text']}'"
YES_HAS_FOCUS = "document.activeElement.textContent.includes('Yes')"


async def command(site: Site, typed: str) -> Ask:
    """Ask for the permission to run a command."""
    return await permission(site, ("Bash", {"command": typed}))


async def open_first(page: Page, site: Site) -> None:
    """Open the first ask of an inbox."""
    await page.clock.install(time=1_000)
    await page.goto(site.url + INBOX)
    await page.locator(".entry > a").first.click()
    await expect(page.locator(".detail #question")).to_be_visible()
    await settled(page)


async def refreshes(page: Page, site: Site, cause: str) -> None:
    """Return once an inbox has been fetched again."""
    old = await page.locator("#main").element_handle()
    if cause == CAUSES[0]:
        await command(site, "make other")
    else:
        await page.clock.fast_forward(MINUTE)
    await page.wait_for_function("old => !old.isConnected", arg=old)


async def advance_until(page: Page, condition: str, step: int, key: str | None = None) -> None:
    """Let the page's clock go on, and press a key after each step, until a condition holds."""
    async with asyncio.timeout(WAIT):
        while not await page.evaluate(condition):
            await page.clock.run_for(step)
            if key:
                await page.keyboard.press(key)


async def result(site: Site, ask: Ask) -> tuple[list[object], str]:
    """Return what an ask was answered with: values, and a message."""
    walk = (await site.stored(ask)).walk
    return [each.value for each in walk.answers], walk.reply or ""


@pytest.mark.parametrize("cause", CAUSES)
async def test_a_message_that_is_begun_survives_a_refresh_before_its_first_letter(
    browser: Browser, web_site: Site, cause: str
) -> None:
    ask = await command(web_site, "rm -rf build")
    async with tab(browser) as page:
        await open_first(page, web_site)
        await page.keyboard.press("m")
        await expect(page.locator("#reply")).to_be_focused()
        await refreshes(page, web_site, cause)
        await expect(page.locator("#reply")).to_be_focused()
        await page.keyboard.type("Please add a dry run first")
        is_sent = f"!document.querySelector('.open[data-ask={ask.id}]')"
        await advance_until(page, is_sent, 100, "Control+Enter")
    assert await result(web_site, ask) == ([], "Please add a dry run first")


@pytest.mark.rule("WEB-27")
@pytest.mark.parametrize("cause", CAUSES)
async def test_a_comment_on_a_plan_that_is_begun_survives_a_refresh_before_its_first_letter(
    browser: Browser, web_site: Site, cause: str
) -> None:
    ask = await permission(web_site, ("ExitPlanMode", {"plan": PLAN}))
    async with tab(browser) as page:
        await open_first(page, web_site)
        await page.locator(".plan [data-line]", has_text="Drop the table").click()
        await refreshes(page, web_site, cause)
        await page.keyboard.type("No, archive it")
        await expect(page.locator(".note-on textarea")).to_be_focused()
        await expect(page.locator(".note-on textarea")).to_have_value("No, archive it")
        await expect(page.get_by_text(LABELS.comments.format(count=1))).to_be_visible()
    assert await result(web_site, ask) == ([], "")


@pytest.mark.rule("WEB-27")
async def test_a_draft_that_is_restored_closes_no_comment_that_is_begun(
    browser: Browser, web_site: Site
) -> None:
    ask = await permission(web_site, ("ExitPlanMode", {"plan": PLAN}))
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.locator(".plan [data-line]", has_text="Drop the table").click()
        await page.evaluate("planComments.show()")  # as when a draft is restored
        await expect(page.locator(".note-on textarea")).to_be_focused()


async def test_a_filter_survives_a_refresh(browser: Browser, web_site: Site) -> None:
    ask = await web_site.ask(MANY)
    async with tab(browser) as page:
        await open_first(page, web_site)
        await page.locator(".filter").focus()
        await page.keyboard.type("host 3")
        await refreshes(page, web_site, CAUSES[0])
        await page.keyboard.type("9")
        await expect(page.locator(".filter")).to_have_value("host 39")
        await expect(page.locator(".option:visible")).to_have_count(1)
    assert await result(web_site, ask) == ([], "")


async def test_the_key_for_a_message_always_puts_the_cursor_into_it(
    browser: Browser, web_site: Site
) -> None:
    await command(web_site, "make a")
    async with tab(browser) as page:
        await open_first(page, web_site)
        for _ in range(2):  # closed, then open already
            await page.keyboard.press("m")
            await expect(page.locator("#reply")).to_be_focused()
            await page.locator(".detail #question").click()
            await expect(page.locator("#reply")).not_to_be_focused()


async def test_two_open_texts_keep_the_cursor_where_it_was(
    browser: Browser, web_site: Site
) -> None:
    await command(web_site, "make a")
    async with tab(browser) as page:
        await open_first(page, web_site)
        await show_other_ways(page)
        for opener in ("#noting", "#replying"):
            await page.locator(f"{opener} > summary").click()
        await expect(page.locator("#reply")).to_be_focused()
        await page.keyboard.type("Please")
        await refreshes(page, web_site, CAUSES[0])
        await page.keyboard.type(" wait")
        await expect(page.locator("#reply")).to_have_value("Please wait")


async def typed_on_after_somebody_else_answered(page: Page, site: Site, ask: Ask) -> None:
    """Let the page replace an empty text by a question of yes or no, and return once that accepts keys."""
    await page.clock.install(time=1_000)
    await page.goto(site.page(ask))
    await settled(page)
    await expect(page.locator("#text")).to_be_focused()
    await page.clock.pause_at(50_000)
    await site.act(ask, Answer(value="Kim's"))
    await advance_until(page, SHOWS_DROP, 100)
    await page.clock.run_for(SETTLING)


async def test_what_is_typed_on_after_the_question_has_moved_decides_nothing_until_a_pause(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT, DROP)
    async with tab(browser) as page:
        await typed_on_after_somebody_else_answered(page, web_site, ask)
        for key in ("1", "Space", "o", "f", "Space", "2", "Enter", "Tab", "Enter", "1"):
            await page.keyboard.press(key)
            await page.clock.run_for(PAUSE - 1)
        await expect(page.locator("h1")).to_have_text(DROP["text"])
        await advance_until(page, YES_HAS_FOCUS, PAUSE, "1")
    assert (await result(web_site, ask))[0] == ["Kim's"]


async def test_the_pointer_ends_the_pause(browser: Browser, web_site: Site) -> None:
    ask = await web_site.ask(TEXT, DROP)
    async with tab(browser) as page:
        await typed_on_after_somebody_else_answered(page, web_site, ask)
        await page.keyboard.press("1")
        await page.mouse.click(2, 2)
        await advance_until(page, YES_HAS_FOCUS, SETTLING, "1")


@pytest.mark.parametrize("more", ["", " and wait"], ids=["nothing more", "typed on"])
async def test_what_is_typed_on_after_a_message_was_sent_does_not_decide_the_next_prompt(
    browser: Browser, web_site: Site, more: str
) -> None:
    ask, following = [await command(web_site, each) for each in ("make a", "make b")]
    sent, go_on = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        sent.set()
        await go_on.wait()
        await route.continue_()

    async with tab(browser) as page:
        await open_first(page, web_site)
        await page.clock.pause_at(50_000)
        await page.keyboard.press("m")
        await page.keyboard.type("No")
        await page.route("**/a/-/sealed", hold)
        async with asyncio.timeout(WAIT):
            while not sent.is_set():
                await page.clock.run_for(SETTLING)
                await page.keyboard.press("Control+Enter")
        await page.keyboard.type(more)
        go_on.set()
        await expect(page.locator(".detail #question")).to_have_text("Run make b")
        await page.clock.run_for(SETTLING)
        if more:
            await page.keyboard.press("a")
        is_empty = "!document.querySelector('.entry')"
        await advance_until(page, is_empty, PAUSE if more else SETTLING, "d")
    assert await result(web_site, ask) == ([], "No")
    assert await result(web_site, following) == (["deny"], "")
