"""The operator's page of numbers: accessible in light, dark and on a phone, and without JavaScript."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, expect
from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.ports.person_key import operator
from answerback.ports.surface import Acted, Actor
from answerback.runtime.app import run_service
from answerback.runtime.config import ServerSettings, StorageSettings, settings_type
from answerback.service.submission_request import read_submission
from tests.browser.conftest import tab
from tests.browser.test_accessibility import AXE, LOOKS

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CALL: Final[dict[str, JsonValue]] = {
    "name": "PermissionRequest",
    "arguments": {"tool_name": "Bash", "tool_input": {"command": "pytest -q " + "tests/" * 20}},
    "origin": {"folder": "/srv/app"},
}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.rule("NUMBERS-1", "WEB-5")
@pytest.mark.parametrize("script", [True, False])
async def test_the_page_of_numbers_is_accessible_and_needs_no_script(
    browser: Browser, tmp_path: Path, script: bool
) -> None:
    settings = settings_type().model_construct(
        server=ServerSettings(port=0),
        storage=StorageSettings(url=f"sqlite:///{tmp_path / 'asks.db'}"),
    )
    async with run_service(settings) as up:
        for _ in range(3):
            ask = (await up.service.submit(read_submission(CALL))).ask
            person = Actor(operator("web"))
            done = await up.service.act(ask.id, Answer(value="allow"), person)
            assert isinstance(done, Acted)
        async with tab(browser, java_script_enabled=script) as page:
            await page.goto(up.inbox_url)
            await page.get_by_role("link", name="Numbers").click()
            await expect(page.get_by_role("heading", name="Always allowed")).to_be_visible()
            await expect(page.get_by_role("table")).to_have_count(4)
            await expect(page.get_by_role("row", name="pytest")).to_contain_text("3")
            if not script:
                return
            await page.evaluate(Axe().axe_script)
            for scheme, width in LOOKS:
                await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                await page.set_viewport_size({"width": width, "height": 700})
                assert (await page.evaluate(AXE))["violations"] == [], (scheme, width)
                assert await page.evaluate(WIDER) == 0, (scheme, width)
