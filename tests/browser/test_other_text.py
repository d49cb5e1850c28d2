"""Free text next to ticked options, in a real browser, with its script and without."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from answerback.core.ask import Status
from answerback.core.labels import Labels
from tests.browser.conftest import settled, tab
from tests.browser.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LABELS = Labels()
OWN = f"{LABELS.answer}: {LABELS.other}"
UNTICKED = LABELS.other_unticked.format(other=LABELS.other)
OPTIONS = [
    {"label": label, "description": f"about {label}"} for label in ("Alpha", "Beta", "Gamma")
]
MANY = [*OPTIONS, *({"label": label} for label in ("Delta", "Epsilon", "Zeta", "Eta"))]
"""So many that the options of a single choice are no buttons."""
QUESTIONS: dict[str, list[dict[str, object]]] = {
    "questions": [{"question": "Which?", "header": "h", "options": OPTIONS, "multiSelect": True}]
}


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
@pytest.mark.parametrize(
    ("name", "value"), [("ask_user", ["Alpha", "Beta", "Zig"]), ("AskUserQuestion", "Zig")]
)
async def test_ticks_stay_alongside_free_text_or_the_page_says_that_it_replaces_them(
    browser: Browser, web_site: Site, script: bool, name: str, value: object
) -> None:
    ask = await web_site.ask(name=name, arguments=QUESTIONS)
    async with tab(browser, java_script_enabled=script) as page:
        await page.goto(web_site.page(ask))
        replaces = page.get_by_text(LABELS.other_replaces)
        await expect(replaces).to_have_count(0 if name == "ask_user" else 1)
        await page.get_by_role("checkbox", name="Alpha").check()
        await page.get_by_role("checkbox", name="Beta").check()
        other = page.get_by_role("checkbox", name=LABELS.other)
        await other.check()
        await page.locator("#other").fill("Zig")
        await other.uncheck()  # nothing is sent, and the page says what to do
        await page.get_by_role("button", name=LABELS.answer, exact=True).click()
        await expect(page.get_by_text(UNTICKED).first).to_be_visible()
        await settled(page)
        await other.check()
        await page.get_by_role("button", name=OWN).click()
        await expect(page.locator(".rows").get_by_text("Zig", exact=True)).to_be_visible()
    ended = await web_site.stored(ask)
    assert ended.status is Status.ANSWERED
    assert [answer.value for answer in ended.walk.answers] == [value]


@pytest.mark.rule("WEB-23")
@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
@pytest.mark.parametrize(
    ("several", "value"), [(False, "Zig"), (True, ["Alpha", "Zig"])], ids=["one", "several"]
)
async def test_in_a_list_something_else_opens_on_demand(
    browser: Browser, web_site: Site, script: bool, several: bool, value: object
) -> None:
    question = {**QUESTIONS["questions"][0], "options": MANY, "multiSelect": several}
    ask = await web_site.ask(name="ask_user", arguments={"questions": [question]})
    async with tab(browser, java_script_enabled=script) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        other = page.get_by_role("checkbox" if several else "radio", name=LABELS.other)
        own = page.get_by_role("button", name=OWN)
        await expect(page.locator("#other")).to_be_hidden()
        await expect(own).to_be_hidden()
        await page.get_by_role("checkbox" if several else "radio", name="Alpha").check()
        await other.check()
        await page.locator("#other").fill("Zig")
        await own.click()
        await expect(page.locator(".ended")).to_be_visible()
    assert [each.value for each in (await web_site.stored(ask)).walk.answers] == [value]


@pytest.mark.rule("WEB-14")
@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
@pytest.mark.parametrize("way", ["click", "space", "number"])
async def test_choosing_something_else_puts_the_cursor_in_its_text(
    browser: Browser, web_site: Site, several: bool, way: str
) -> None:
    question = {**QUESTIONS["questions"][0], "options": MANY, "multiSelect": several}
    ask = await web_site.ask(name="ask_user", arguments={"questions": [question]})
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        other = page.locator("input[name=choice][value=other]")
        if way == "click":
            await page.get_by_text(LABELS.other, exact=True).click()
        elif way == "number":
            await page.keyboard.press("8")
        else:
            await other.focus()
            await page.keyboard.press("Space")
        await expect(page.locator("#other")).to_be_focused()
        await page.keyboard.type("Zig")
        await page.get_by_role("button", name=OWN).click()
        await expect(page.locator(".rows").get_by_text("Zig", exact=True)).to_be_visible()


@pytest.mark.rule("WEB-14")
async def test_arrow_keys_pass_something_else(browser: Browser, web_site: Site) -> None:
    question = {**QUESTIONS["questions"][0], "options": MANY, "multiSelect": False}
    ask = await web_site.ask(name="ask_user", arguments={"questions": [question]})
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.get_by_role("radio", name="Eta", exact=True).check()
        await page.keyboard.press("ArrowDown")
        await expect(page.locator("input[name=choice][value=other]")).to_be_checked()
        await page.keyboard.press("ArrowDown")
        await expect(page.get_by_role("radio", name="Alpha")).to_be_checked()
