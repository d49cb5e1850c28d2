"""Asking back in a browser: other input survives both the asking back and the explanation."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from answerback.core.clarification import AskBack
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.site import Site
from tests.browser.test_forms import UNTIL_DRAFTS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WHICH = {"id": "m", "text": "Which?", "answer_type": "multi_select", "options": ["a", "b", "c"]}
PLACE = {
    "id": "p",
    "text": "Where?",
    "answer_type": "select",
    "options": ["here", "there"],
    "default": "there",
}
TEXT = {"id": "t", "text": "Say something", "answer_type": "text"}


@pytest.mark.rule("CLARIFY-3")
async def test_ticks_survive_asking_back_and_the_explanation(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(WHICH, accepts=["clarify"])
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        for label in ("a", "c"):
            await page.get_by_role("checkbox", name=label, exact=True).check()
        await page.evaluate(UNTIL_DRAFTS, 1)  # which must replace nothing that is newer
        await show_other_ways(page)
        await page.locator("#asking summary").click()
        await page.locator("#ask_back").fill("What is c?")
        await page.locator("button[value=ask_back]").click()
        await expect(page.locator("main .asides")).to_contain_text("What is c?")
        for label, ticked in (("a", True), ("b", False), ("c", True)):
            await expect(page.get_by_role("checkbox", name=label, exact=True)).to_be_checked(
                checked=ticked
            )
        await settled(page)
        await page.get_by_role("checkbox", name="a", exact=True).uncheck()
        await page.get_by_role("checkbox", name="b", exact=True).check()
        await page.get_by_role("checkbox", name="b", exact=True).focus()
        await web_site.service.explain(ask.id, "The third one.")
        await expect(page.locator("main .asides")).to_contain_text("The third one.")
        await expect(page.get_by_role("checkbox", name="b", exact=True)).to_be_focused()
        await settled(page)
        await page.get_by_role("button", name="Answer", exact=True).click()
        await expect(page.locator("h1")).to_contain_text("Answered")
    [answer] = (await web_site.stored(ask)).walk.answers
    assert answer.value == ["b", "c"]


@pytest.mark.rule("CLARIFY-3")
async def test_an_explanation_does_not_interrupt_somebody_who_is_writing(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT, accepts=["clarify"])
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.locator("#text").press_sequentially("half a ")
        ask = await web_site.act(ask, AskBack(text="How long may it be?"))
        await web_site.service.explain(ask.id, "One line.")
        await expect(page.locator("main .asides")).to_contain_text("One line.")
        await expect(page.locator("#text")).to_be_focused()
        await settled(page)
        await page.keyboard.type("sentence")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("h1")).to_contain_text("Answered")
    [answer] = (await web_site.stored(ask)).walk.answers
    assert answer.value == "half a sentence"


@pytest.mark.rule("CARE-1")
async def test_control_enter_while_asking_back_answers_nothing(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(PLACE, accepts=["clarify"])
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await show_other_ways(page)
        await page.locator("#asking summary").click()
        await page.locator("#ask_back").fill("Where is there?")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("main .asides")).to_contain_text("Where is there?")
    stored = await web_site.stored(ask)
    assert stored.open
    assert [aside.text for aside in stored.asides] == ["Where is there?"]
