"""Arrays of flat objects are rows of a form, with the page's script and without."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from answerback.core.ask import Ask, Status
from answerback.core.clarification import AskBack
from answerback.core.labels import Labels
from tests.browser.conftest import settled, tab
from tests.browser.site import Site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-26"),
]
LABELS = Labels()
HOST = {
    "type": "object",
    "required": ["name", "port", "tls"],
    "properties": {
        "name": {"type": "string", "title": "Name", "maxLength": 40},
        "port": {"type": "integer", "title": "Port", "minimum": 1, "maximum": 65535},
        "weight": {"type": "number", "title": "Weight"},
        "tls": {"type": "boolean", "title": "TLS"},
        "zone": {"enum": ["north", "south"], "title": "Zone"},
    },
}
ROWS = {"type": "array", "items": HOST}
GIVEN = [{"name": "a", "port": 1, "tls": True}, {"name": "b", "port": 2, "tls": False}]

TYPE_DRAFT = """(input, text) => new Promise((done) => {
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  const setItem = Storage.prototype.setItem;
  Storage.prototype.setItem = function (...item) {
    setItem.apply(this, item);
    done();
  };
})"""
"""Types a text, and returns once the draft that has it is kept."""


async def ask_for(site: Site, **hosts: Any) -> Ask:
    """Ask for hosts, and a text beside them."""
    array = {"type": "array", "title": "Hosts", "items": HOST, **hosts}
    properties = {"hosts": array, "why": {"type": "string", "title": "Why"}}
    schema = {"type": "object", "required": ["hosts"], "properties": properties}
    return await site.ask({"id": "s", "text": "Which?", "answer_type": "schema", "schema": schema})


def row(page: Page, number: int) -> Locator:
    return page.get_by_role("group", name=f"{LABELS.row} {number}", exact=True)


async def fill(within: Locator, name: str, port: str) -> None:
    await within.get_by_role("textbox", name="Name").fill(name)
    await within.get_by_role("textbox", name="Port").fill(port)
    await within.get_by_role("radio", name=LABELS.yes).check()


async def answer_to(site: Site, ask: Ask) -> str:
    """Return the answer as the agent gets it, to the byte."""
    stored = await site.stored(ask)
    assert stored.status is Status.ANSWERED
    return json.dumps(stored.walk.answers[0].value)


async def press(page: Page, name: str) -> None:
    await page.get_by_role("button", name=name, exact=True).click()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
async def test_rows_are_added_and_removed_and_sent_with_their_types(
    browser: Browser, web_site: Site, script: bool
) -> None:
    ask = await ask_for(web_site, default=GIVEN)
    async with tab(browser, java_script_enabled=script) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await expect(row(page, 2).get_by_role("textbox", name="Name")).to_have_value("b")
        await expect(row(page, 1)).to_contain_text("a whole number, 1 to 65,535")
        await expect(row(page, 1)).to_contain_text("at most 40 characters")
        await press(page, LABELS.add_row)
        await fill(row(page, 3), "c", "65535")
        await row(page, 3).get_by_role("textbox", name="Weight").fill("0.10")
        await row(page, 3).get_by_role("radio", name="south").check()
        await page.get_by_role("textbox", name="Why").fill("because")
        await settled(page)
        await press(page, f"{LABELS.remove_row} 1")
        await expect(row(page, 3)).to_have_count(0)
        await settled(page)
        await press(page, LABELS.answer)
        await expect(page.locator(".ended")).to_be_visible()
    hosts = [
        {"name": "b", "port": 2, "tls": False},
        {"name": "c", "port": 65535, "weight": 0.1, "tls": True, "zone": "south"},
    ]
    assert await answer_to(web_site, ask) == json.dumps({"hosts": hosts, "why": "because"})


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
async def test_a_problem_stands_at_its_row_and_an_empty_row_is_none(
    browser: Browser, web_site: Site, script: bool
) -> None:
    ask = await ask_for(web_site)
    async with tab(browser, java_script_enabled=script) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await press(page, LABELS.add_row)
        await settled(page)
        await fill(row(page, 2), "b", "70000")
        if script:
            await row(page, 2).get_by_role("textbox", name="Port").press("Enter")  # answers
        else:
            await press(page, LABELS.answer)
        port = row(page, 2).get_by_role("textbox", name="Port")
        await expect(port).to_have_attribute("aria-invalid", "true")
        await expect(row(page, 1).locator("[aria-invalid]")).to_have_count(0)
        await expect(row(page, 2).locator(".error")).to_contain_text("must be a whole number")
        await settled(page)
        await port.fill("7")
        await press(page, LABELS.answer)
        await expect(page.locator(".ended")).to_be_visible()
    assert await answer_to(web_site, ask) == json.dumps(
        {"hosts": [{"name": "b", "port": 7, "tls": True}]}
    )


async def test_rows_survive_a_reload(browser: Browser, web_site: Site) -> None:
    ask = await ask_for(web_site, default=GIVEN, maxItems=3)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await press(page, f"{LABELS.remove_row} 1")
        for _ in range(2):
            await press(page, LABELS.add_row)
        await expect(page.get_by_role("button", name=LABELS.add_row)).to_be_disabled()
        await row(page, 2).get_by_role("textbox", name="Name").fill("c")
        await row(page, 3).get_by_role("textbox", name="Name").evaluate(TYPE_DRAFT, "d")
        await page.reload()
        names = [row(page, n).get_by_role("textbox", name="Name") for n in (1, 2, 3)]
        for field, name in zip(names, ("b", "c", "d"), strict=True):
            await expect(field).to_have_value(name)
        await expect(row(page, 4)).to_have_count(0)


async def test_what_rows_would_lose_is_edited_as_json(browser: Browser, web_site: Site) -> None:
    more = await ask_for(web_site, default=[{**GIVEN[0], "more": 1}])
    nested = await ask_for(
        web_site, items={**HOST, "properties": {"name": {"type": "array"}}, "required": []}
    )
    async with tab(browser) as page:
        for ask in (more, nested):
            await page.goto(web_site.page(ask))
            await expect(page.locator("#json")).to_be_visible()


async def test_rows_stay_while_the_page_follows_its_ask(browser: Browser, web_site: Site) -> None:
    question = {"id": "s", "text": "Which?", "answer_type": "schema", "schema": ROWS}
    ask = await web_site.ask(question, accepts=["clarify"])
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await press(page, LABELS.add_row)
        await row(page, 2).get_by_role("textbox", name="Name").fill("second")
        await web_site.act(ask, AskBack(text="Why?"))
        await web_site.service.explain(ask.id, "Because.")
        await expect(page.get_by_text("Because.").first).to_be_visible()
        await expect(row(page, 2).get_by_role("textbox", name="Name")).to_have_value("second")
