"""The pages on which people are away and snooze: by keys and touch, accessible in light, in dark and on a phone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect
from pydantic import JsonValue

from answerback.runtime.app import RunningService, run_service
from answerback.runtime.config import settings_type
from answerback.service.submission_request import read_submission
from answerback_away import texts
from answerback_storage.personal_links_file import PersonalLinksFile
from tests.browser.conftest import settled, tab
from tests.browser.test_accessibility import AXE, LOOKS
from tests.browser.test_numbers import CALL, WIDER

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
ANN = "ann@example.com"
ROUTE = {"to": "web", "responders": [ANN, "bob@example.com"]}


def question(text: str) -> dict[str, JsonValue]:
    return {"name": "ask_user", "arguments": {"question": text, "answer_type": "boolean"}}


class AnnsPages(NamedTuple):
    """A service where Ann has a page."""

    running: RunningService
    key: str

    async def ask(self, call: dict[str, JsonValue]) -> None:
        await self.running.service.submit(read_submission({**call, "to": "ops"}))

    async def open_inbox(self, page: Page) -> None:
        await page.goto(f"{self.running.api_url}/?key={self.key}")
        await settled(page)


@pytest_asyncio.fixture(loop_scope="session")
async def anns(tmp_path: Path) -> AsyncIterator[AnnsPages]:
    tables = {"server": {"port": 0}, "storage": {"url": f"sqlite:///{tmp_path}/asks.db"}}
    people = {"bob": {"name": "Bob B.", "ids": ["web:bob@example.com"]}}
    settings = settings_type().model_validate(
        {**tables, "people": people, "routes": {"ops": ROUTE}, "away": {"enabled": True}}
    )
    async with run_service(settings) as running:
        key = await asyncio.to_thread(PersonalLinksFile(tmp_path / "asks.db").add, ANN, 1.0)
        assert key is not None
        pages = AnnsPages(running, key)
        await pages.ask(question("Which port? " + "W" * 90))
        await pages.ask(CALL)
        await pages.ask(question("Which gate?"))
        yield pages


async def check_looks(page: Page) -> None:
    """Fail if axe finds anything, or if the page is wider than its window."""
    await page.evaluate(Axe().axe_script)
    for scheme, width in LOOKS:
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        await page.set_viewport_size({"width": width, "height": 700})
        assert (await page.evaluate(AXE))["violations"] == [], (scheme, width)
        assert await page.evaluate(WIDER) == 0, (scheme, width)


@pytest.mark.rule("AWAY-1", "WEB-5")
async def test_the_page_about_being_away_is_accessible(browser: Browser, anns: AnnsPages) -> None:
    async with tab(browser) as page:
        await anns.open_inbox(page)
        await page.get_by_role("link", name=texts.TITLE).click()
        await page.get_by_label(texts.HOW_LONG).fill("3d")
        await page.get_by_label(texts.WHO).fill("Bob B.")
        await page.get_by_role("button", name=texts.SAVE).first.click()
        await expect(page.get_by_role("button", name=texts.BACK)).to_be_visible()
        await check_looks(page)


@pytest.mark.rule("SNOOZE-1", "WEB-5")
async def test_snoozing_is_accessible_on_every_page_that_has_to_do_with_it(
    browser: Browser, anns: AnnsPages
) -> None:
    async with tab(browser) as page:
        await anns.open_inbox(page)
        await check_looks(page)
        await page.get_by_role("link", name=f"{texts.SNOOZE}: Which gate?").click()
        await expect(page.get_by_role("heading", name=texts.SNOOZE)).to_be_visible()
        await check_looks(page)
        await settled(page)
        await page.get_by_role("button", name=texts.SNOOZE_FOR["4h"]).click()
        await expect(page.get_by_role("button", name=texts.UNDO, exact=True)).to_be_visible()
        await check_looks(page)
        await page.get_by_role("link", name=texts.SNOOZED_COUNT.format(count=1)).click()
        await expect(page.get_by_role("heading", name=texts.SNOOZED_LIST)).to_be_visible()
        await check_looks(page)


@pytest.mark.rule("SNOOZE-1")
async def test_a_row_is_snoozed_and_that_is_undone_by_keys_alone(
    browser: Browser, anns: AnnsPages
) -> None:
    async with tab(browser) as page:
        await anns.open_inbox(page)
        await page.keyboard.press("j")
        await settled(page)
        opened = await page.locator(".entry.open .what").inner_text()
        await page.keyboard.press("s")
        await expect(page.get_by_role("heading", name=texts.SNOOZE)).to_be_visible()
        await settled(page)
        await page.get_by_role("button", name=texts.SNOOZE_FOR["1h"]).focus()
        await page.keyboard.press("Enter")
        await expect(page.locator(".entry")).to_have_count(2)
        await expect(page.locator(".summary")).to_contain_text(opened.strip()[:12])
        await settled(page)
        await page.get_by_role("button", name=texts.UNDO, exact=True).focus()
        await page.keyboard.press("Enter")
        await expect(page.locator(".entry")).to_have_count(3)


@pytest.mark.rule("SNOOZE-1", "SNOOZE-3")
async def test_by_touch_without_a_script_and_another_tab_follows(
    browser: Browser, anns: AnnsPages
) -> None:
    async with (
        tab(browser) as watching,
        tab(browser, java_script_enabled=False, has_touch=True) as page,
    ):
        await anns.open_inbox(watching)
        await expect(watching.locator(".entry")).to_have_count(3)
        await page.goto(f"{anns.running.api_url}/?key={anns.key}")
        await page.get_by_role("link", name=f"{texts.SNOOZE}: Which gate?").tap()
        await page.get_by_role("button", name=texts.SNOOZE_FOR["1w"]).tap()
        await expect(page.locator(".entry")).to_have_count(2)
        await expect(watching.locator(".entry")).to_have_count(2)
        await expect(watching).to_have_title(re.compile(r"^\(2\) "))
        await page.get_by_role("button", name=texts.UNDO, exact=True).tap()
        await expect(page.locator(".entry")).to_have_count(3)
        await expect(watching.locator(".entry")).to_have_count(3)
