"""Several people in their browsers: one answers, hands over to another, and that one confirms."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from answerback.core.ask import Ask, Status
from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback.service.submission_request import Route
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.site import Site, site

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LABELS = Labels()
PEOPLE = {
    f"abk_of-{name}-in-tests": Person(surface="web", user_id=name, name=name.title())
    for name in ("ann", "bob", "cy")
}
PROD = Route.model_validate({"to": "web", "responders": ["ann", "bob", "cy"], "confirmations": 1})
GO = {"id": "go", "text": "Drop the table?", "answer_type": "boolean", "context": "`users`"}


async def open_as(page: Page, shared: Site, ask: Ask, name: str) -> None:
    [(key, person)] = [each for each in PEOPLE.items() if each[1].user_id == name]
    await page.goto(shared.page_of(ask, key, person))
    await settled(page)


@pytest.mark.rule("CONFIRM-2", "HANDOVER-1", "HANDOVER-3", "HANDOVER-7")
async def test_an_answer_is_handed_over_and_confirmed(browser: Browser, tmp_path: Path) -> None:
    async with site(tmp_path, keys=PEOPLE, routes={"prod": PROD}) as shared:
        ask = await shared.ask(GO, to="prod", responders=["ann", "bob"])
        async with tab(browser) as anns, tab(browser) as bobs, tab(browser) as cys:
            await open_as(anns, shared, ask, "ann")
            await open_as(bobs, shared, ask, "bob")
            await bobs.get_by_role("button", name="Yes").focus()
            await anns.get_by_role("button", name="Yes").click()
            await expect(anns.locator("h1")).to_have_text(LABELS.confirm_waiting)
            await expect(anns.locator("main")).to_contain_text(LABELS.confirm_by.format(who="bob"))
            await expect(bobs.locator("#said")).to_contain_text("Confirm this? users")
            await expect(bobs.locator("h1")).to_be_focused()  # not what confirms
            await settled(anns)
            await show_other_ways(anns)
            await anns.locator("#giving summary").click()
            await expect(anns.locator("#hand_over")).to_be_focused()
            await anns.locator("#hand_over").fill("eve")
            await anns.keyboard.press("Control+Enter")
            await expect(anns.locator("#giving-sheet")).to_contain_text(
                "This person may not answer here"
            )
            await expect(anns.locator("#hand_over")).to_have_value("eve")
            await settled(anns)
            await anns.locator("#hand_over").fill("cy")
            await anns.locator("button[value=hand_over]").click()
            await expect(bobs.locator("main")).to_contain_text("cy")  # as one who may answer
            await open_as(cys, shared, ask, "cy")
            await expect(cys.locator("main")).to_contain_text("users")
            await cys.get_by_role("button", name="Confirm").click()
            await expect(cys.locator("h1")).to_contain_text("Answered")
            await expect(bobs.locator("h1")).to_contain_text("Answered")
            await expect(bobs.locator("main")).to_contain_text("Confirmed by Cy")
        stored = await shared.stored(ask)
        assert stored.status is Status.ANSWERED
        assert [vote.by.user_id for vote in stored.walk.votes] == ["cy"]


@pytest.mark.rule("CONFIRM-4")
async def test_an_objection_ends_it_in_every_browser(browser: Browser, tmp_path: Path) -> None:
    async with site(tmp_path, keys=PEOPLE, routes={"prod": PROD}) as shared:
        ask = await shared.ask(GO, to="prod")
        async with tab(browser) as anns, tab(browser) as bobs:
            await open_as(anns, shared, ask, "ann")
            await anns.get_by_role("button", name="Yes").click()
            await open_as(bobs, shared, ask, "bob")
            await show_other_ways(bobs)
            await bobs.locator("#replying summary").click()
            await bobs.locator("#reply").fill("Not on a [Friday](https://example.com)")
            await settled(anns)
            await show_other_ways(anns)
            await anns.locator("#replying summary").focus()
            await bobs.keyboard.press("Control+Enter")
            for page in (anns, bobs):
                await expect(page.locator("h1")).to_contain_text("Rejected by Bob")
                await expect(page.locator("main")).to_contain_text("Not on a")
            await expect(anns.locator("h1")).to_be_focused()
        assert (await shared.stored(ask)).status is Status.CANCELLED
