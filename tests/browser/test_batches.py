"""Permissions are ticked in the inbox, and decided together; ticks survive what comes in meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from tests.browser.conftest import settled, tab
from tests.browser.site import INBOX, Site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("BATCH-4"),
]
LABELS = Labels()
NARROW: dict[str, Any] = {"viewport": {"width": 390, "height": 700}, "color_scheme": "dark"}


async def approval(site: Site, command: str) -> Ask:
    arguments = {"tool_name": "Bash", "tool_input": {"command": command}}
    return await site.ask(name="PermissionRequest", arguments=arguments)


def box(page: Page, ask: Ask) -> Any:
    return page.locator(f"input[value='{ask.id}:1']")


async def shown_texts(page: Page) -> list[str]:
    """Return the texts of the page for a screen reader, also those that the style sheet adds."""
    commands = await page.context.new_cdp_session(page)
    nodes = (await commands.send("Accessibility.getFullAXTree"))["nodes"]
    return [node["name"]["value"] for node in nodes if node["role"]["value"] == "StaticText"]


@pytest.mark.parametrize("scripts", [True, False])
async def test_what_is_ticked_is_counted_also_without_scripts(
    browser: Browser, web_site: Site, scripts: bool
) -> None:
    asks = [await approval(web_site, f"make t{n}") for n in range(3)]
    async with tab(browser, java_script_enabled=scripts) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        bar = page.locator(".batch")
        await expect(bar).to_be_hidden()
        for number, ask in enumerate(asks, start=1):
            await box(page, ask).check()
            assert f"{number} selected:" in "".join(await shown_texts(page))
        await box(page, asks[0]).uncheck()
        assert "2 selected:" in "".join(await shown_texts(page))


@pytest.mark.parametrize("scripts", [True, False])
async def test_what_a_row_does_not_show_whole_is_offered_for_denying_alone(
    browser: Browser, web_site: Site, scripts: bool
) -> None:
    short = await approval(web_site, "make")
    long = await approval(web_site, "\n".join(f"make {n}" for n in range(50)))
    async with tab(browser, java_script_enabled=scripts) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        allow = page.locator("#batch").get_by_role("button", name=LABELS.allow_once)
        why = page.get_by_text(LABELS.batch_only_deny)
        await box(page, short).check()
        await expect(allow).to_be_visible()
        await expect(why).to_be_hidden()
        await box(page, long).check()
        await expect(allow).to_be_hidden()
        await expect(why).to_be_visible()
        await box(page, long).uncheck()
        await expect(allow).to_be_visible()


async def test_allowing_stands_out_among_what_is_ticked(browser: Browser, web_site: Site) -> None:
    await approval(web_site, "make")
    async with tab(browser) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        await page.locator(".tick input").check()
        button = "node => getComputedStyle(node).backgroundColor"
        card = await page.locator(".inbox").evaluate(button)
        backgrounds = [
            await page.locator(f".batch button[value={value}]").evaluate(button)
            for value in ("allow_once", "deny")
        ]
        assert backgrounds[0] != card
        assert backgrounds[1] == card


@pytest.mark.parametrize("options", [{}, NARROW], ids=["wide", "narrow"])
async def test_what_is_ticked_stays_ticked_when_more_comes_in_and_is_decided_together(
    browser: Browser, web_site: Site, options: dict[str, Any]
) -> None:
    asks = [await approval(web_site, f"make t{n}\nmake u{n}") for n in range(3)]
    async with tab(browser, **options) as page:
        await page.goto(web_site.url + INBOX)
        await settled(page)
        for ask in asks[:2]:
            await box(page, ask).check()
        later = await approval(web_site, "true; " * 200)
        await expect(box(page, later)).to_be_visible()
        await settled(page)
        assert [await box(page, ask).is_checked() for ask in (*asks, later)] == [
            *(True, True),
            *(False, False),
        ]
        await expect(page.get_by_role("button", name="Allow once")).to_be_in_viewport()
        found = await Axe().run(page)
        assert found.response["violations"] == []
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.locator(".inbox .tick")).to_have_count(2)
        await settled(page)
        await box(page, later).check()
        await page.get_by_role("button", name="Deny").click()
        await expect(page.locator(".inbox .tick")).to_have_count(1)
    stored = [await web_site.stored(ask) for ask in (*asks, later)]
    given = [[each.value for each in ask.walk.answers] for ask in stored]
    assert given == [["allow"], ["allow"], [], ["deny"]]
