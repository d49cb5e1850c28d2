"""Lists that are longer than the window: their filter by keyboard, and the button that answers."""

from __future__ import annotations

from typing import Final

import pytest
from playwright.async_api import Browser, Page, expect

from answerback.core.ask import Status
from answerback.core.labels import Labels
from tests.browser.conftest import settled, tab
from tests.browser.site import Site

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
REGIONS: Final = [f"{a}-{b}-{i}" for a in ("eu", "us") for b in ("west", "east") for i in range(9)]
NEVER_OUT_OF_SIGHT: Final = """() => {
  const box = document.activeElement.closest(".option, button").getBoundingClientRect();
  const bar = document.querySelector(".answers").getBoundingClientRect();
  const free = document.activeElement.closest(".answers") || box.bottom <= bar.top + 1;
  return free && box.top >= 0 && bar.top >= 0 && bar.bottom <= innerHeight + 1;
}"""


def question(kind: str) -> dict[str, object]:
    return {"id": "r", "text": "Which region?", "answer_type": kind, "options": REGIONS}


async def focused(page: Page) -> str:
    """Return the label of the option that has the focus."""
    text = "document.activeElement.closest('.option')?.querySelector('.label').textContent ?? ''"
    return str(await page.evaluate(text))


@pytest.mark.rule("WEB-1", "WEB-12")
@pytest.mark.parametrize(
    ("kind", "keys", "value"),
    [
        ("select", ["Tab", "ArrowDown"], "us-east-1"),
        ("select", ["ArrowDown", "ArrowDown"], "us-east-1"),
        ("select", ["Enter", "Tab"], "us-east-0"),
        ("multi_select", ["Tab", "Space", "ArrowDown", "ArrowDown", "ArrowUp", "Space"], ["us-east-0", "us-east-1"]),
        ("multi_select", ["Enter", "Enter", "ArrowDown"], ["us-east-0", "us-east-1"]),
    ],
)  # fmt: skip
async def test_what_the_filter_leaves_is_chosen_and_sent_by_keyboard(
    browser: Browser, web_site: Site, kind: str, keys: list[str], value: object
) -> None:
    ask = await web_site.ask(question(kind))
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.get_by_role("searchbox").focus()
        await page.keyboard.type("us-east")
        await expect(page.locator(".option:visible")).to_have_count(9)
        for key in keys:
            await page.keyboard.press(key)
        assert (await focused(page)).startswith("us-east")
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_contain_text("Answered")
    stored = await web_site.stored(ask)
    assert [given.value for given in stored.walk.answers] == [value]


@pytest.mark.rule("WEB-1", "WEB-12")
async def test_a_filter_that_leaves_nothing_says_so_and_sends_nothing(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(question("select"))
    sent: list[str] = []
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        page.on("request", lambda request: sent.append(request.method))
        await page.get_by_role("searchbox").fill("mars")
        nothing = Labels().nothing_found.format(text="mars")
        await expect(page.get_by_text(nothing)).to_be_visible()
        await page.keyboard.press("Enter")
        await page.keyboard.press("Escape")
        await expect(page.locator(".option:visible")).to_have_count(len(REGIONS))
        await expect(page.get_by_text(nothing)).to_have_count(0)
    assert "POST" not in sent
    assert (await web_site.stored(ask)).status is Status.OPEN


@pytest.mark.rule("WEB-15")
@pytest.mark.parametrize("width", [390, 1280])
async def test_the_button_that_answers_stays_in_sight_and_hides_nothing_that_has_the_focus(
    browser: Browser, web_site: Site, width: int
) -> None:
    ask = await web_site.ask(question("multi_select"))
    async with tab(browser, viewport={"width": width, "height": 700}) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.get_by_label(REGIONS[0]).focus()
        for _ in REGIONS[1:]:
            assert await page.evaluate(NEVER_OUT_OF_SIGHT)
            await page.keyboard.press("Tab")
        assert await focused(page) == REGIONS[-1]
        assert await page.evaluate(NEVER_OUT_OF_SIGHT)


@pytest.mark.rule("WEB-12")
async def test_keys_are_named_only_where_they_do_something(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(question("select"))
    shown_only = web_site.surface.url(ask.id)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await expect(page.locator("kbd").first).to_be_visible()
        await page.goto(shown_only)
        await expect(page.locator("kbd").first).to_be_hidden()
    async with tab(browser, java_script_enabled=False) as page:
        await page.goto(web_site.page(ask))
        await expect(page.locator("kbd").first).to_be_hidden()
