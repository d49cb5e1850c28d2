"""Ctrl+Enter presses the button that belongs to what is focused, and never another that decides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.person import AuthMethod, Person
from answerback.ports.surface import Acted, Actor
from answerback.service.submission_request import Route
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.site import INBOX, KEY, OPERATOR, Site, site
from tests.unit.adapters.web.examples import CLAUDE

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("CARE-6"),
]
ANN, BOB, CY = (
    Person(surface="web", user_id=name, name=name.title(), known=AuthMethod.LINK)
    for name in ("ann", "bob", "cy")
)
ANNS_KEY: Final = "abp_ann"
KEYS: Final = {KEY: OPERATOR, ANNS_KEY: ANN, "abp_bob": BOB, "abp_cy": CY}
OPS: Final[dict[str, Any]] = {"to": "web", "responders": ["ann", "bob", "cy"]}
ROUTES: Final = {
    "ops": Route.model_validate({**OPS, "grants": {}, "edit": True}),
    "two": Route.model_validate({**OPS, "confirmations": 1}),
}
LASTING: Final = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "make a"}],
    "behavior": "allow",
    "destination": "session",
}
"""The host's own rule, which a person can choose."""
RECORD: Final = """() => {
  window.pressed = [];
  addEventListener("submit", (event) => pressed.push(event.submitter?.value ?? ""), true);
}"""
"""Records the buttons that submit a form from now on."""
PRESSED: Final = "pressed.splice(0)"
DROP: Final = {"id": "drop", "text": "Drop the table?", "answer_type": "boolean"}
LIST: Final = {
    "id": "where",
    "text": "Where?",
    "answer_type": "select",
    "options": [f"Region {n}" for n in range(8)],
}


@pytest_asyncio.fixture(loop_scope="session")
async def shared(tmp_path: Path) -> AsyncIterator[Site]:
    """A site of three people: they allow for longer and change calls on the route `ops`, and confirm on `two`."""
    async with site(tmp_path, keys=KEYS, routes=ROUTES) as running:
        yield running


async def command(shared: Site) -> Ask:
    """Ask for the permission to run a command, which the host could allow for longer, too."""
    arguments = {
        "tool_name": "Bash",
        "tool_input": {"command": "make a"},
        "permission_suggestions": [LASTING],
    }
    return await shared.ask(
        name="PermissionRequest",
        arguments=arguments,
        to="ops",
        agent="coder",
        origin={"folder": "/src/app"},
        takes_edited=True,
    )


async def confirming(shared: Site) -> Ask:
    """Ask on the route `two`, and answer it as bob, so that others can confirm it."""
    ask = await shared.ask(DROP, to="two")
    done = await shared.service.act(ask.id, Answer(value=True), Actor(BOB))
    assert isinstance(done, Acted)
    return done.ask


async def open_ask(page: Page, shared: Site, ask: Ask) -> None:
    """Open an ask as ann."""
    await page.goto(shared.page_of(ask, ANNS_KEY, ANN))
    await settled(page)


async def open_way(page: Page, way: str) -> None:
    """Open one of the other ways of an ask."""
    await show_other_ways(page)
    await page.locator(f"#{way} > summary").click()


async def decided(shared: Site, ask: Ask) -> list[object]:
    """Return what was answered and confirmed."""
    walk = (await shared.stored(ask)).walk
    return [*(each.value for each in walk.answers), *(each.by.user_id for each in walk.votes)]


# --- Ctrl+Enter ----------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", ["Control+Enter", "Meta+Enter"])
async def test_ctrl_enter_beside_the_hosts_rule_allows_as_the_numbers_entered_there_say(
    browser: Browser, shared: Site, keys: str
) -> None:
    ask = await command(shared)
    async with tab(browser) as page:
        await open_ask(page, shared, ask)
        await open_way(page, "granting")
        await expect(page.locator("#grant button").first).to_contain_text("always allow")
        await page.locator("#grant input[inputmode=numeric]").fill("2")
        await page.keyboard.press(keys)
        await expect(page.locator(".ended")).to_be_visible()
    [grant] = await shared.service.list_grants(None)
    assert (await decided(shared, ask), grant.uses) == (["allow"], 2)


@pytest.mark.parametrize("where", ["permission", "question"])
async def test_ctrl_enter_in_a_note_chooses_nothing_where_several_buttons_take_it(
    browser: Browser, shared: Site, where: str
) -> None:
    if where == "permission":
        ask = await command(shared)
    else:
        ask = await shared.ask(name="AskUserQuestion", arguments=CLAUDE)
    async with tab(browser) as page:
        await open_ask(page, shared, ask)
        if where == "permission":
            await show_other_ways(page)
        await page.locator("#noting > summary").click()
        await expect(page.locator("#note")).to_be_focused()
        await page.keyboard.type("Not before Monday.")
        await page.evaluate(RECORD)
        await page.keyboard.press("Control+Enter")
        assert await page.evaluate(PRESSED) == []


async def test_ctrl_enter_in_a_changed_call_shows_the_difference(
    browser: Browser, shared: Site
) -> None:
    ask = await command(shared)
    async with tab(browser) as page:
        await open_ask(page, shared, ask)
        await open_way(page, "editing")
        await page.locator("#e0").fill("make b")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#changed")).to_be_focused()
        await settled(page)
        await page.locator("#e0").fill("make c")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#changed")).to_contain_text("make c")
    assert await decided(shared, ask) == []


async def test_ctrl_enter_confirms_nothing_unless_the_button_is_focused(
    browser: Browser, shared: Site
) -> None:
    ask = await confirming(shared)
    async with tab(browser) as page:
        await open_ask(page, shared, ask)
        await page.evaluate(RECORD)
        await page.keyboard.press("Control+Enter")
        assert await page.evaluate(PRESSED) == []
        await page.get_by_role("button", name="Confirm").focus()
        await page.keyboard.press("Control+Enter")
        await expect(page.locator(".ended")).to_be_visible()
    assert await decided(shared, ask) == [True, "ann"]


async def test_ctrl_enter_in_the_search_answers_nothing_that_is_open_beside_it(
    browser: Browser, shared: Site
) -> None:
    ask = await shared.ask(LIST)
    async with tab(browser, viewport={"width": 900, "height": 800}) as page:
        await page.goto(f"{shared.url}{INBOX}?open={ask.id}")
        await settled(page)
        await page.get_by_label("Region 3").check()
        await page.locator("input[name=q]").fill("table")
        await page.evaluate(RECORD)
        await page.keyboard.press("Control+Enter")
        assert await page.evaluate(PRESSED) == []
        await page.get_by_label("Region 3").focus()
        await page.keyboard.press("Control+Enter")
        await expect(page.locator(".detail")).to_have_count(0)
    assert await decided(shared, ask) == ["Region 3"]


async def test_ctrl_enter_sends_what_was_written_or_chosen_last_in_a_list(
    browser: Browser, shared: Site
) -> None:
    question = {
        "question": "Which?",
        "header": "h",
        "options": [{"label": f"O{n}"} for n in range(8)],
    }
    async with tab(browser) as page:
        for focus, expected in (("other", "my own"), ("option", "O2")):
            ask = await shared.ask(name="ask_user", arguments={"questions": [question]})
            await open_ask(page, shared, ask)
            await page.locator("input[value=other]").check()
            await page.locator("#other").fill("my own")
            if focus == "option":
                await page.locator("input[name=choice][value='2']").check()
            await page.keyboard.press("Control+Enter")
            await expect(page.locator(".ended")).to_be_visible()
            assert await decided(shared, ask) == [expected]
