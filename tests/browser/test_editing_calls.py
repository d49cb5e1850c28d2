"""Edit, then allow, on the page: the difference is read before it is sent, and nothing typed is lost."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Status
from answerback.core.labels import Labels
from answerback.core.person import AuthMethod, Person
from answerback.ports.surface import Actor
from answerback.service.submission_request import Route, Submission
from answerback_base import strict_json
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.kinds import PLAN
from tests.browser.site import KEY, OPERATOR, Site, site
from tests.browser.test_forms import UNTIL_DRAFTS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-28"),
]
LABELS = Labels()
ANN, BEN = (
    Person(surface="web", user_id=name, name=name.title(), known=AuthMethod.LINK)
    for name in ("ann", "ben")
)
KEYS = {KEY: OPERATOR, "abp_ann": ANN, "abp_ben": BEN}
CALL = (
    '{"command": "rm -rf build", "timeout": 1.50, "id": 12345678901234567890, "force": true,'
    ' "env": {"A": [1, 2.0]}}'
)
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}}
COMMAND, NUMBER = "#e0", "#e1"


@pytest_asyncio.fixture(loop_scope="session")
async def editable(tmp_path: Path) -> AsyncIterator[Site]:
    """A site whose route `ops` lets ann and ben change a call; on `two`, another person confirms."""
    route = Route.model_validate({"to": "web", "responders": ["ann", "ben"], "edit": True})
    two = Route.model_validate({**route.model_dump(exclude_unset=True), "confirmations": 1})
    async with site(tmp_path, keys=KEYS, routes={"ops": route, "two": two}) as running:
        yield running


async def asked(there: Site, tool: str = "Bash", call: str = CALL, **more: object) -> Ask:
    arguments = f'{{"tool_name": "{tool}", "tool_input": {call}}}'
    return await submitted(there, "PermissionRequest", arguments, **more)


async def submitted(there: Site, name: str, arguments: str, **more: object) -> Ask:
    body = Submission.model_validate(
        {
            "name": name,
            "dialect": "approval",
            "arguments": strict_json.load_with_numbers(arguments),
            "to": "ops",
            "takes_edited": True,
            **more,
        }
    )
    return (await there.service.submit(body)).ask


async def open_editor(page: Page, there: Site, ask: Ask, key: str = "abp_ann") -> None:
    person = KEYS[key]
    await page.goto(there.page_of(ask, key, person))
    await settled(page)
    await show_other_ways(page)
    await page.locator("#editing summary").click()


async def press(page: Page, name: str) -> None:
    await settled(page)
    await page.get_by_role("button", name=name, exact=True).click()


def allow(choice: str = "Allow once") -> str:
    return LABELS.edit_allow.format(choice=choice)


async def edited(there: Site, ask: Ask) -> Any:
    stored = await there.stored(ask)
    assert stored.status is Status.ANSWERED
    [given] = stored.walk.answers
    return given.edited


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
@pytest.mark.parametrize("look", [{}, PHONE], ids=["wide", "390"])
async def test_the_difference_is_shown_before_a_changed_command_is_allowed(
    browser: Browser, editable: Site, script: bool, look: dict[str, Any]
) -> None:
    ask = await asked(editable)
    async with tab(browser, java_script_enabled=script, **look) as page:
        await open_editor(page, editable, ask)
        await expect(page.get_by_role("button", name=allow())).to_have_count(0)
        await page.locator(COMMAND).fill("rm -rf build/tmp")
        await press(page, LABELS.edit_show)
        shown = page.locator("#changed")
        await expect(shown).to_contain_text('command: "rm -rf build" → "rm -rf build/tmp"')
        await expect(shown).to_contain_text("Run rm -rf build/tmp")
        if script:
            await expect(shown).to_be_focused()
            await expect(shown).to_be_in_viewport()
            assert (await Axe().run(page)).response["violations"] == []
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await page.evaluate(wider) == 0
        assert (await editable.stored(ask)).open
        await press(page, allow())
        await expect(page.locator(".ended")).to_be_visible()
        briefly = LABELS.edited_briefly.format(choice="Allow once")
        await expect(page.locator(".ended")).to_contain_text(f"{briefly} Answered by Ann")
        await expect(page.locator(".rows")).to_contain_text(LABELS.edited)
        await expect(page.locator(".rows .diff")).to_contain_text('→ "rm -rf build/tmp"')
    call = await edited(editable, ask)
    assert call.arguments == CALL.replace("rm -rf build", "rm -rf build/tmp")


async def test_numbers_keep_their_digits_and_what_is_no_json_is_said_at_its_input(
    browser: Browser, editable: Site
) -> None:
    ask = await asked(editable)
    async with tab(browser) as page:
        await open_editor(page, editable, ask)
        await expect(page.locator(NUMBER)).to_have_value("1.50")
        await page.locator(NUMBER).fill("2.5O")
        await press(page, LABELS.edit_show)
        await expect(page.locator(NUMBER)).to_have_attribute("aria-invalid", "true")
        await expect(page.locator(".summary")).to_contain_text("timeout is not valid JSON")
        await page.locator(NUMBER).fill("2.500")
        await page.locator("#e2").fill("99999999999999999999")
        await page.locator("#e3").select_option("false")
        await press(page, LABELS.edit_show)
        await expect(page.locator("#changed")).to_contain_text("timeout: 1.50 → 2.500")
        await press(page, allow())
        await expect(page.locator(".ended")).to_be_visible()
    assert (await edited(editable, ask)).arguments == (
        '{"command": "rm -rf build", "timeout": 2.500, "id": 99999999999999999999, "force": false,'
        ' "env": {"A": [1, 2.0]}}'
    )


async def test_what_is_changed_after_the_difference_was_read_is_shown_and_not_sent(
    browser: Browser, editable: Site
) -> None:
    ask = await asked(editable)
    async with tab(browser) as page:
        await open_editor(page, editable, ask)
        await press(page, LABELS.edit_show)
        await expect(page.locator(".summary")).to_contain_text(LABELS.edit_unchanged)
        await page.locator(COMMAND).fill("make")
        await press(page, LABELS.edit_show)
        await expect(page.locator("#changed")).to_contain_text('→ "make"')
        await page.locator(COMMAND).fill("make all")
        await press(page, allow())
        await expect(page.locator("#changed")).to_contain_text('→ "make all"')
        assert (await editable.stored(ask)).open
        await press(page, allow())
        await expect(page.locator(".ended")).to_be_visible()
    assert json.loads((await edited(editable, ask)).arguments)["command"] == "make all"


async def test_all_arguments_can_be_edited_as_json(browser: Browser, editable: Site) -> None:
    ask = await asked(editable)
    async with tab(browser) as page:
        await open_editor(page, editable, ask)
        await page.locator(COMMAND).fill("make")
        await press(page, LABELS.edit_as_json)
        whole = CALL.replace("rm -rf build", "make")
        await expect(page.locator("#edited")).to_have_value(whole)
        await page.locator("#edited").fill('{"command": "make"')
        await press(page, LABELS.edit_show)
        await expect(page.locator("#edited")).to_have_attribute("aria-invalid", "true")
        await expect(page.locator("#edited")).to_have_value('{"command": "make"')
        await page.locator("#edited").fill('{"command": "make", "timeout": 1.50}')
        await press(page, LABELS.edit_show)
        await expect(page.locator("#changed")).to_contain_text("- id: 12345678901234567890")
        await press(page, allow())
        await expect(page.locator(".ended")).to_be_visible()
    assert (await edited(editable, ask)).arguments == '{"command": "make", "timeout": 1.50}'


CLAUDE = {"tool_name": "ExitPlanMode", "tool_input": {"plan": PLAN}}
_SPEC = {"plan": PLAN, "title": "Move to cents"}
DROID = {
    "toolUses": [
        {
            "toolUse": {"name": "ExitSpecMode", "input": _SPEC},
            "confirmationType": "exit_spec_mode",
            "details": {"type": "exit_spec_mode", **_SPEC},
        }
    ],
    "options": [
        {"value": "proceed_once", "label": "Approve, and ask about each edit"},
        {"value": "cancel", "label": "Keep planning"},
    ],
}
"""The plan of a host that takes nothing but another plan."""


@pytest.mark.rule("EDIT-11")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("PermissionRequest", CLAUDE), ("droid.request_permission", DROID)],
    ids=["Claude Code", "Droid"],
)
async def test_a_plan_is_edited_with_a_preview_and_the_record_has_the_difference(
    browser: Browser, editable: Site, name: str, arguments: dict[str, object]
) -> None:
    ask = await submitted(editable, name, json.dumps(arguments))
    async with tab(browser, **PHONE) as page:
        await open_editor(page, editable, ask)
        await page.locator(COMMAND).fill(PLAN.replace("10,000", "**1,000**"))
        await press(page, LABELS.edit_show)
        await expect(page.locator("#changed strong", has_text="1,000")).to_be_visible()
        await expect(page.locator("#changed .deleted")).to_have_text(
            "- 2. Fill it in batches of 10,000 rows\n"
        )
        await press(page, allow("Approve, and ask about each edit"))
        await expect(page.locator(".ended")).to_be_visible()
        await page.locator("details.record summary").click()
        await expect(page.locator(".record")).to_contain_text("batches of **1,000** rows")
        await expect(page.locator(".rows .inserted")).to_contain_text("**1,000**")


@pytest.mark.parametrize("sent", [True, False], ids=["sent too late", "left"])
async def test_a_change_that_came_too_late_can_be_copied(
    browser: Browser, editable: Site, sent: bool
) -> None:
    ask = await asked(editable)
    async with tab(browser) as page:
        if sent:
            await page.add_init_script("EventSource = class { addEventListener() {} close() {} };")
        await open_editor(page, editable, ask)
        await page.locator(COMMAND).fill("make the best of it")
        await press(page, LABELS.edit_show)
        await expect(page.locator("#changed")).to_be_visible()
        await editable.service.act(ask.id, Answer(value="deny"), Actor(BEN))
        if sent:
            await press(page, allow())
        else:
            await page.locator("#live a").click()
        await expect(page.locator(".ended")).to_be_visible()
        await expect(page.locator(".summary blockquote").first).to_have_text("make the best of it")
    assert [each.edited for each in (await editable.stored(ask)).walk.answers] == [None]


async def test_a_change_survives_a_reload(browser: Browser, editable: Site) -> None:
    ask = await asked(editable)
    async with tab(browser) as page:
        await open_editor(page, editable, ask)
        await page.locator(COMMAND).fill("make")
        await page.evaluate(UNTIL_DRAFTS, 1)
        await page.reload()
        await expect(page.locator(COMMAND)).to_be_visible()
        await expect(page.locator(COMMAND)).to_have_value("make")


async def test_confirmers_see_the_difference_and_the_changed_call(
    browser: Browser, editable: Site
) -> None:
    ask = await asked(editable, to="two")
    async with tab(browser) as page:
        await open_editor(page, editable, ask)
        await page.locator(COMMAND).fill("make")
        await press(page, LABELS.edit_show)
        await press(page, allow())
        await expect(page.locator("#editing")).to_have_count(0)
    async with tab(browser) as page:
        await page.goto(editable.page_of(ask, "abp_ben", BEN))
        await settled(page)
        await expect(page.locator(".rows")).to_contain_text(LABELS.edited)
        await expect(page.locator(".rows .diff")).to_contain_text('"rm -rf build" → "make"')
        await press(page, LABELS.confirm)
        await expect(page.locator(".ended")).to_be_visible()
    assert json.loads((await edited(editable, ask)).arguments)["command"] == "make"


async def test_who_may_not_change_the_call_is_not_offered_to(
    browser: Browser, editable: Site
) -> None:
    plain = await asked(editable, takes_edited=False)
    shared = await asked(editable, to="two")
    async with tab(browser) as page:
        await page.goto(editable.page_of(plain, "abp_ann", ANN))
        await expect(page.locator("#editing")).to_have_count(0)
        await page.goto(editable.page_of(shared, "abp_ann", ANN))
        await expect(page.locator("#editing")).to_have_count(1)
        await page.goto(editable.surface.url(shared.id))
        await expect(page.locator("#editing, #edit-sheet")).to_have_count(0)
