"""Controls are large enough and apart, pages end where their content does, and each page belongs to the same frame."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, expect

from answerback.core.actions import Answer, EndTurn, Reply
from answerback.core.labels import Labels
from tests.browser import kinds
from tests.browser.conftest import settled, tab
from tests.browser.kinds import KINDS, SHELL, permission
from tests.browser.site import INBOX, Site, site
from tests.fakes.push_service import PushBrowser
from tests.unit.adapters.web.examples import CLAUDE
from tests.unit.adapters.web.test_people import ALICES, KEYS
from tests.unit.bot.push.push_support import push_rig

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.rule("WEB-25"),
]
LABELS = Labels()
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}}
SMALL = """() => {
  const small = [];
  const all = document.querySelectorAll("a[href], button, summary, .tick, .option label");
  for (const each of all) {
    const inText = each.matches(".context a, .about a, p a:only-child") && !each.closest(".more");
    if (!each.checkVisibility({visibilityProperty: true}) || inText || each.closest(".hidden")) continue;
    const within = each.closest(".option") || each;
    const { height, width } = within.getBoundingClientRect();
    if (height < 43.5 && width > 0) small.push(`${each.className} ${each.textContent.trim()} ${height}`);
  }
  return small;
}"""
BESIDE_DENY = """() => {
  const controls = Array.from(document.querySelectorAll("main :is(a[href], button, summary)"));
  const shown = controls.filter((each) => each.checkVisibility({visibilityProperty: true}));
  const touching = [];
  for (const deny of shown.filter((each) => each.matches(".deny"))) {
    const box = deny.getBoundingClientRect();
    for (const each of shown.filter((other) => other !== deny && !other.contains(deny))) {
      const other = each.getBoundingClientRect();
      const across = Math.max(other.left - box.right, box.left - other.right);
      const along = Math.max(other.top - box.bottom, box.top - other.bottom);
      if (Math.max(across, along) < 7) touching.push(each.textContent.trim());
    }
  }
  return touching;
}"""
BELOW = """() => {
  const content = document.querySelector("main").getBoundingClientRect().bottom + scrollY;
  return document.documentElement.scrollHeight - Math.max(content, innerHeight);
}"""


@pytest.mark.parametrize("kind", ["edit", "question", "form", "inbox", "allowed", "history"])
@pytest.mark.parametrize("look", [{}, PHONE], ids=["wide", "390"])
async def test_every_control_is_44_pixels_high_and_none_touches_deny(
    browser: Browser, web_site: Site, kind: str, look: dict[str, Any]
) -> None:
    async with tab(browser, **look) as page:
        await KINDS[kind](page, web_site)
        for more in await page.locator("main details:not([open]) > summary").all():
            if await more.is_visible():
                await more.click()
        assert await page.evaluate(SMALL) == []
        assert await page.evaluate(BESIDE_DENY) == []


async def test_a_page_with_a_long_context_ends_where_its_content_does(
    browser: Browser, web_site: Site
) -> None:
    long = "\n".join(f"line {n} = {n}" for n in range(300))
    edit = {"file_path": "/src/a.py", "old_string": "", "new_string": long}
    ask = await permission(web_site, ("Edit", edit))
    async with tab(browser, viewport={"width": 900, "height": 700}) as page:
        await page.goto(web_site.page(ask))
        await expect(page.get_by_text(LABELS.more_below).first).to_be_visible()
        assert await page.evaluate(BELOW) <= 1


@pytest.mark.parametrize(
    ("action", "decided"),
    [
        (Answer(value="allow"), "Allow once"),
        (Reply(text="not now"), LABELS.denied_with_message),
        (Reply(text=None), LABELS.denied_plainly),
        (EndTurn(), LABELS.denied_and_stopped),
    ],
)
async def test_the_headline_of_an_ended_permission_is_what_was_decided(
    browser: Browser, web_site: Site, action: Any, decided: str
) -> None:
    ask = await permission(web_site, SHELL)
    await web_site.act(ask, action)
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        headline = await page.locator("h1").inner_text()
        assert headline.startswith(decided)
        assert "Kim" in headline


async def test_whoever_decides_first_reads_how_many_others_have_to_confirm(
    browser: Browser, web_site: Site
) -> None:
    arguments = {"tool_name": "Bash", "tool_input": {"command": "make"}}
    async with tab(browser) as page:
        for count, said in ((1, LABELS.confirm_first), (2, LABELS.confirm_first_more)):
            ask = await web_site.ask(
                name="PermissionRequest",
                arguments=arguments,
                responders="anyone",
                confirmations=count,
            )
            await page.goto(web_site.page(ask))
            await expect(page.get_by_text(said.format(count=count))).to_be_visible()


@pytest.mark.parametrize("path", [f"{INBOX}/nothing", "/inbox", "/a/x/y", "/a/nothing"])
async def test_an_address_of_no_page_is_answered_by_a_page_that_says_so(
    browser: Browser, web_site: Site, path: str
) -> None:
    async with tab(browser) as page:
        response = await page.goto(web_site.url + path)
        await expect(page.locator("h1")).to_have_text(LABELS.page_not_found)
        assert response is not None
        assert response.status == 404
        await expect(page.get_by_text(LABELS.page_missing)).to_be_visible()
        await expect(page.locator(".brand img")).to_be_visible()
        found = await Axe().run(page)
        assert found.response["violations"] == []


async def test_the_accounts_have_the_frame_of_the_inbox_and_say_that_there_are_none(
    browser: Browser, tmp_path: Path
) -> None:
    async with site(tmp_path, keys=KEYS, people_link=True) as there, tab(browser, **PHONE) as page:
        await page.goto(f"{there.url}{ALICES}/accounts")
        await expect(page.get_by_text(LABELS.link_none)).to_be_visible()
        assert await page.evaluate(SMALL) == []
        found = await Axe().run(page)
        assert found.response["violations"] == []
        await page.get_by_role("link", name=LABELS.inbox_waiting).click()
        await expect(page.locator("h1")).to_have_text(LABELS.inbox_title)


async def test_the_devices_have_the_frame_of_the_inbox_and_say_that_there_are_none(
    browser: Browser, tmp_path: Path
) -> None:
    async with push_rig(tmp_path) as rig, tab(browser, **PHONE) as page:
        await page.goto(f"{rig.inbox()}/devices")
        await expect(page.get_by_text(LABELS.devices_none)).to_be_visible()
        form = PushBrowser("https://push.example/1").form
        assert await rig.post(f"{rig.inbox()}/devices", form) == 204
        await page.reload()
        await expect(page.get_by_role("button", name=LABELS.remove)).to_be_visible()
        name = await page.locator(".devices form > span").bounding_box()
        assert name is not None
        assert name["width"] > PHONE["viewport"]["width"] / 2
        assert await page.evaluate(SMALL) == []
        found = await Axe().run(page)
        assert found.response["violations"] == []
        await page.get_by_role("link", name=LABELS.inbox_waiting).click()
        await expect(page.locator("h1")).to_have_text(LABELS.inbox_title)


async def test_without_a_script_the_page_says_beside_share_that_its_address_answers(
    browser: Browser, web_site: Site
) -> None:
    ask = await permission(web_site, SHELL)
    for script in (False, True):
        async with tab(browser, java_script_enabled=script) as page:
            await page.goto(web_site.page(ask))
            await page.locator(".share summary").click()
            said = page.get_by_text(LABELS.share_without_script)
            await (expect(said).to_be_hidden() if script else expect(said).to_be_visible())


async def test_the_buttons_that_decide_are_of_one_height(browser: Browser, web_site: Site) -> None:
    ask = await permission(web_site, ("ExitPlanMode", {"plan": kinds.PLAN}))
    async with tab(browser, **PHONE) as page:
        await page.goto(web_site.page(ask))
        boxes = [await each.bounding_box() for each in await page.locator(".two button").all()]
        assert len(boxes) == 2
        assert len({(box["y"], box["height"]) for box in boxes if box is not None}) == 1


async def test_a_long_plan_is_shown_whole_and_what_decides_stays_in_sight(
    browser: Browser, web_site: Site
) -> None:
    plan = "\n".join(f"{n}. Step {n}" for n in range(1, 100))
    ask = await permission(web_site, ("ExitPlanMode", {"plan": plan}))
    async with tab(browser, **PHONE) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        await expect(page.locator(".cut")).to_have_count(0)
        await expect(page.locator(".two button").first).to_be_in_viewport()


async def test_of_two_buttons_that_would_send_the_same_one_is_shown(
    browser: Browser, web_site: Site
) -> None:
    question = {**CLAUDE["questions"][0], "multiSelect": True}
    ask = await web_site.ask(name="AskUserQuestion", arguments={"questions": [question]})
    async with tab(browser) as page:
        await page.goto(web_site.page(ask))
        await settled(page)
        plain = page.get_by_role("button", name=LABELS.answer, exact=True)
        await expect(plain).to_be_visible()
        await page.get_by_label("Something else…").check()
        await expect(plain).to_be_hidden()
        await page.locator("#other").fill("SQLite")
        await page.get_by_role("button", name=f"{LABELS.answer}: Something else…").click()
        await expect(page.locator(".ended")).to_be_visible()
    (answer,) = (await web_site.stored(ask)).walk.answers
    assert answer.value == "SQLite"


async def test_a_time_of_today_is_shown_without_its_date(browser: Browser, web_site: Site) -> None:
    ask = await permission(web_site, SHELL)
    year = str(datetime.fromtimestamp(ask.created_at, UTC).year)
    async with tab(browser, timezone_id="UTC") as page:
        await page.clock.set_fixed_time(ask.created_at)
        await page.goto(web_site.page(ask))
        time = page.locator(".asks time")
        await expect(time).to_have_attribute("title", re.compile(year))
        assert year not in await time.inner_text()
        await page.clock.set_fixed_time(ask.created_at + 200_000)
        await page.reload()
        await expect(time).to_contain_text(year)


async def test_the_history_has_nothing_that_is_open(browser: Browser, web_site: Site) -> None:
    async with tab(browser) as page:
        await kinds.history(page, web_site)
        await expect(page.locator(".inbox .what")).to_have_count(3)
        await expect(page.get_by_text("Create money.py")).to_have_count(0)
