"""Prompts in a browser: changes of files, ways to allow for longer, and parts that open on demand."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer
from answerback.core.labels import Labels
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.kinds import NEW_FILE, permission
from tests.browser.site import Site
from tests.browser.test_page import CLAUDE, answers

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-23"),
]
LABELS = Labels()
PATCH = """*** Begin Patch
*** Update File: src/app/a.py
@@ -10,3 +10,4 @@
 def a():
-    return 1
+    return 2
+    # more
*** Update File: src/app/b.py
@@ -1,2 +1,2 @@
-x = 1
+x = 2
 y = 3
*** End Patch"""
WHERE = {
    "id": "where",
    "text": "Where?",
    "answer_type": "select",
    "options": ["staging", "production"],
    "default": "staging",
}


async def place(page: Page, selector: str) -> dict[str, float]:
    box = await page.locator(selector).first.bounding_box()
    assert box is not None
    return {"y": box["y"], "width": box["width"]}


async def test_a_patch_has_each_path_once_with_tabs_and_line_numbers(
    browser: Browser, web_site: Site
) -> None:
    ask = await permission(web_site, ("apply_patch", {"input": PATCH}), hook="codex")
    async with tab(browser, viewport={"width": 1280, "height": 500}) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        shown = await page.locator("#context").inner_text()
        assert [shown.count(f"src/app/{name}.py") for name in "ab"] == [1, 1]
        numbers = await page.locator(".line[data-n]").evaluate_all(
            "lines => lines.map((line) => line.dataset.n + line.textContent[0])"
        )
        assert numbers == ["10 ", "11-", "11+", "12+", "1-", "1+", "2 "]
        for number, name in enumerate(("a.py", "b.py"), 1):
            await page.get_by_role("link", name=name).click()
            await expect(page.locator(f"#file{number}")).to_be_in_viewport()
        assert "#" not in page.url
        await page.locator(".original summary").click()
        await expect(page.locator(".original")).to_contain_text("*** Update File: src/app/b.py")
        found = await Axe().run(page)
        assert found.response["violations"] == []


@pytest.mark.parametrize(("width", "beside"), [(1280, True), (390, False)])
async def test_what_is_removed_stands_beside_what_is_added_where_it_fits(
    browser: Browser, web_site: Site, width: int, beside: bool
) -> None:
    edit = {"file_path": "/src/a.py", "old_string": "a = 1\nb = 2", "new_string": "a = 2\nb = 3"}
    ask = await permission(web_site, ("Edit", edit))
    async with tab(browser, viewport={"width": width, "height": 800}) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        removed, added = await place(page, ".deleted"), await place(page, ".inserted")
        assert (removed["y"] == added["y"]) is beside
        diff = await place(page, ".diff")
        assert diff["width"] > 0.8 * width


async def test_the_lines_of_a_new_file_are_numbered(browser: Browser, web_site: Site) -> None:
    ask = await permission(web_site, NEW_FILE)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        numbers = await page.locator(".diff .line").evaluate_all(
            "lines => lines.map((line) => line.dataset.n)"
        )
        assert numbers == [str(number) for number in range(1, 13)]


async def test_one_way_to_allow_for_longer_says_whose_rule_it_is(
    browser: Browser, web_site: Site
) -> None:
    arguments: dict[str, Any] = {
        "tool_name": "Bash",
        "tool_input": {"command": "make a"},
        "permission_suggestions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "make a"}],
                "behavior": "allow",
                "destination": "session",
            }
        ],
    }
    ask = await web_site.ask(name="PermissionRequest", arguments=arguments)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.keyboard.press("2")  # opens what holds the button of this key
        button = page.locator("#grant button[data-key='2']")
        await expect(button).to_be_focused()
        await expect(page.locator("#grant")).to_contain_text("own rule")
        await expect(page.locator("#grant")).to_contain_text("can only be removed there")
        await page.keyboard.press("Enter")
        await expect(page.locator(".ended")).to_be_visible()
    assert len(await answers(web_site, ask)) == 1


@pytest.mark.parametrize("script", [True, False])
async def test_a_note_and_something_else_open_on_demand(
    browser: Browser, web_site: Site, script: bool
) -> None:
    ask = await web_site.ask(name="AskUserQuestion", arguments=CLAUDE)
    async with tab(browser, java_script_enabled=script) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await expect(page.locator("#note")).to_be_hidden()
        await expect(page.locator("#other")).to_be_hidden()
        await page.get_by_text(LABELS.add_note).click()
        await page.get_by_label(LABELS.note).fill("for now")
        await page.get_by_role("button", name=LABELS.note_with.format(choice="Redis")).click()
        await expect(page.locator(".ended")).to_be_visible()
    (answer,) = (await web_site.stored(ask)).walk.answers
    assert (answer.value, answer.note) == ("Redis", "for now")


async def test_a_note_of_a_permission_is_among_the_other_ways(
    browser: Browser, web_site: Site
) -> None:
    ask = await permission(web_site, NEW_FILE)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await show_other_ways(page)
        await page.get_by_text(LABELS.add_note).click()
        await expect(page.locator("#note")).to_be_focused()
        await page.keyboard.type("Only this time.")
        allow = LABELS.note_with.format(choice=LABELS.allow_once)
        await page.get_by_role("button", name=allow).click()
        await expect(page.locator(".ended")).to_be_visible()
    (answer,) = (await web_site.stored(ask)).walk.answers
    assert (answer.value, answer.note) == ("allow", "Only this time.")


@pytest.mark.parametrize("script", [True, False])
async def test_a_note_in_a_list_has_a_button_of_its_own(
    browser: Browser, web_site: Site, script: bool
) -> None:
    question = {**CLAUDE["questions"][0], "multiSelect": True}
    ask = await web_site.ask(name="AskUserQuestion", arguments={"questions": [question]})
    async with tab(browser, java_script_enabled=script) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.get_by_label("PostgreSQL").check()
        await page.get_by_text(LABELS.add_note).click()
        await page.get_by_label(LABELS.note).fill("for now")
        await page.get_by_role("button", name=LABELS.note_answer).click()
        await expect(page.locator(".ended")).to_be_visible()
    (answer,) = (await web_site.stored(ask)).walk.answers
    assert (answer.value, answer.note) == (["PostgreSQL"], "for now")


async def test_what_is_recommended_and_what_was_chosen_differ(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(WHERE, {"id": "b", "text": "More?", "answer_type": "boolean"})
    await web_site.act(ask, Answer(value="production"))
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await page.get_by_role("button", name="Back").click()
        await settled(page)
        await expect(page.locator("#choices button").first).to_have_accessible_name(
            f"staging {LABELS.recommended}"
        )
        await expect(page.locator("#choices button").last).to_have_accessible_name(
            f"production ✓ {LABELS.chosen}"
        )


async def test_every_key_beside_a_button_reaches_it(browser: Browser, web_site: Site) -> None:
    ask = await permission(web_site, NEW_FILE)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await show_other_ways(page)
        keys = await page.locator("button[data-key]").evaluate_all(
            "buttons => buttons.map((button) => button.dataset.key)"
        )
        assert keys
        for key in keys:
            await page.keyboard.press(key)
            await expect(page.locator(f"button[data-key='{key}']")).to_be_focused()
