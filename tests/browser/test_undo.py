"""Where a person has turned it on, a decision in the inbox is held back for some seconds and can be undone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from tests.browser.conftest import settled, tab
from tests.browser.site import INBOX, Site
from tests.browser.test_inbox_keys import commands, is_open, values
from tests.service_support import WAIT

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-22"),
]
LABELS = Labels()


@asynccontextmanager
async def with_undo(browser: Browser, site: Site) -> AsyncIterator[Page]:
    """Open the inbox, where time stands still, and turn on that decisions can be undone."""
    async with tab(browser) as page:
        await page.clock.install(time=1_000)
        await page.clock.pause_at(2_000)
        await page.goto(site.url + INBOX)
        await settle(page)
        await page.get_by_role("button", name=LABELS.undo_on).click()
        await settle(page)
        yield page


async def settle(page: Page) -> None:
    await page.clock.run_for(500)
    await settled(page)


async def decide(page: Page, headline: str, name: str) -> None:
    """Press a button of the prompt that is open."""
    await expect(page.locator(".detail #question")).to_have_text(headline)
    await settle(page)
    await page.locator(".detail").get_by_role("button", name=name, exact=True).click()


def row(page: Page, headline: str) -> Locator:
    return page.locator(".entry", has_text=headline)


async def until_decided(site: Site, ask: Ask) -> None:
    """Return once an ask has ended."""
    async with asyncio.timeout(WAIT):
        with site.service.follow(ask.id) as following:
            while (await site.stored(ask)).open:
                await following.next_commit()


async def test_a_decision_is_sent_after_some_seconds_and_the_next_prompt_is_open_at_once(
    browser: Browser, web_site: Site
) -> None:
    first, second = asks = await commands(web_site, "make a", "make b")
    async with with_undo(browser, web_site) as page:
        await page.locator(".entry > a").first.click()
        await decide(page, "Run make a", "Allow once")
        await expect(page.locator(".detail #question")).to_have_text("Run make b")
        await expect(row(page, "Run make a")).to_contain_text(LABELS.sending)
        await expect(page.locator(".waiting")).to_have_text("")
        await row(page, "Run make a").locator("a").click()  # what is being sent cannot be opened
        await expect(page.locator(".detail #question")).to_have_text("Run make b")
        assert await values(web_site, asks) == [[], []]
        await page.clock.run_for(5_000)
        await until_decided(web_site, first)
        await expect(row(page, "Run make a")).to_have_count(0)
    assert await values(web_site, asks) == [["allow"], []]
    assert (await web_site.stored(second)).open


@pytest.mark.parametrize("by_key", [True, False], ids=["key", "button"])
async def test_a_decision_that_is_undone_is_never_sent(
    browser: Browser, web_site: Site, by_key: bool
) -> None:
    asks = await commands(web_site, "make a", "make b")
    async with with_undo(browser, web_site) as page:
        await page.locator(".entry > a").first.click()
        await decide(page, "Run make a", "Deny")
        await expect(page.locator(".detail #question")).to_have_text("Run make b")
        if by_key:
            await settle(page)
            await page.keyboard.press("z")
        else:
            await row(page, "Run make a").get_by_role("button", name=LABELS.undo).click()
        await expect(page.locator(".sending")).to_have_count(0)
        await page.clock.run_for(10_000)
        await row(page, "Run make a").locator("a").click()
        await expect(page.locator(".detail #question")).to_have_text("Run make a")
    assert await values(web_site, asks) == [[], []]


@pytest.mark.parametrize("leaving", ["closed", "history"])
async def test_leaving_the_inbox_sends_at_once(
    browser: Browser, web_site: Site, leaving: str
) -> None:
    asks = await commands(web_site, "make a", "make b")
    async with with_undo(browser, web_site) as page:
        await page.locator(".entry > a").first.click()
        await decide(page, "Run make a", "Allow once")
        await expect(row(page, "Run make a")).to_contain_text(LABELS.sending)
        if leaving == "closed":
            await page.goto("about:blank")
        else:
            await page.get_by_role("link", name=LABELS.history_title).click()
        await until_decided(web_site, asks[0])
    assert await values(web_site, asks) == [["allow"], []]


async def test_what_has_changed_while_it_was_held_back_is_not_decided_and_the_person_reads_so(
    browser: Browser, web_site: Site
) -> None:
    asks = await commands(web_site, "make a", "make b")
    async with with_undo(browser, web_site) as page:
        await page.locator(".entry > a").first.click()
        await decide(page, "Run make a", "Allow once")
        await expect(row(page, "Run make a")).to_contain_text(LABELS.sending)
        await web_site.service.approval_leases.report_no_answer(asks[0].id)
        await page.clock.run_for(5_000)
        await expect(page.locator("#live")).to_contain_text(LABELS.undo_failed)
    assert await values(web_site, asks) == [[], []]


async def test_what_is_ticked_is_held_back_together(browser: Browser, web_site: Site) -> None:
    asks = await commands(web_site, "make a", "make b", "make c")
    async with with_undo(browser, web_site) as page:
        await page.get_by_role("link", name=LABELS.select_all).click()
        await page.locator(".tick input").last.uncheck()
        await page.locator(".batch button[value=allow_once]").click()
        await expect(page.locator(".sending")).to_have_count(2)
        await page.clock.run_for(5_000)
        await until_decided(web_site, asks[1])
        await expect(page.locator(".entry")).to_have_count(1)
    assert await values(web_site, asks) == [["allow"], ["allow"], []]


async def test_all_of_an_agent_are_ticked_by_one_press_also_without_scripts(
    browser: Browser, web_site: Site
) -> None:
    for project in ("app", "site"):
        for number in range(2):
            arguments = {"tool_name": "Bash", "tool_input": {"command": f"make {project}{number}"}}
            origin = {"project": project}
            await web_site.ask(name="PermissionRequest", arguments=arguments, origin=origin)
    for script in (True, False):
        async with tab(browser, java_script_enabled=script) as page:
            await page.goto(web_site.url + INBOX)
            await settled(page)
            group = page.locator(".group").last
            await group.locator(".all-of").click()
            await expect(group.locator(".tick input:checked")).to_have_count(2)
            await expect(page.locator(".tick input:checked")).to_have_count(2)


async def test_without_turning_it_on_a_decision_is_sent_at_once(
    browser: Browser, web_site: Site
) -> None:
    asks = await commands(web_site, "make a", "make b")
    async with tab(browser) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        await page.locator(".entry > a").first.click()
        await is_open(page, "Run make a")
        await page.locator(".detail").get_by_role("button", name="Allow once").click()
        await is_open(page, "Run make b")
        await expect(page.locator(".sending")).to_have_count(0)
    assert await values(web_site, asks) == [["allow"], []]
