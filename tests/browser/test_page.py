"""Tests that need a browser: scripts, keys, the live page, narrow screens, dark mode."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from answerback.core.actions import Answer, EndTurn
from answerback.core.ask import Ask, Status
from answerback.core.labels import Labels
from tests.browser.conftest import settled, show_other_ways, tab
from tests.browser.site import INBOX, Site
from tests.service_support import WAIT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TEXT = {"id": "t", "text": "Say something", "answer_type": "text"}
CLAUDE = {
    "questions": [
        {
            "question": "Which store?",
            "header": "Storage",
            "options": [
                {"label": "Redis", "description": "fast", "preview": "a preview"},
                {"label": "PostgreSQL", "description": "there already"},
            ],
        }
    ]
}
FLAT = {
    "id": "s",
    "text": "Fill this in",
    "answer_type": "schema",
    "schema": {
        "type": "object",
        "required": ["name", "n"],
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "n": {"type": "integer", "minimum": 1, "title": "How many", "default": 2},
            "when": {"type": "string", "format": "date", "title": "Day"},
            "on": {"type": "boolean", "title": "On"},
        },
    },
}


async def open_(page: Page, site: Site, ask: Ask) -> None:
    """Open an ask's page."""
    await page.goto(site.page(ask))


async def wait_until_followed(site: Site) -> None:
    """Return once a page follows something."""
    async with asyncio.timeout(WAIT):
        while not site.service.signals.count:  # noqa: ASYNC110 - counted, not signalled
            await asyncio.sleep(0.01)


async def answers(site: Site, ask: Ask) -> list[object]:
    """Return the collected answers."""
    return [answer.value for answer in (await site.stored(ask)).walk.answers]


PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}


@pytest.mark.rule("WEB-1")
@pytest.mark.parametrize(
    ("script", "options"),
    [(True, {}), (False, {}), (True, PHONE)],
    ids=["wide", "without script", "phone"],
)
async def test_the_migration_form_is_walked_by_hand(
    browser: Browser, web_site: Site, script: bool, options: dict[str, Any]
) -> None:
    ask = await web_site.migration()
    async with tab(browser, java_script_enabled=script, **options) as page:
        await page.goto(web_site.url + INBOX)
        await page.get_by_role("link", name="Apply the proposed migration?").click()
        await page.get_by_role("button", name="Yes", exact=True).click()
        await expect(page.locator("#question")).to_have_text("Which environment?")
        production = page.get_by_role("button", name="production")
        await production.click()
        await page.get_by_role("button", name="Back").click()
        await expect(production).to_contain_class("primary")
        await production.click()
        await page.get_by_label("Optional note for the migration log").fill("go\nnow")
        await page.get_by_role("button", name="Answer").click()
        await expect(page.get_by_text(Labels().inbox_empty)).to_be_visible()
        await expect(page.locator(".card")).to_have_count(0)
        if script:
            # Nothing overflows sideways, so a page is read by scrolling in one direction only.
            wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            assert not await page.evaluate(wide)
    assert await answers(web_site, ask) == [True, "production", "go\nnow"]


@pytest.mark.rule("WEB-1")
async def test_the_form_can_be_walked_by_keyboard_alone(browser: Browser, web_site: Site) -> None:
    ask = await web_site.migration()
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await settled(page)
        await page.keyboard.press("1")
        await expect(page.get_by_role("button", name="Yes", exact=True)).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("group", name="Which environment?")).to_be_focused()
        await settled(page)
        await page.keyboard.press("2")
        await expect(page.get_by_role("button", name="production")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("#text")).to_be_focused()
        await settled(page)
        await page.keyboard.type("go 1")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("h1")).to_contain_text("Answered")
    assert await answers(web_site, ask) == [True, "production", "go 1"]


@pytest.mark.rule("WEB-1")
async def test_tab_reaches_every_control_in_reading_order(browser: Browser, web_site: Site) -> None:
    ask = await web_site.migration()
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await page.get_by_role("button", name="Yes", exact=True).click()
        await expect(page.get_by_role("group", name="Which environment?")).to_be_focused()
        seen = []
        for _ in range(4):
            await page.keyboard.press("Tab")
            focused = "document.activeElement.textContent.split(/\\s+/).filter(Boolean).join(' ')"
            seen.append(await page.evaluate(focused))
        assert seen == ["staging 1", "production 2", "← Back", "More"]


@pytest.mark.rule("CARE-4")
@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
async def test_end_turn_asks_for_confirmation(
    browser: Browser, web_site: Site, script: bool
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser, java_script_enabled=script) as page:
        await open_(page, web_site, ask)
        await page.locator("#text").fill("half an answer")
        await show_other_ways(page)
        await page.get_by_role("button", name="End Turn").click()
        asked = page.locator("#confirm:visible, .confirm")
        await expect(asked.get_by_text("stops here and gets no answer")).to_be_visible()
        await page.get_by_role("button", name="Cancel").click()
        await expect(page.locator("#text")).to_have_value("half an answer")
        assert (await web_site.stored(ask)).open
        if not script:
            await show_other_ways(page)
        await page.get_by_role("button", name="End Turn").click()
        scope = page.get_by_role("dialog") if script else page
        await scope.get_by_role("button", name="End Turn").click()
        await expect(page.locator("h1")).to_contain_text("Turn ended")
    assert (await web_site.stored(ask)).status is Status.TURN_ENDED


async def test_reply_opens_takes_focus_and_ends_the_questions(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await show_other_ways(page)
        await page.locator("summary", has_text="Reply").click()
        await expect(page.locator("#reply")).to_be_focused()
        await page.keyboard.type("do it yourself")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("h1")).to_contain_text("Ended with a reply")
    assert (await web_site.stored(ask)).walk.reply == "do it yourself"


@pytest.mark.rule("WEB-2")
async def test_a_page_follows_its_ask(browser: Browser, web_site: Site) -> None:
    ask = await web_site.migration()
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await wait_until_followed(web_site)
        ask = await web_site.act(ask, Answer(value=True))
        await expect(page.locator("h1")).to_have_text("Which environment?")
        said = "Assistant asks [2/3] Anyone with access can answer. Which environment?"
        await expect(page.locator("#said")).to_have_text(said)
        await expect(page.get_by_role("group", name="Which environment?")).to_be_focused()
        await page.get_by_role("button", name="staging").click()
        await expect(page.locator("h1")).to_have_text("Optional note for the migration log")
        await wait_until_followed(web_site)
        await web_site.act(await web_site.stored(ask), EndTurn())
        await expect(page.locator("h1")).to_contain_text("Turn ended")
    assert await answers(web_site, ask) == [True, "staging"]


@pytest.mark.rule("WEB-2")
async def test_a_page_that_lost_its_stream_catches_up_when_it_reconnects(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.migration()
    async with tab(browser) as page:
        await page.route("**/events?*", lambda route: route.abort())
        await page.clock.install()
        await open_(page, web_site, ask)
        await web_site.act(ask, Answer(value=True))
        await page.unroute_all()
        async with asyncio.timeout(WAIT):
            while not web_site.service.signals.count:
                await page.clock.fast_forward(6_000)
                if await page.locator("h1").text_content() == "Which environment?":
                    break
        await expect(page.locator("h1")).to_have_text("Which environment?")


@pytest.mark.rule("WEB-2")
async def test_text_being_typed_is_never_discarded(browser: Browser, web_site: Site) -> None:
    ask = await web_site.ask(TEXT, {**TEXT, "id": "u", "text": "And now?"})
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await wait_until_followed(web_site)
        await page.locator("#text").fill("a long thought")
        await web_site.act(ask, Answer(value="Kim's"))
        await expect(page.locator("#live")).to_contain_text("What you entered is still here")
        await expect(page.locator("#text")).to_have_value("a long thought")
        await page.get_by_role("button", name="Answer").click()
        await expect(page.get_by_role("alert")).to_contain_text("Kim was faster")
        await expect(page.get_by_role("alert")).to_contain_text("a long thought")
        await expect(page.locator("h1")).to_have_text("And now?")
    assert await answers(web_site, ask) == ["Kim's"]


@pytest.mark.rule("WEB-3")
async def test_the_inbox_shows_new_asks_live(browser: Browser, web_site: Site) -> None:
    async with tab(browser) as page:
        await page.goto(web_site.url + INBOX)
        await expect(page.get_by_text("Nothing is waiting")).to_be_visible()
        await wait_until_followed(web_site)
        ask = await web_site.ask(TEXT)
        await expect(page.get_by_role("link", name="Say something")).to_be_visible()
        await expect(page).to_have_title("(1) Waiting for an answer · Answerback")
        await wait_until_followed(web_site)
        await web_site.act(ask, EndTurn())
        await expect(page.get_by_text("Nothing is waiting")).to_be_visible()


async def test_mistakes_take_focus_and_link_to_their_fields(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(FLAT)
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await page.get_by_label("How many").fill("many")
        await settled(page)
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_be_focused()
        await page.get_by_role("link", name="Your name is required.").click()
        await expect(page.get_by_label("Your name")).to_be_focused()
        await expect(page.get_by_label("How many")).to_have_value("many")
        await expect(page.get_by_label("How many")).to_have_accessible_description(
            "How many must be a whole number, at least 1."
        )
        await page.get_by_label("Your name").fill("Kim")
        await page.get_by_label("How many").fill("3")
        await page.get_by_label("Day").fill("2026-05-31")
        await page.get_by_label("Yes").check()
        await page.get_by_role("button", name="Answer").click()
        await expect(page.locator("h1")).to_contain_text("Answered")
    assert await answers(web_site, ask) == [
        {"name": "Kim", "n": 3, "when": "2026-05-31", "on": True}
    ]


async def test_something_else_is_written_below_the_options(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(name="AskUserQuestion", arguments=CLAUDE)
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await page.locator("summary", has_text="Preview").click()
        await expect(page.get_by_text("a preview")).to_be_visible()
        option = page.get_by_role("button", name="PostgreSQL")
        await expect(option).to_have_accessible_description("there already")
        await page.get_by_text("Something else…").click()
        await expect(page.locator("#other")).to_be_focused()
        await page.keyboard.type("memcached")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("h1")).to_contain_text("Answered")
    assert await answers(web_site, ask) == ["memcached"]


async def test_long_lists_can_be_filtered_without_losing_a_choice(
    browser: Browser, web_site: Site
) -> None:
    options = [f"Option {i}" for i in range(1000)]
    question = {"id": "m", "text": "Many", "answer_type": "multi_select", "options": options}
    ask = await web_site.ask(question)
    async with tab(browser) as page:
        await open_(page, web_site, ask)
        await page.get_by_label("Option 77", exact=True).check()
        await page.get_by_role("searchbox").fill("option 99")
        visible = page.locator(".option:visible")
        await expect(visible).to_have_count(12)
        await page.get_by_label("Option 999", exact=True).check()
        await page.get_by_role("button", name="Answer").click()
        await expect(page.locator("h1")).to_contain_text("Answered")
    assert await answers(web_site, ask) == [["Option 77", "Option 999"]]


@pytest.mark.rule("TEXT-1")
async def test_a_hostile_question_runs_nothing_and_breaks_no_layout(
    browser: Browser, web_site: Site
) -> None:
    hostile = '"><img src=x onerror=alert(1)><script>alert(1)</script>' + "W" * 900 + "\u202e"
    texts = {"id": "q", "text": hostile, "context": hostile}
    ask = await web_site.ask({**texts, "answer_type": "select", "options": [hostile]})
    async with tab(browser, viewport={"width": 360, "height": 640}) as page:
        dialogs: list[object] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog))
        await open_(page, web_site, ask)
        await expect(page.locator("#choices")).to_be_visible()
        assert await page.locator("main img, main script").count() == 0
        width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await page.evaluate(width) == 0
        assert dialogs == []


# https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
CONTRAST = """() => {
  const lum = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const rgb = text => text.match(/[0-9.]+/g).map(Number);
  const poor = [];
  for (const node of document.querySelectorAll("main *, header *")) {
    const own = Array.from(node.childNodes).some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest(".hidden")) continue;
    let back = node, colour = [0, 0, 0, 0];
    while (back && (colour.length === 4 && colour[3] === 0)) {
      colour = rgb(getComputedStyle(back).backgroundColor);
      back = back.parentElement;
    }
    const [a, b] = [lum(rgb(getComputedStyle(node).color)), lum(colour)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push(`${node.tagName} ${node.textContent.trim()} ${ratio.toFixed(2)}`);
  }
  return poor;
}"""
UNNAMED = """() => Array.from(document.querySelectorAll("main input, main textarea, main select, main button"))
  .filter(e => e.type !== "hidden" && !e.hidden && !e.matches("[aria-hidden=true]") && !(e.labels && e.labels.length)
    && !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby") && !e.textContent.trim())
  .map(e => e.outerHTML)"""


@pytest.mark.rule("WEB-5")
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_all_text_has_enough_contrast_and_every_control_has_a_name(
    browser: Browser, web_site: Site, scheme: Any
) -> None:
    ended = await web_site.act(await web_site.ask(TEXT), EndTurn())
    moved = await web_site.act(await web_site.migration(), Answer(value=True))
    claude = await web_site.ask(name="AskUserQuestion", arguments=CLAUDE)
    flat = await web_site.ask(FLAT)
    async with tab(browser, color_scheme=scheme, reduced_motion="reduce") as page:
        asks = (ended, moved, claude, flat)
        shown = [web_site.surface.url(ask.id) for ask in asks]
        own = [f"{web_site.url}/", web_site.url + INBOX, *map(web_site.page, asks)]
        for address in (*shown, *own):
            await page.goto(address)
            assert await page.evaluate(CONTRAST) == []
            assert await page.evaluate(UNNAMED) == []
            assert await page.locator("h1").count() == 1
        await page.get_by_role("button", name="Answer").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        assert await page.evaluate(CONTRAST) == []


async def test_a_page_that_violates_its_policy_would_fail_its_test(
    browser: Browser, web_site: Site
) -> None:
    async def break_it() -> None:
        async with tab(browser) as page:
            await page.goto(web_site.url)
            script = "Object.assign(document.createElement('script'), {text: '1'})"
            await page.evaluate(f"document.body.append({script})")

    with pytest.raises(AssertionError, match="Content Security Policy"):
        await break_it()


@pytest.mark.rule("WEB-12")
async def test_the_link_for_reading_is_copied_with_one_press(
    browser: Browser, web_site: Site
) -> None:
    ask = await web_site.ask(TEXT)
    async with tab(browser, permissions=["clipboard-read", "clipboard-write"]) as page:
        await open_(page, web_site, ask)
        await page.locator("summary", has_text="Share").click()
        await page.get_by_role("button", name="Copy link").click()
        await expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = await page.evaluate("navigator.clipboard.readText()")
    assert copied == web_site.surface.url(ask.id)
