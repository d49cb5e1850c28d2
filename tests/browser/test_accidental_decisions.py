"""Nobody decides by accident: the initial focus, input right after a change, moving controls, truncated content."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.site import Site
from tests.service_support import WAIT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

BACK_UP = {"id": "a", "text": "Back up first?", "answer_type": "boolean"}
DROP = {"id": "b", "text": "Drop the table?", "answer_type": "boolean"}
LONG = "\n".join(f"line {n}" for n in range(200))
SETTLING = 500  # ms for which a page ignores input after it changed
FOCUS = "document.activeElement.tagName"
NARROW: dict[str, Any] = {"viewport": {"width": 320, "height": 640}}


async def open_(page: Page, site: Site, ask: Ask) -> None:
    await page.goto(site.page(ask))


async def answers(site: Site, ask: Ask) -> list[object]:
    return [answer.value for answer in (await site.stored(ask)).walk.answers]


@asynccontextmanager
async def frozen_page(browser: Browser, site: Site, ask: Ask) -> AsyncIterator[Page]:
    """Open a page whose clock stands still until the test advances it."""
    async with tab(browser) as page:
        await page.clock.install(time=1_000)
        await page.clock.pause_at(2_000)
        await open_(page, site, ask)
        yield page


async def shows(page: Page, question: str) -> None:
    """Return once a page shows a question, less than half a second before by its clock.

    Until then its clock goes on, as the page may need it: a request that failed is sent again after some seconds.
    """
    async with asyncio.timeout(WAIT):
        while question not in (await page.locator("h1").text_content() or ""):
            await page.clock.run_for(SETTLING - 1)


@pytest.mark.rule("CARE-1")
@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
@pytest.mark.parametrize("more", [{}, {"default": True}, {"default": False}], ids=str)
async def test_nothing_is_focused_or_chosen_on_a_yes_or_no(
    browser: Browser, web_site: Site, more: dict[str, Any], script: bool
) -> None:
    ask = await web_site.ask({**DROP, **more}, BACK_UP)
    async with tab(browser, java_script_enabled=script) as page:
        await open_(page, web_site, ask)
        await settled(page)
        assert await page.evaluate(FOCUS) == "BODY"
        for keys in ("Enter", "Control+Enter", "Space", "y"):
            await page.keyboard.press(keys)
        await expect(page.locator("h1")).to_have_text("Drop the table?")
    assert await answers(web_site, ask) == []


async def test_a_number_key_and_enter_answer_a_yes_or_no(browser: Browser, web_site: Site) -> None:
    ask = await web_site.ask(BACK_UP, DROP)
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await settled(page)
        await page.keyboard.press("2")
        await expect(page.get_by_role("button", name="No", exact=True)).to_be_focused()
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("h1")).to_have_text("Drop the table?")
    assert await answers(web_site, ask) == [False]


@pytest.mark.rule("CARE-2")
async def test_keys_are_ignored_for_half_a_second_after_a_page_opens(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(BACK_UP)
    async with frozen_page(browser, web_site, ask) as page:
        yes = page.get_by_role("button", name="Yes", exact=True)
        await page.clock.run_for(499)
        await page.keyboard.press("1")
        assert await page.evaluate(FOCUS) == "BODY"
        await yes.focus()
        await page.keyboard.press("Enter")
        await yes.dispatch_event("click")
        await expect(page.locator("h1")).to_have_text("Back up first?")
        await page.clock.run_for(1)
        await page.keyboard.press("Enter")
        await shows(page, "Answered")
    assert await answers(web_site, ask) == [True]


@pytest.mark.rule("CARE-2")
async def test_a_second_press_of_enter_does_not_answer_the_next_question(
    browser: Browser, web_site: Site
) -> None:
    choice = {"id": "c", "text": "Which?", "answer_type": "select", "options": ["x", "y"]}
    ask = await web_site.ask(choice, {**choice, "id": "d", "text": "And?", "default": "y"})
    async with frozen_page(browser, web_site, ask) as page:
        await page.clock.run_for(500)
        await page.keyboard.press("1")
        await page.keyboard.press("Enter")
        await shows(page, "And?")
        for keys in ("Enter", "Control+Enter", "ArrowUp", "1"):
            await page.keyboard.press(keys)
        recommended = page.get_by_role("button", name="y recommended")
        await expect(recommended).to_contain_class("default")
        await expect(page.locator("h1")).to_have_text("And?")
    assert await answers(web_site, ask) == ["x"]


@pytest.mark.rule("CARE-2")
async def test_holding_down_a_key_answers_nothing(browser: Browser, web_site: Site) -> None:
    ask = await web_site.ask(BACK_UP, DROP)
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await settled(page)
        await page.get_by_role("button", name="Yes", exact=True).focus()
        held = "new KeyboardEvent('keydown', {key: 'Enter', repeat: true, bubbles: true, cancelable: true})"
        assert await page.evaluate(f"document.activeElement.dispatchEvent({held})") is False


@pytest.mark.rule("CARE-2")
async def test_keys_and_clicks_are_ignored_right_after_somebody_else_answers(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(BACK_UP, DROP)
    async with frozen_page(browser, web_site, ask) as page:
        await page.clock.run_for(2_000)
        await page.get_by_role("button", name="Yes", exact=True).focus()
        await web_site.act(ask, Answer(value=False))
        await shows(page, "Drop the table?")
        assert await page.evaluate(FOCUS) == "H1"  # no control
        await page.get_by_role("button", name="Yes", exact=True).dispatch_event("click")
        await page.keyboard.press("1")
        assert await page.evaluate(FOCUS) == "H1"
    assert await answers(web_site, ask) == [False]


@pytest.mark.rule("CARE-2")
@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
async def test_the_pointer_is_ignored_for_half_a_second(
    browser: Browser, web_site: Site, script: bool
) -> None:
    ask = await web_site.ask(BACK_UP, DROP)
    async with tab(browser, java_script_enabled=script) as page:
        await open_(page, web_site, ask)
        moving = (
            "document.querySelector('main form').getAnimations().map(a => "
            "[a.effect.getTiming().duration, a.effect.getKeyframes().map(k => k.pointerEvents)])"
        )
        assert await page.evaluate(moving) in ([[500, ["none", "none"]]], [])
        await settled(page)
        assert await page.evaluate(moving) == []


@pytest.mark.rule("CARE-2")
async def test_the_dialog_that_ends_the_turn_waits_too(browser: Browser, web_site: Site) -> None:
    ask = await web_site.ask(BACK_UP)
    async with frozen_page(browser, web_site, ask) as page:
        await page.clock.run_for(2_000)
        await show_other_ways(page)
        await page.get_by_role("button", name="End Turn").click()
        dialog = page.get_by_role("dialog", name="End the turn?")
        await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
        await dialog.get_by_role("button", name="End Turn").dispatch_event("click")
        await expect(dialog).to_be_visible()
        await page.clock.run_for(500)
        await dialog.get_by_role("button", name="End Turn").click()
        await shows(page, "Turn ended")


# --- moving controls ------------------------------------------------------------------------------------


async def button_positions(page: Page) -> list[object]:
    """Return the position of every button on the screen."""
    return [
        (await button.text_content(), await button.bounding_box())
        for button in await page.locator("main :is(button, summary):visible").all()
    ]


@pytest.mark.rule("CARE-5")
@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
@pytest.mark.parametrize(
    "options", [{}, NARROW, {"viewport": {"width": 700, "height": 330}}], ids=str
)
async def test_opening_reply_moves_no_control(
    browser: Browser, web_site: Site, options: dict[str, Any], script: bool
) -> None:
    ask = await web_site.act(await web_site.ask(BACK_UP, DROP), Answer(value=True))
    async with tab(browser, java_script_enabled=script, **options) as page:
        await open_(page, web_site, ask)
        await settled(page)
        await show_other_ways(page)
        reply = page.locator("summary", has_text="Reply")
        await reply.scroll_into_view_if_needed()
        before = await button_positions(page)
        await reply.click()
        await expect(page.locator("#reply")).to_be_visible()
        after = await button_positions(page)
        assert [place for place in before if place not in after] == []


async def test_a_reply_box_opened_by_keyboard_scrolls_into_view(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(BACK_UP)
    async with tab(browser, viewport={"width": 500, "height": 330}) as page:
        await open_(page, web_site, ask)
        await settled(page)
        await show_other_ways(page)
        await page.locator("summary", has_text="Reply").press("Enter")
        await expect(page.locator("#reply")).to_be_focused()
        await expect(page.locator("#reply")).to_be_in_viewport()


# --- truncated content -----------------------------------------------------------------------------------


async def is_truncated(box: Locator) -> bool:
    """Return whether a box shows less than it holds."""
    return bool(await box.evaluate("box => box.scrollHeight > box.clientHeight + 1"))


@pytest.mark.rule("TEXT-4")
async def test_a_long_context_says_that_it_is_truncated_and_scrolls_by_keyboard(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask({**DROP, "context": LONG})
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await settled(page)
        box = page.get_by_role("group", name="Context")
        assert await is_truncated(box)
        sign = page.get_by_text("More below")
        await expect(sign).to_be_visible()
        await expect(sign).to_be_in_viewport()
        for _ in range(4):  # past the two links and Share at the top
            await page.keyboard.press("Tab")
        await expect(box).to_be_focused()
        await page.keyboard.press("End")
        await expect(page.get_by_text("line 199")).to_be_in_viewport()
        await expect(sign).to_be_hidden()
        await page.keyboard.press("Home")
        await expect(sign).to_be_visible()
        await page.get_by_role("link", name="Show in full").click()
        assert not await is_truncated(page.locator("#context"))
        await expect(sign).to_have_count(0)
    assert await answers(web_site, ask) == []


@pytest.mark.rule("TEXT-4")
async def test_nothing_is_truncated_without_a_script(browser: Browser, web_site: Site) -> None:
    ask = await web_site.ask({**DROP, "context": LONG})
    async with tab(browser, java_script_enabled=False) as page:
        await open_(page, web_site, ask)
        assert not await is_truncated(page.locator("#context"))


async def test_a_context_that_fits_is_not_a_tab_stop(browser: Browser, web_site: Site) -> None:
    ask = await web_site.ask({**DROP, "context": "one\ntwo"})
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await settled(page)
        for _ in range(4):  # past the two links and Share at the top
            await page.keyboard.press("Tab")
        await expect(page.get_by_role("button", name="Yes", exact=True)).to_be_focused()
        await expect(page.get_by_text("More below")).to_have_count(0)


@pytest.mark.rule("TEXT-4")
async def test_long_answers_and_previews_also_say_that_they_are_truncated(
    browser: Browser, web_site: Site
) -> None:
    text = {"id": "t", "text": LONG, "answer_type": "text"}
    ask = await web_site.act(await web_site.ask(text, DROP), Answer(value=LONG))
    options = [
        {"label": "x", "description": "d", "preview": LONG},
        {"label": "y", "description": "d"},
    ]
    question = {"question": "Which?", "header": "W", "options": options}
    other = await web_site.ask(name="AskUserQuestion", arguments={"questions": [question]})
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await page.locator("summary", has_text="Answers so far").click()
        answer = page.locator(".given .answer")
        is_cut = "each => each.scrollWidth > each.clientWidth"
        assert await answer.evaluate(is_cut)  # it ends in an ellipsis
        await answer.click()
        assert not await answer.evaluate(is_cut)
        assert await answer.evaluate("each => each.offsetHeight") > 1000  # all of it
        await open_(page, web_site, other)
        await expect(page.get_by_text("More below")).to_have_count(0)
        await page.locator("summary", has_text="Preview").click()
        await expect(page.get_by_text("More below")).to_have_count(1)


@pytest.mark.rule("SURFACE-3", "WEB-15")
async def test_the_context_follows_the_question_and_the_answers_follow_the_context(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(BACK_UP, {**DROP, "context": "It is large."})
    ask = await web_site.act(ask, Answer(value=True))
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await page.locator(".sofar > summary").click()
        text = await page.locator("main").inner_text()
        order = [
            "Assistant asks",
            "Answers so far",
            "Back up first?",
            "Drop the table?",
            "It is large.",
            "Yes\n",
            "Back\n",
        ]
        found = [text.rindex(expected) for expected in order]
        assert found == sorted(found)
