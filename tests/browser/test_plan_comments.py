"""Comments on the lines of a plan: by mouse, touch and keys, kept until they are sent, and sent as one message."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Locator, Page, expect

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Status
from answerback.core.clarification import AskBack
from answerback.core.labels import Labels
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.kinds import permission
from tests.browser.site import INBOX, Site
from tests.browser.test_forms import UNTIL_DRAFTS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-27"),
]
LABELS = Labels()
PLAN = """# Move to cents

1. Add a column
2. Drop the old one

```sh
make backup
make migrate
```

| table | rows |
|---|---|
| bills | 12 |

See [the ticket](https://example.com/1).
"""
MESSAGE = """> # Move to cents

In two releases.

> 2. Drop the old one

Keep it for a week.

> make migrate

At night.

> bills | 12

12 million.

Otherwise fine."""
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


async def open_plan(page: Page, there: Site, **more: Any) -> Ask:
    ask = await permission(there, ("ExitPlanMode", {"plan": PLAN}))
    await page.goto(there.page(ask))
    await settled(page)
    return ask


def comment(page: Page, line: str) -> Locator:
    return page.get_by_role("textbox", name=LABELS.comment_on.format(line=line), exact=True)


async def write_all(page: Page, *, touch: bool = False) -> None:
    """Comment on a heading, an item of a list, a line of code and a row of a table."""
    for shown, line, text in (
        ("Drop the old one", "2. Drop the old one", "Keep it for a week."),
        ("make migrate", "make migrate", "At night."),
        ("Move to cents", "# Move to cents", "In two releases."),
        ("bills", "bills | 12", "12 million."),
    ):
        place = page.locator("#context [data-line]", has_text=shown).last
        await (place.tap() if touch else place.click())
        await expect(comment(page, line)).to_be_focused()
        await page.keyboard.type(text)


async def press_deny(page: Page) -> None:
    await page.get_by_role("button", name="Keep planning", exact=False).first.click()
    await expect(page.locator(".ended")).to_be_visible()


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "touch"])
async def test_comments_go_back_quoted_as_one_message_that_keeps_planning(
    browser: Browser, web_site: Site, touch: bool
) -> None:
    async with tab(browser, **(PHONE if touch else {})) as page:
        ask = await open_plan(page, web_site)
        await write_all(page, touch=touch)
        await expect(page.get_by_text(LABELS.comments.format(count=4))).to_be_visible()
        await show_other_ways(page)
        await page.get_by_text(LABELS.keep_planning, exact=True).click()
        await page.locator("#reply").fill("Otherwise fine.")
        await page.locator("button[value=reply]").click()
        await expect(page.locator(".ended")).to_be_visible()
    stored = await web_site.stored(ask)
    assert stored.status is Status.CANCELLED
    assert stored.walk.reply == MESSAGE


@pytest.mark.parametrize("choice", ["allow", "deny"])
async def test_comments_go_with_whatever_decides(
    browser: Browser, web_site: Site, choice: str
) -> None:
    async with tab(browser) as page:
        ask = await open_plan(page, web_site)
        await page.locator("#context [data-line]", has_text="Add a column").click()
        await page.keyboard.type("Nullable.")
        await page.locator(f".two button[data-shortcut={choice[0]}]").click()
        await expect(page.locator(".ended")).to_be_visible()
        await expect(page.locator(".rows dd").first).to_contain_text("Nullable.")
    [answer] = (await web_site.stored(ask)).walk.answers
    assert (answer.value, answer.note) == (choice, "> 1. Add a column\n\nNullable.")


async def test_the_arrow_keys_go_from_line_to_line_and_escape_leaves_a_comment(
    browser: Browser, web_site: Site
) -> None:
    async with tab(browser) as page:
        ask = await open_plan(page, web_site)
        await page.locator(".comment-on").first.focus()
        await expect(page.locator(".comment-on[tabindex='0']")).to_have_count(1)
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            await page.keyboard.press(key)
        await expect(comment(page, "2. Drop the old one")).to_be_focused()
        await page.keyboard.type("No.")
        await page.keyboard.press("Escape")
        focused = page.get_by_role("button", name="Comment on: 2. Drop the old one", exact=True)
        await expect(focused).to_be_focused()
        for key in ("End", "Enter", "Escape"):  # nothing is written there
            await page.keyboard.press(key)
        await expect(page.locator(".note-on")).to_have_count(1)
        await page.keyboard.press("Home")
        await expect(page.locator(".comment-on").first).to_be_focused()
        found = await Axe().run(page)
        assert found.response["violations"] == []
        await page.get_by_role("button", name=LABELS.comment_remove).click()
        await expect(page.get_by_text(LABELS.comments.format(count=1))).to_be_hidden()
    assert (await web_site.stored(ask)).open


async def test_comments_survive_a_reload_and_what_the_agent_explains(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(
        name="PermissionRequest",
        arguments={"tool_name": "ExitPlanMode", "tool_input": {"plan": PLAN}},
        accepts=["clarify"],
    )
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await page.locator("#context [data-line]", has_text="Add a column").click()
        await page.keyboard.type("Nullable.")
        await page.evaluate(UNTIL_DRAFTS, 1)
        await page.reload()
        written = comment(page, "1. Add a column")
        await expect(written).to_have_value("Nullable.")
        await settled(page)
        await written.focus()
        await web_site.act(ask, AskBack(text="Why?"))
        await web_site.service.explain(ask.id, "Because.")
        await expect(page.locator("main .asides")).to_contain_text("Because.")
        await expect(written).to_have_value("Nullable.")
        await expect(written).to_be_focused()
        await settled(page)
        await show_other_ways(page)
        await page.locator("#asking summary").click()
        await page.locator("#ask_back").fill("And now?")
        await page.locator("button[value=ask_back]").click()
        await expect(page.locator("main .asides")).to_contain_text("And now?")
        await expect(written).to_have_value("Nullable.")


@pytest.mark.parametrize("sent", [True, False], ids=["sent too late", "left"])
@pytest.mark.parametrize("listed", [True, False], ids=["inbox", "page"])
async def test_what_was_written_can_be_copied_after_somebody_else_has_decided(
    browser: Browser, web_site: Site, sent: bool, listed: bool
) -> None:
    async with tab(browser) as page:
        if sent:
            await page.add_init_script("EventSource = class { addEventListener() {} close() {} };")
        ask = await permission(web_site, ("ExitPlanMode", {"plan": PLAN}))
        await page.goto(web_site.url + INBOX if listed else web_site.page(ask))
        if listed:
            await page.locator(".entry > a").click()
            await expect(page.locator(".detail #context")).to_be_visible()
        await settled(page)
        await page.locator("#context [data-line]", has_text="Add a column").click()
        await page.keyboard.type("Nullable.")
        await web_site.act(ask, Answer(value="allow"))
        if sent:
            await page.locator(".two button").last.click()
        else:
            await page.locator("#live a").click()
        quoted = page.locator(".summary blockquote")
        await expect(quoted).to_have_text("> 1. Add a column\n\nNullable.")


async def test_selecting_text_and_following_a_link_open_no_comment(
    browser: Browser, web_site: Site
) -> None:
    async with tab(browser) as page:
        await open_plan(page, web_site)
        await page.locator("#context [data-line]", has_text="Add a column").dblclick()
        opened = await page.locator(".note-on").count()
        await page.locator("#context [data-line]", has_text="Drop").select_text()
        await page.locator("#context [data-line]", has_text="make backup").click()
        await expect(page.locator(".note-on")).to_have_count(opened)
        async with page.expect_popup() as popup:
            await page.locator("#context a", has_text="the ticket").click()
        await (await popup.value).close()
        await expect(page.locator(".note-on")).to_have_count(opened)


async def test_without_a_script_a_plan_is_answered_as_ever(
    browser: Browser, web_site: Site
) -> None:
    async with tab(browser, java_script_enabled=False) as page:
        ask = await open_plan(page, web_site)
        await expect(page.get_by_text(LABELS.comment_hint)).to_be_hidden()
        await expect(page.locator("#comments")).to_be_hidden()
        await press_deny(page)
    [answer] = (await web_site.stored(ask)).walk.answers
    assert (answer.value, answer.note) == ("deny", None)
