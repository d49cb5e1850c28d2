"""A person connects and removes an agent in a real browser, on the whole service."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from answerback.runtime.app import run_service
from answerback.runtime.config import ServerSettings, StorageSettings, settings_type
from answerback_storage.personal_links_file import PersonalLinksFile
from answerback_teams.oauth import DEVICE_GRANT
from answerback_teams.settings import OnboardingSettings
from tests.browser.conftest import tab
from tests.browser.test_accessibility import AXE

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def check_accessibility(page: Page) -> None:
    """Check that axe finds nothing, and that no control is lower than 44 pixels."""
    await page.evaluate(Axe().axe_script)
    assert (await page.evaluate(AXE))["violations"] == []
    for control in await page.locator("main :is(button, input:not([type=hidden]))").all():
        box = await control.bounding_box()
        assert box is not None
        assert box["height"] >= 44


@pytest.mark.rule("ONBOARD-3", "ONBOARD-4", "ONBOARD-8")
async def test_a_person_types_a_code_reads_who_asks_approves_and_removes_the_agent(
    browser: Browser, tmp_path: Path
) -> None:
    links = PersonalLinksFile(tmp_path / "asks.db")
    key = await asyncio.to_thread(links.add, "ann", 1.0)
    settings = settings_type().model_construct(
        server=ServerSettings(port=0),
        storage=StorageSettings(url=f"sqlite:///{tmp_path / 'asks.db'}"),
        onboarding=OnboardingSettings(owners=("ann",)),
    )
    async with (
        run_service(settings) as running,
        aiohttp.ClientSession(running.api_url) as program,
        tab(browser) as page,
    ):
        form = {"client_id": "answerback", "program": "Claude Code", "machine": "laptop"}
        async with program.post("/oauth/device_authorization", data=form) as response:
            begun = await response.json()
        await page.goto(f"{begun['verification_uri']}?code={begun['user_code']}")
        await page.get_by_label("Your key").fill(str(key))
        await page.get_by_role("button", name="Sign in").click()
        code = page.get_by_label("Code", exact=True)
        await expect(code).to_have_value("")
        await code.fill(begun["user_code"].lower())
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_text("Claude Code wants to ask people")).to_be_visible()
        await expect(page.get_by_text("The request came from 127.0.0.1.")).to_be_visible()
        await check_accessibility(page)
        await page.get_by_role("button", name="Approve").click()
        await expect(page.get_by_text("Approved. Claude Code gets its token")).to_be_visible()
        poll = {
            "client_id": "answerback",
            "grant_type": DEVICE_GRANT,
            "device_code": begun["device_code"],
        }
        async with program.post("/oauth/token", data=poll) as response:
            token = (await response.json())["access_token"]
        hers = {"Authorization": f"Bearer {token}"}
        await page.get_by_role("link", name="Waiting", exact=True).click()
        await page.get_by_role("link", name="Connect an agent").click()
        await expect(page.get_by_text("Claude Code on laptop, from 127.0.0.1")).to_be_visible()
        await check_accessibility(page)
        async with program.get("/v1/asks", headers=hers) as response:
            assert response.status == 200
        await page.get_by_role("button", name="Remove").click()
        await expect(page.get_by_text("You have not connected any agents.")).to_be_visible()
        async with program.get("/v1/asks", headers=hers) as response:
            assert response.status == 401
