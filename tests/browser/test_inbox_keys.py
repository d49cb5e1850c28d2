"""Fifty decisions a day: the inbox is decided by keyboard or by touch, one press a prompt, and the next one is open."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from tests.browser import kinds
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.site import INBOX, Site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-20"),
]
LABELS = Labels()
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
LOOKS: list[dict[str, Any]] = [
    {"viewport": {"width": 1280, "height": 800}},
    {"viewport": {"width": 900, "height": 800}, "color_scheme": "dark"},
    PHONE,
    {"viewport": {"width": 390, "height": 420}},
]


async def commands(site: Site, *typed: str) -> list[Ask]:
    """Ask for the permission to run commands."""
    asked = [{"tool_name": "Bash", "tool_input": {"command": each}} for each in typed]
    return [await site.ask(name="PermissionRequest", arguments=each) for each in asked]


async def is_open(page: Page, headline: str) -> None:
    """Return once a prompt is open and can be decided."""
    await expect(page.locator(".detail #question")).to_have_text(headline)
    await settled(page)


async def values(site: Site, asks: list[Ask]) -> list[object]:
    return [[each.value for each in (await site.stored(ask)).walk.answers] for ask in asks]


@pytest.mark.parametrize("touch", [False, True], ids=["keyboard", "touch"])
async def test_twelve_prompts_take_thirteen_presses(
    browser: Browser, web_site: Site, touch: bool
) -> None:
    asks = await commands(web_site, *(f"make t{n}" for n in range(12)))
    presses = 0
    async with tab(browser, **(PHONE if touch else {})) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        if touch:
            await page.locator(".entry > a").first.click()
        else:
            await page.keyboard.press("j")
        presses += 1
        for number in range(12):
            await is_open(page, f"Run make t{number}")
            left = 11 - number
            if left:
                await expect(
                    page.get_by_text(LABELS.more_waiting.format(count=left))
                ).to_be_visible()
            if touch:
                await page.locator(".detail").get_by_role("button", name="Allow once").click()
            else:
                await page.keyboard.press("a" if number % 2 else "d")
            presses += 1
        await expect(page.get_by_text(LABELS.inbox_empty)).to_be_visible()
    given = [["allow"] if touch or n % 2 else ["deny"] for n in range(12)]
    assert await values(web_site, asks) == given
    assert presses == 13


async def test_without_a_script_the_next_prompt_is_open_after_a_decision_too(
    browser: Browser, web_site: Site
) -> None:
    asks = await commands(web_site, "make a", "make b")
    async with tab(browser, java_script_enabled=False) as page:
        await page.goto(web_site.url + INBOX)
        await page.locator(".entry > a").first.click()
        await page.locator(".detail").get_by_role("button", name="Allow once").click()
        await expect(page.locator(".detail #question")).to_have_text("Run make b")
        await page.locator(".detail").get_by_role("button", name="Deny", exact=True).click()
        await expect(page.get_by_text(LABELS.inbox_empty)).to_be_visible()
    assert await values(web_site, asks) == [["allow"], ["deny"]]


async def test_keys_decide_nothing_but_what_is_open_and_shown_whole(
    browser: Browser, web_site: Site
) -> None:
    long = "\n".join(f"echo {n}" for n in range(200))
    asks = await commands(web_site, "make a", long)
    async with tab(browser, viewport={"width": 1280, "height": 600}) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        for key in ("a", "d", "x"):
            await page.keyboard.press(key)  # nothing is open
        await page.keyboard.press("k")
        await expect(page.locator(".detail #question")).to_contain_text("Run echo 0")
        await settled(page)
        for key in ("a", "d"):
            await page.keyboard.press(key)
            await expect(page.locator("#live")).to_contain_text(LABELS.cut_off)
        await page.keyboard.press("k")
        await expect(page.locator(".detail #question")).to_have_text("Run make a")
        await page.keyboard.press("a")  # within the half second in which the page is deaf
        await settled(page)
        assert await values(web_site, asks) == [[], []]
        await page.keyboard.press("a")
        await expect(page.locator(".detail #question")).to_contain_text("Run echo 0")
    assert await values(web_site, asks) == [["allow"], []]


async def test_a_plan_that_is_shown_whole_is_decided_by_key(
    browser: Browser, web_site: Site
) -> None:
    ask = await kinds.permission(web_site, ("ExitPlanMode", {"plan": kinds.PLAN}))
    async with tab(browser, viewport={"width": 1280, "height": 800}) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        await page.keyboard.press("j")
        await is_open(page, "Approve this plan?")
        await expect(page.locator(".detail .original")).to_have_count(1)  # repeats it as written
        await page.keyboard.press("d")
        await expect(page.get_by_text(LABELS.inbox_empty)).to_be_visible()
    assert not (await web_site.stored(ask)).open


async def test_keys_tick_deny_with_a_message_and_list_themselves(
    browser: Browser, web_site: Site
) -> None:
    (ask,) = await commands(web_site, "make a")
    async with tab(browser) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        await expect(page.locator(".batch")).to_be_hidden()
        await page.keyboard.press("j")
        await is_open(page, "Run make a")
        await page.keyboard.press("x")
        await expect(page.locator(".batch")).to_be_visible()
        await page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name=LABELS.keys_title)
        await expect(dialog).to_be_visible()
        await page.keyboard.press("a")  # decides nothing below a dialog
        await dialog.get_by_role("button", name=LABELS.close).click()
        await page.keyboard.press("m")
        await expect(page.locator("#reply")).to_be_focused()
        await page.keyboard.type("a day later")
        await page.keyboard.press("Control+Enter")
        await expect(page.get_by_text(LABELS.inbox_empty)).to_be_visible()
    assert (await web_site.stored(ask)).walk.reply == "a day later"


@pytest.mark.parametrize("look", LOOKS[2:], ids=["390", "390x420"])
async def test_the_next_prompt_is_in_sight_after_a_decision_far_down_the_list(
    browser: Browser, web_site: Site, look: dict[str, Any]
) -> None:
    await commands(web_site, *(f"make t{n}" for n in range(20)))
    async with tab(browser, **look) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        await page.locator(".entry > a").nth(16).click()
        await is_open(page, "Run make t16")
        await page.locator(".detail").get_by_role("button", name="Allow once").click()
        await is_open(page, "Run make t17")
        await expect(page.locator(".entry.open")).to_be_in_viewport()
        deny = page.locator(".detail").get_by_role("button", name="Deny", exact=True)
        await expect(deny).to_be_in_viewport()


@pytest.mark.rule("WEB-21")
async def test_a_permission_has_two_buttons_and_says_what_each_other_way_does(
    browser: Browser, web_site: Site
) -> None:
    (ask,) = await commands(web_site, "make a")
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        main = await page.locator(".answers.two button").all()
        assert [await each.get_attribute("value") for each in main] == ["answer:0", "answer:1"]
        boxes = [await each.bounding_box() for each in main]
        assert len({box["y"] for box in boxes if box is not None}) == 1
        await expect(page.locator("#noting")).to_be_hidden()
        await show_other_ways(page)
        ways = await page.locator(".way").all()
        assert len(ways) >= 3
        for way in ways:
            assert await way.locator(".about").inner_text() != ""


@pytest.mark.parametrize("look", LOOKS, ids=["1280", "900", "390", "390x420"])
async def test_an_open_prompt_is_accessible_in_every_look(
    browser: Browser, web_site: Site, look: dict[str, Any]
) -> None:
    await commands(web_site, "make a", "make b", "make c")
    async with tab(browser, **look) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        await page.locator(".entry > a").first.click()
        await is_open(page, "Run make a")
        await page.locator("#more > summary").click()
        found = await Axe().run(page)
        assert found.response["violations"] == []
        wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0


@pytest.mark.parametrize(("look", "least"), [(LOOKS[0], 8), (PHONE, 4)], ids=["1280", "390"])
async def test_so_many_prompts_of_all_kinds_are_in_sight(
    browser: Browser, web_site: Site, look: dict[str, Any], least: int
) -> None:
    async with tab(browser, **look) as page:
        await kinds.inbox(page, web_site)
        entries = await page.locator(".entry").all()
        assert len(entries) == 12
        boxes = [await each.bounding_box() for each in entries]
        height = look["viewport"]["height"]
        seen = [box for box in boxes if box is not None and box["y"] + box["height"] <= height]
        assert len(seen) >= least
        # A command stands in the headline alone.
        assert (await page.locator("main").inner_text()).count("git push --force") == 1
