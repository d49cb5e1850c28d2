"""Enter and Ctrl+Enter press the button that belongs to what is focused, and never another that decides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.person import AuthMethod, Person
from answerback.ports.person_key import operator_holder
from answerback.ports.surface import Acted, Actor
from answerback.service.submission_request import Route
from answerback_web.page_access import PageLinks
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.site import INBOX, SECRET, Site, site
from tests.browser.test_accessibility import KEYS, STATES, State
from tests.unit.adapters.web.examples import CLAUDE, FLAT

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
SCRIPT: Final = pytest.mark.parametrize(
    "script", [True, False], ids=["with script", "without script"]
)
LABELS: Final = Labels()
ANNS: Final = f"/inbox/{PageLinks(SECRET).inbox_name(operator_holder(ANNS_KEY, ANN))}"
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
OWN_TEXT: Final = {
    "question": "Which?",
    "header": "h",
    "options": [{"label": f"O{n}"} for n in range(8)],
}
"""A list, in which a text of one's own can be written."""
LIST: Final = {
    "id": "where",
    "text": "Where?",
    "answer_type": "select",
    "options": [f"Region {n}" for n in range(8)],
}


@pytest_asyncio.fixture(loop_scope="session")
async def shared(tmp_path: Path) -> AsyncIterator[Site]:
    """A site of three people: they allow for longer and change calls on the route `ops`, and confirm on `two`."""
    keys = {**KEYS, ANNS_KEY: ANN, "abp_bob": BOB, "abp_cy": CY}
    async with site(tmp_path, keys=keys, routes=ROUTES) as running:
        yield running


async def command(shared: Site, **more: object) -> Ask:
    """Ask for the permission to run a command, which the host could allow for longer, too."""
    arguments = {
        "tool_name": "Bash",
        "tool_input": {"command": "make a", **more},
        "permission_suggestions": [LASTING],
    }
    return await shared.ask(
        name="PermissionRequest",
        arguments=arguments,
        to="ops",
        responders=["ann", "bob"],
        agent="coder",
        origin={"folder": "/src/app"},
        takes_edited=True,
    )


async def confirming(shared: Site) -> Ask:
    """Ask on the route `two`, and answer it as bob, so that others can confirm it."""
    ask = await shared.ask(DROP, to="two", responders=["ann", "bob"])
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


async def says_to_press_a_button(page: Page) -> None:
    """Return once the page says that Enter has sent nothing."""
    await expect(page.get_by_text(LABELS.no_button)).to_be_visible()


# --- Enter ---------------------------------------------------------------------------------------


@SCRIPT
@pytest.mark.parametrize("phase", ["permission", "confirmation"])
async def test_enter_in_the_name_of_a_colleague_hands_over_and_decides_nothing(
    browser: Browser, shared: Site, script: bool, phase: str
) -> None:
    ask = await (command(shared) if phase == "permission" else confirming(shared))
    before = await decided(shared, ask)
    async with tab(browser, java_script_enabled=script) as page:
        await open_ask(page, shared, ask)
        await open_way(page, "giving")
        await page.locator("#hand_over").fill("cy")
        await page.keyboard.press("Enter")
        if script:
            await expect(page.locator("#hand_over")).to_have_value("")
        else:
            await says_to_press_a_button(page)
            await expect(page.locator("#hand_over")).to_have_value("cy")
            await expect(page.locator("#hand_over")).to_be_visible()
    assert ("cy" in (await shared.stored(ask)).placement.responders) == script
    assert await decided(shared, ask) == before


@SCRIPT
async def test_enter_in_the_number_of_uses_allows_for_longer(
    browser: Browser, shared: Site, script: bool
) -> None:
    ask = await command(shared)
    async with tab(browser, java_script_enabled=script) as page:
        await open_ask(page, shared, ask)
        await open_way(page, "granting")
        uses = page.locator("#grant input[inputmode=numeric]")
        await uses.fill("2")
        await page.keyboard.press("Enter")
        if script:
            await expect(page.locator(".ended")).to_be_visible()
        else:
            await says_to_press_a_button(page)
            await expect(uses).to_be_visible()
            await expect(uses).to_have_value("2")
    grants = await shared.service.list_grants(None)
    assert [each.uses for each in grants] == ([2] if script else [])
    assert await decided(shared, ask) == (["allow"] if script else [])


@SCRIPT
async def test_enter_in_a_tick_box_decides_nothing(
    browser: Browser, shared: Site, script: bool
) -> None:
    asks = [await command(shared) for _ in range(3)]
    async with tab(browser, java_script_enabled=script) as page:
        await page.goto(shared.url + ANNS)
        await settled(page)
        boxes = page.locator(".tick input")
        for number in range(2):
            await boxes.nth(number).focus()
            await page.keyboard.press("Space")
        await page.keyboard.press("Enter")
        await says_to_press_a_button(page)
        for number in range(3):
            await expect(boxes.nth(number)).to_be_checked(checked=number < 2)
        assert [await decided(shared, ask) for ask in asks] == [[], [], []]
        await settled(page)
        await page.locator("#batch .deny").click()
        await expect(boxes).to_have_count(1)
    assert [await decided(shared, ask) for ask in asks] == [["deny"], ["deny"], []]


@SCRIPT
async def test_enter_in_a_list_answers_what_is_chosen_and_no_abandoned_text(
    browser: Browser, shared: Site, script: bool
) -> None:
    ask = await shared.ask(name="ask_user", arguments={"questions": [OWN_TEXT]})
    async with tab(browser, java_script_enabled=script) as page:
        await open_ask(page, shared, ask)
        await page.locator("input[value=other]").check()
        await page.locator("#other").fill("my own")
        second = page.locator("input[name=choice][value='2']")
        await second.focus()
        await page.keyboard.press("Space")
        await page.keyboard.press("Enter")
        if script:
            await expect(page.locator(".ended")).to_be_visible()
        else:
            await says_to_press_a_button(page)
            await expect(page.locator("#other")).to_have_value("my own")
            await expect(second).to_be_checked()
    assert await decided(shared, ask) == (["O2"] if script else [])


@SCRIPT
async def test_enter_in_a_form_answers_it_or_says_to_press_a_button(
    browser: Browser, shared: Site, script: bool
) -> None:
    ask = await shared.ask(FLAT)
    async with tab(browser, java_script_enabled=script) as page:
        await open_ask(page, shared, ask)
        await page.get_by_label("No", exact=True).check()
        await page.get_by_label("Your name").fill("Kim")
        await page.locator("#f1").press("Enter")
        if script:
            await expect(page.locator(".ended")).to_be_visible()
        else:
            await says_to_press_a_button(page)
            await expect(page.get_by_label("Your name")).to_have_value("Kim")
            assert await decided(shared, ask) == []
            await settled(page)
            await page.get_by_role("button", name=LABELS.answer, exact=True).click()
            await expect(page.locator(".ended")).to_be_visible()
    assert await decided(shared, ask) == [
        {"name": "Kim", "n": 2, "on": False, "kind": "y"},
    ]


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
    async with tab(browser) as page:
        for focus, expected in (("other", "my own"), ("option", "O2")):
            ask = await shared.ask(name="ask_user", arguments={"questions": [OWN_TEXT]})
            await open_ask(page, shared, ask)
            await page.locator("input[value=other]").check()
            await page.locator("#other").fill("my own")
            if focus == "option":
                await page.locator("input[name=choice][value='2']").check()
            await page.keyboard.press("Control+Enter")
            await expect(page.locator(".ended")).to_be_visible()
            assert await decided(shared, ask) == [expected]


# --- every form ----------------------------------------------------------------------------------


async def all_ways(page: Page, there: Site) -> None:
    await open_ask(page, there, await command(there, run_in_background=True))


async def changed_call(page: Page, there: Site) -> None:
    await all_ways(page, there)
    await open_way(page, "editing")
    await page.locator("#e0").fill("make b")
    await page.locator("button[value=change]").click()
    await expect(page.locator("#changed")).to_be_visible()


async def to_confirm(page: Page, there: Site) -> None:
    await open_ask(page, there, await confirming(there))


async def own_text(page: Page, there: Site) -> None:
    await open_ask(
        page, there, await there.ask(name="ask_user", arguments={"questions": [OWN_TEXT]})
    )


FORMS: Final[dict[str, State]] = {
    **STATES,
    "a permission with all ways": all_ways,
    "a changed call": changed_call,
    "an answer to confirm": to_confirm,
    "a list with a text of one's own": own_text,
}
OWN_BUTTONS: Final = [
    ["#giving-sheet *", ["hand_over"]],
    ["#grant *", ["grant"]],
    ["#edit-sheet *", ["change"]],
    ["#reply-sheet *", ["reply", "object"]],
    ["#asking-sheet *", ["ask_back"]],
    ["#noting-sheet *", []],
    ["#noting *", ["answer"]],
    ["#other", ["answer:other"]],
    ["[name=choice], .filter", ["answer", "answer:other"]],
    ["#text, #json, .field [name^=f]", ["answer"]],
]
"""Which buttons Enter may press in which controls; in all others only the one that their form has."""
BLOCK: Final = """() => {
  window.pressed = [];
  addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    pressed.push(event.submitter.value);
  }, true);
  for (const each of document.querySelectorAll("details")) each.open = true;
}"""
"""Records the buttons that submit a form, which sends nothing, and shows all controls."""
FOCUS: Final = """(control, own) => {
  control.focus();
  const found = own.find(([selector]) => control.matches(selector));
  const values = new Set(Array.from(control.form.querySelectorAll("button:not([type])"), (each) => each.value));
  return document.activeElement !== control ? null : found ? found[1] : values.size === 1 ? [...values] : [];
}"""
"""Focuses a control, and returns which buttons Enter may press there; null if it cannot have the focus."""


@pytest.mark.long
@pytest.mark.parametrize("state", FORMS)
async def test_enter_presses_no_button_of_any_form_but_its_own(
    browser: Browser, shared: Site, state: str
) -> None:
    async with tab(browser, viewport={"width": 1280, "height": 800}) as page:
        await FORMS[state](page, shared)
        await page.locator("main").wait_for()
        await expect(page.locator("main.settling")).to_have_count(0)
        await page.route("**", lambda route: route.abort())  # no other page takes the focus
        await page.evaluate(BLOCK)
        for control in await page.locator(":is(input, select, textarea):not([type=file])").all():
            if not await control.evaluate("each => each.form && each.checkVisibility()"):
                continue
            own = await control.evaluate(FOCUS, OWN_BUTTONS)
            for keys in ("Enter", "Control+Enter") if own is not None else ():
                await page.keyboard.press(keys)
                assert set(await page.evaluate(PRESSED)) <= set(own), (
                    await control.get_attribute("name"),
                    keys,
                )
