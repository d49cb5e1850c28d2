"""Arrow keys between the questions of a form with a review: they move the focus and change no answer."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from tests.browser.conftest import settled, tab
from tests.browser.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OPTIONS = [{"value": "x", "label": "X"}, {"value": "y", "label": "Y"}]


async def ask_with_review(site: Site, answered: int) -> Ask:
    questions = [{"id": n, "prompt": f"Question {n}?", "options": OPTIONS} for n in ("a", "b", "c")]
    ask = await site.ask(name="question", arguments={"questions": questions})
    for _ in range(answered):
        ask = await site.act(ask, Answer(value="y"))
    return ask


async def press_and_expect(page: Page, key: str, heading: str) -> None:
    await settled(page)
    await page.keyboard.press(key)
    await expect(page.locator("h1")).to_have_text(heading)


@pytest.mark.rule("WEB-6")
async def test_arrows_move_between_answered_questions_and_the_review(
    browser: Browser, web_site: Site
) -> None:
    ask = await ask_with_review(web_site, 2)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        for key, heading in (
            ("ArrowLeft", "Question b?"),
            ("ArrowLeft", "Question a?"),
            ("ArrowLeft", "Question a?"),
            ("ArrowRight", "Question b?"),
            ("ArrowRight", "Question c?"),
            ("ArrowRight", "Question c?"),
        ):
            await press_and_expect(page, key, heading)
        values = [answer.value for answer in (await web_site.stored(ask)).walk.answers]
        assert values == ["y", "y"]
        await press_and_expect(page, "ArrowLeft", "Question b?")
        await settled(page)
        await page.get_by_role("button", name="X", exact=True).click()
        await expect(page.locator("h1")).to_have_text("Question c?")
        assert [answer.value for answer in (await web_site.stored(ask)).walk.answers] == ["y", "x"]


@pytest.mark.rule("WEB-6", "WALK-18")
async def test_the_right_arrow_reaches_questions_without_an_answer_and_loses_nothing(
    browser: Browser, web_site: Site
) -> None:
    ask = await ask_with_review(web_site, 0)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await press_and_expect(page, "ArrowRight", "Question b?")
        await press_and_expect(page, "ArrowRight", "Question c?")
        await page.get_by_text("Something else…").click()
        await page.get_by_role("textbox").first.fill("my own")
        await page.locator("h1").click()
        await press_and_expect(page, "ArrowRight", "Question c?")
        await expect(page.get_by_role("textbox").first).to_have_value("my own")
        await page.get_by_role("textbox").first.fill("")
        await page.locator("h1").click()
        await press_and_expect(page, "ArrowRight", "Question a?")
        await settled(page)
        await page.get_by_role("button", name="Answer later").click()
        await expect(page.locator("h1")).to_have_text("Question b?")
        assert (await web_site.stored(ask)).walk.answers == ()


async def test_up_and_down_move_through_the_answers_of_the_review(
    browser: Browser, web_site: Site
) -> None:
    ask = await ask_with_review(web_site, 3)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        edits = page.get_by_role("button", name="Edit")
        for key, place in (("ArrowDown", 0), ("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", 2)):
            await page.keyboard.press(key)
            await expect(edits.nth(place)).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("Question c?")
        await press_and_expect(page, "ArrowLeft", "Check your answers")
        await press_and_expect(page, "ArrowLeft", "Question c?")


@pytest.mark.rule("WEB-6")
async def test_arrows_move_nothing_where_back_discards_answers(
    browser: Browser, web_site: Site
) -> None:
    yes_no = {"id": "a", "text": "Sure?", "answer_type": "boolean"}
    ask = await web_site.act(
        await web_site.ask(yes_no, {**yes_no, "id": "b", "text": "And?"}), Answer(value=True)
    )
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await press_and_expect(page, "ArrowLeft", "And?")
    assert len((await web_site.stored(ask)).walk.answers) == 1


@pytest.mark.rule("WEB-1", "WEB-12")
async def test_keys_pass_options_that_are_filtered_away(browser: Browser, web_site: Site) -> None:
    options = [f"{'even' if i % 2 else 'odd'} {i + 1}" for i in range(14)]
    question = {"id": "m", "text": "Which?", "answer_type": "select", "options": options}
    ask = await web_site.ask(question)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.get_by_role("searchbox").fill("even")
        await expect(page.locator(".option:visible")).to_have_count(7)
        await page.keyboard.press("Tab")
        await page.keyboard.press("Space")
        chosen = page.locator("input[name=choice]:checked")
        await expect(chosen).to_have_value("1")
        await page.keyboard.press("ArrowDown")
        await expect(chosen).to_have_value("3")
        await page.keyboard.press("1")  # it is filtered away
        await expect(chosen).to_have_value("3")
        await page.get_by_role("searchbox").fill("")
        await expect(page.locator(".option:visible")).to_have_count(14)
        await page.get_by_role("radio", name="odd 1", exact=True).check()
