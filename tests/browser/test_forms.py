"""Forms on every screen: the question is in sight, no button covers an answer, and nothing that was entered is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.person import AuthMethod, Person
from answerback.service.submission_request import Route
from tests.browser.conftest import page_of, settled, show_other_ways, tab
from tests.browser.site import INBOX, Site, site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-24"),
]
LOOKS: list[dict[str, Any]] = [
    {"viewport": {"width": 1280, "height": 720}},
    {"viewport": {"width": 390, "height": 844}},
    {"viewport": {"width": 390, "height": 420}},
    {"viewport": {"width": 640, "height": 400}},  # 1280 x 800, magnified to 200 %
]
IDS = ["1280x720", "390x844", "390x420", "200 %"]
ANN, ANNS_KEY = Person(surface="web", user_id="ann", name="Ann", known=AuthMethod.LINK), "abp_ann"
TEXT = {"id": "t", "text": "Say something", "answer_type": "text"}
NESTED = {
    "id": "s",
    "text": "Which parts?",
    "answer_type": "schema",
    "schema": {
        "type": "object",
        "required": ["parts"],
        "properties": {
            "parts": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}
        },
    },
}
LAST = {
    "id": "last",
    "text": "Which of these?",
    "answer_type": "multi_select",
    "options": [f"Option {n}" for n in range(20)],
}


async def fifth(site: Site) -> Ask:
    """Return an ask whose first four questions were answered."""
    questions = [{**TEXT, "id": f"t{n}", "text": f"What is number {n}?"} for n in range(4)]
    ask = await site.ask(*questions, LAST)
    for n in range(4):
        ask = await site.act(ask, Answer(value=f"This is number {n}, in some words. " * 3))
    return ask


@pytest.mark.parametrize("look", LOOKS, ids=IDS)
async def test_the_question_is_above_the_middle_below_closed_answers(
    browser: Browser, web_site: Site, look: dict[str, Any]
) -> None:
    ask = await fifth(web_site)
    async with tab(browser, **look) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        question = await page.locator("#question").bounding_box()
        assert question is not None
        assert question["y"] + question["height"] <= look["viewport"]["height"] / 2
        await expect(page.get_by_text("This is number 0")).to_be_hidden()
        await page.locator(".sofar > summary").click()
        line = page.locator(".given .answer", has_text="This is number 0")
        await expect(line).to_be_visible()
        is_cut = "each => each.scrollWidth > each.clientWidth"
        height = await line.evaluate("each => each.offsetHeight")
        assert height < 1.6 * await line.evaluate(
            "each => parseFloat(getComputedStyle(each).fontSize)"
        )
        if look["viewport"]["width"] < 600:
            assert await line.evaluate(is_cut)
        await line.click()
        assert not await line.evaluate(is_cut)


COVERED = """() => {
  const on = document.activeElement.closest(".option").getBoundingClientRect();
  const bar = document.querySelector("main form > .answers").getBoundingClientRect();
  return on.bottom > bar.top + 1 && on.top < bar.bottom;
}"""


@pytest.mark.parametrize("look", LOOKS, ids=IDS)
async def test_answer_covers_nothing_that_is_focused_or_chosen(
    browser: Browser, web_site: Site, look: dict[str, Any]
) -> None:
    ask = await web_site.ask(LAST)
    async with tab(browser, **look) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        boxes = page.locator(".option input")
        for _ in range(20):
            assert not await page.evaluate(COVERED)
            await page.keyboard.press("ArrowDown")
        for n in (0, 7, 13, 19):
            await boxes.nth(n).check()
            assert not await page.evaluate(COVERED)


UNTIL_DRAFTS = """(count) => new Promise((done) => {
  const look = () => {
    const drafts = Object.keys(localStorage).filter((name) => name.startsWith("draft:"));
    if (drafts.length === count) done();
    else setTimeout(look, 20);
  };
  look();
})"""
"""Returns once so many drafts are kept."""


async def type_draft(page: Page, entered: str) -> None:
    await page.locator("#text").fill(entered)
    await page.evaluate(UNTIL_DRAFTS, 1)


async def test_what_is_typed_survives_a_reload_back_and_another_tab(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    context = await browser.new_context()
    async with page_of(context, close=False) as page:
        await page.goto(web_site.page(ask))
        await type_draft(page, "a long thought")
        await page.reload()
        await expect(page.locator("#text")).to_have_value("a long thought")
        await page.get_by_role("link", name="All questions").click()
        await expect(page.locator(".entry")).to_have_count(1)
        await page.go_back()
        await expect(page.locator("#text")).to_have_value("a long thought")
        kept = await page.evaluate("JSON.stringify(localStorage)")
        assert "thought" not in kept
        assert ask.id not in kept
    async with page_of(context) as page:
        await page.goto(web_site.url + INBOX)
        await page.locator(".entry > a").click()
        await expect(page.locator("#text")).to_have_value("a long thought")
        await settled(page)
        await page.get_by_role("button", name="Answer").click()
        await expect(page.locator(".entry")).to_have_count(0)
        await page.evaluate(UNTIL_DRAFTS, 0)
    assert [each.value for each in (await web_site.stored(ask)).walk.answers] == ["a long thought"]


async def test_what_another_program_left_in_the_browser_hides_no_draft(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await type_draft(page, "a long thought")
        await page.evaluate("localStorage.setItem('draft:', 'none of ours')")
        await page.reload()
        await expect(page.locator("#text")).to_have_value("a long thought")
        await page.evaluate(UNTIL_DRAFTS, 1)


async def test_what_is_typed_survives_a_step_back_in_the_form(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask({**TEXT, "id": "first", "text": "First?"}, TEXT)
    await web_site.act(ask, Answer(value="one"))
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await type_draft(page, "half an answer")
        await page.get_by_role("button", name="Back").click()
        await expect(page.locator("#question")).to_have_text("First?")
        await expect(page.locator("#text")).to_have_value("one")
        await settled(page)
        await page.get_by_role("button", name="Answer").click()
        await expect(page.locator("#question")).to_have_text("Say something")
        await expect(page.locator("#text")).to_have_value("half an answer")


@pytest.mark.parametrize("entered", ["", "half an answer"])
@pytest.mark.parametrize("way", ["asking", "giving"])
async def test_what_is_sent_while_the_question_stays_open_is_not_shown_again_but_the_rest_is(
    browser: Browser, tmp_path: Path, way: str, entered: str
) -> None:
    box = {"asking": "#ask_back", "giving": "#hand_over"}[way]
    route = Route.model_validate({"to": "web", "responders": ["ann", "ben"]})
    async with (
        site(tmp_path, keys={ANNS_KEY: ANN}, routes={"ops": route}) as running,
        tab(browser) as page,
    ):
        ask = await running.ask(TEXT, accepts=["clarify"], to="ops", responders=["ann"])
        await page.goto(running.page_of(ask, ANNS_KEY, ANN))
        await settled(page)
        await page.locator("#text").fill(entered)
        await show_other_ways(page)
        await page.locator(f"#{way} > summary").click()
        await page.locator(box).fill("ben")
        await page.evaluate(UNTIL_DRAFTS, 1)
        await page.locator(box).press("Enter" if way == "giving" else "Control+Enter")
        await page.wait_for_function("box => !document.querySelector(box).value", arg=box)
        await expect(page.locator("#text")).to_have_value(entered)
        await page.evaluate(UNTIL_DRAFTS, 1 if entered else 0)
        await page.reload()
        await settled(page)
        await expect(page.locator("#text")).to_have_value(entered)
        await expect(page.locator(box)).to_have_value("")
        now = await running.stored(ask)
        assert ("ben" in now.placement.responders) == (way == "giving")


async def test_a_draft_replaces_nothing_that_somebody_else_can_read(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await type_draft(page, "mine")
        await page.goto(web_site.surface.url(ask.id))
        await expect(page.locator("form.key")).to_be_visible()
        assert "data-drafts" not in await page.content()
        assert "mine" not in await page.content()


async def test_the_format_of_an_answer_is_said_in_words(browser: Browser, web_site: Site) -> None:
    ask = await web_site.ask(NESTED)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await expect(page.locator(".format")).to_contain_text("parts: a list")
        await expect(page.get_by_text('"type": "array"').first).to_be_hidden()
