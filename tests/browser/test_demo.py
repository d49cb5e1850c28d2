"""The newcomer's first minute: the demo's form, walked in a real browser, ends the demo with the tool result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.acceptance.process import command
from tests.browser.conftest import show_other_ways, tab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.acceptance,
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest.mark.rule("CLI-2")
@pytest.mark.parametrize(
    ("way_out", "shown", "status", "structured"),
    [
        ("answer", "Answered", "answered", {"apply": True, "env": "production", "note": "go"}),
        (
            "reply",
            "Ended with a reply",
            "cancelled",
            {"cancelled": True, "answered": {"apply": True}, "reply": "later"},
        ),
        ("end turn", "Turn ended", "turn ended", None),
    ],
)
async def test_the_demo_ends_on_its_own_with_the_agents_result(
    browser: Browser, tmp_path: Path, way_out: str, shown: str, status: str, structured: object
) -> None:
    async with command("demo", "--no-browser", "--port", "0", folder=tmp_path) as process:
        address = await process.line()
        async with tab(browser) as page:
            await page.goto(address)
            await page.get_by_role("button", name="Yes", exact=True).click()
            await expect(page.get_by_role("button", name="production")).to_be_visible()
            if way_out == "reply":
                await show_other_ways(page)
                await page.get_by_text("Reply", exact=True).first.click()
                await page.get_by_label("Your message to the assistant").fill("later")
                await page.get_by_role("button", name="Send", exact=True).click()
            elif way_out == "end turn":
                await show_other_ways(page)
                await page.get_by_role("button", name="End Turn").click()
                dialog = page.get_by_role("dialog", name="End the turn?")
                await dialog.get_by_role("button", name="End Turn").click()
            else:
                production = page.get_by_role("button", name="production")
                await production.click()
                await page.get_by_role("button", name="Back").click()
                await expect(production).to_contain_class("primary")
                await production.click()
                await page.get_by_label("Optional note for the migration log").fill("go")
                await page.get_by_role("button", name="Answer").click()
            await expect(page.locator("h1")).to_contain_text(shown)
            code, out, err = await process.ended()
    assert code == 0
    result = json.loads(out)
    assert (result and result["structured"]) == structured
    assert f"The ask has ended: {status}." in err
    assert list(tmp_path.iterdir()) == []
