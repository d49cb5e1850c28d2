"""axe finds nothing on any page in any state: light, dark, and on a phone of 320 pixels."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Literal

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, BrowserContext, Page, expect

from answerback.core.actions import Answer, EndTurn, Reply
from answerback.core.ask import Ask
from answerback.core.clarification import AskBack
from tests.browser.conftest import page_of, tab
from tests.browser.inbox_states import INBOX_STATES
from tests.browser.kinds import KINDS
from tests.browser.site import INBOX, KEY, OPERATOR, Site, site
from tests.browser.test_form_rows import GIVEN, ROWS
from tests.unit.adapters.web.examples import CLAUDE, FLAT, JSON_ONLY, MANY, REVIEWED, TEXT
from tests.unit.adapters.web.test_people import ALICE, ALICES

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]
CONTEXT: Final = (
    """# The migration

Adds `email` to **users**, see <https://example.com/a>.

| table | rows |
|---|---|
| users | 1200000 |

> Locks the table for *seconds*.

1. Run it
2. Deploy

```diff
-ALTER TABLE users DROP email;
+ALTER TABLE users ADD email text; -- a comment that is long enough to have to scroll to its end on a phone
```

```sql
"""
    + "\n".join(f"SELECT {i}, 'text' FROM users; -- line {i}" for i in range(12))
    + "\n```\n"
)
YES_NO: Final = {"id": "b", "text": "Apply it?", "answer_type": "boolean", "context": CONTEXT}
KEYS: Final = {KEY: OPERATOR, "abp_alice": ALICE}
LOOKS: Final[tuple[tuple[Literal["light", "dark"], int], ...]] = (("light", 1024), ("dark", 320))
"""Each colour scheme and each width once: no colour depends on the width, and no layout on the colour scheme."""
AXE: Final = "axe.run({resultTypes: ['violations'], selectors: false})"
CONTROLS: Final = """Array.from(document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), textarea, select, summary, [tabindex='0']"))
    .filter((each) => each.checkVisibility({visibilityProperty: true}) && !each.closest("[inert]")
        && !each.matches("input[type=radio], .comment-on[tabindex='-1'], [aria-hidden=true]")
        && (!document.querySelector("dialog[open]") || each.closest("dialog")))"""
"""The controls that Tab reaches; arrow keys move between radio buttons, and between the lines of a plan."""
HAS_VISIBLE_FOCUS: Final = """(() => {
    const on = document.activeElement;
    if (on.matches("body, [tabindex='-1']") || !on.matches(":focus-visible")) return true;
    return [on, on.closest(".option")].some((each) => each && getComputedStyle(each).outlineStyle !== "none");
})()"""
"""True if the focused control, or its option, is outlined; an element that only scripts focus is no control."""
State = Callable[[Page, Site], Awaitable[None]]


@pytest_asyncio.fixture(loop_scope="session")
async def peopled(tmp_path: Path) -> AsyncIterator[Site]:
    """A site where two people have keys."""
    async with site(tmp_path, keys=KEYS) as running:
        yield running


def asking(*questions: dict[str, Any], press: str = "", shows: str = "main", **more: Any) -> State:
    """Open the page of an ask, with a button pressed on it, which then shows something."""

    async def state(page: Page, there: Site) -> None:
        await page.goto(there.page(await there.ask(*questions, **more)))
        for details in await page.locator("main details:not(.reply)").all():
            await details.evaluate("node => node.open = true")
        if press:
            await expect(page.locator("main form")).to_have_css("pointer-events", "auto")
            await page.locator(press).click()
            await expect(page.locator(shows)).to_be_visible()

    return state


def ended(*actions: Any, **more: Any) -> State:
    """Open the page of an ask that has ended, with its record."""

    async def state(page: Page, there: Site) -> None:
        ask = await there.ask(TEXT, **more)
        for action in actions:
            await there.act(ask, action)
        await page.goto(there.page(ask))
        await page.locator("details.record summary").click()

    return state


async def filled(there: Site) -> Ask:
    asks = []
    for text in ("Which port?", "W" * 200, "<b>Which gate?</b>"):
        asks.append(await there.ask({**TEXT, "text": text}))
        await there.ask({**TEXT, "text": text}, responders=["alice"])
    return await there.act(asks[0], Answer(value="x"))


def at(path: str, *, some: bool = True) -> State:
    """Open a page by its path."""

    async def state(page: Page, there: Site) -> None:
        if some:
            await filled(there)
        await page.goto(there.url + path)

    return state


async def shown_only(page: Page, there: Site) -> None:
    await page.goto(there.surface.url((await there.ask(YES_NO)).id))


async def for_others(page: Page, there: Site) -> None:
    await page.goto(there.page(await there.ask(YES_NO, responders=["alice"])))


async def in_review(page: Page, there: Site) -> None:
    ask = await there.ask(name="question", arguments=REVIEWED)
    for _ in range(2):
        await there.act(ask, Answer(value="a"))
    await page.goto(there.page(ask))


async def too_late(page: Page, there: Site) -> None:
    ask = await there.ask(TEXT, MANY)
    await page.goto(there.page(ask))
    await page.locator("#text").fill("a long thought")
    await there.act(ask, Answer(value="Kim's"))
    await expect(page.locator("main form")).to_have_css("pointer-events", "auto")
    async with page.expect_navigation():
        await page.get_by_role("button", name="Answer").click()


async def explained(page: Page, there: Site) -> None:
    ask = await there.ask(YES_NO, accepts=["clarify"])
    await there.act(ask, AskBack(text="How long is the *lock*?"))
    await there.service.explain(ask.id, CONTEXT)
    await page.goto(there.page(ask))


LONG_HEADER: Final = {
    "questions": [
        {**question, "header": "Authentication method"} for question in CLAUDE["questions"]
    ]
}
STATES: Final[dict[str, State]] = {
    "may be asked back": asking(YES_NO, accepts=["clarify"]),
    "asked back and explained": explained,
    "previews and a note": asking(name="AskUserQuestion", arguments=CLAUDE),
    "the header in full": asking(
        name="AskUserQuestion", arguments=LONG_HEADER, press="details.header summary"
    ),
    "a recommended choice": asking(
        {
            "id": "where",
            "text": "Where?",
            "answer_type": "select",
            "options": ["staging", "production"],
            "default": "staging",
        }
    ),
    "several choices": asking({**MANY, "options": [f"Option {i}" for i in range(20)]}),
    "a text": asking({**TEXT, "context": "See `this`."}),
    "a form": asking(FLAT),
    "a form with mistakes": asking(FLAT, press=".answers .primary", shows=".summary"),
    "rows": asking(
        {"id": "s", "text": "Which?", "answer_type": "schema", "schema": ROWS, "default": GIVEN}
    ),
    "json": asking(JSON_ONLY),
    "the reply": asking(TEXT, press="details.reply summary"),
    "the end of the turn": asking(TEXT, press="button[value=end_turn]"),
    "review": in_review,
    "somebody was faster": too_late,
    "shown only": shown_only,
    "for others": for_others,
    "answered": ended(Answer(value="x")),
    "cancelled": ended(Reply(text="Not today")),
    "turn ended": ended(EndTurn()),
    "the door": at("/", some=False),
    "the door, with a mistake": at("/?key=wrong", some=False),
    "an empty inbox": at(INBOX, some=False),
    "the inbox": at(INBOX),
    "a person's inbox": at(ALICES),
    "the history": at(f"{INBOX}/history"),
    "the history, narrowed": at(f"{INBOX}/history?status=answered&by=nobody"),
    "the history, with a mistake": at(f"{INBOX}/history?since=x"),
    "no such page": at("/a/nothing", some=False),
    **KINDS,
    **INBOX_STATES,
}


_PROFILES: Final[dict[Browser, BrowserContext]] = {}


@pytest_asyncio.fixture(loop_scope="session")
async def profile(browser: Browser) -> BrowserContext:
    """One browser profile for all states. A page stays open, which keeps alive the process that has compiled axe."""
    if browser not in _PROFILES:
        _PROFILES[browser] = await browser.new_context()
        await _PROFILES[browser].new_page()
    return _PROFILES[browser]


@pytest.mark.rule("WEB-5")
@pytest.mark.parametrize("state", STATES)
async def test_axe_finds_no_problem(profile: BrowserContext, peopled: Site, state: str) -> None:
    await profile.clear_cookies()
    async with page_of(profile, close=False) as page:
        await page.emulate_media(reduced_motion="reduce")
        await STATES[state](page, peopled)
        await page.locator("main").wait_for()
        await page.evaluate(Axe().axe_script)
        for scheme, width in LOOKS:
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            await page.set_viewport_size({"width": width, "height": 700})
            found = [
                (violation["id"], violation["help"], [node["html"] for node in violation["nodes"]])
                for violation in (await page.evaluate(AXE))["violations"]
            ]
            assert found == [], (scheme, width)
            wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert await page.evaluate(wider) == 0, (scheme, width)
            assert await page.locator("h1:visible").count() == 1


@pytest.mark.rule("WEB-5")
async def test_the_announcement_states_the_whole_decision(browser: Browser, peopled: Site) -> None:
    ask = await peopled.ask(TEXT, {**YES_NO, "context": "Locks the **users** table."})
    async with tab(browser) as page:
        await page.goto(peopled.page(ask))
        await peopled.act(ask, Answer(value="x"))
        await expect(page.locator("#said")).to_have_text(
            "Assistant asks [2/2] Anyone with access can answer. Apply it? Locks the users table."
        )
        group = page.locator(".yesno")
        await expect(group).to_have_accessible_name("Apply it?")
        described = re.compile(r"^Locks the users table\.")
        await expect(group).to_have_accessible_description(described)


@pytest.mark.rule("WEB-1", "WEB-9")
async def test_the_history_can_be_searched_by_keyboard_alone(
    browser: Browser, peopled: Site
) -> None:
    await filled(peopled)
    async with tab(browser) as page:
        await page.goto(peopled.url + INBOX)
        await page.keyboard.press("Tab")
        for _ in range(12):
            if await page.evaluate("document.activeElement.name === 'q'"):
                break
            await page.keyboard.press("Tab")
        await page.keyboard.type("gate")
        await page.keyboard.press("Enter")
        await expect(page.locator(".inbox .what")).to_have_count(2)
        await expect(page.get_by_role("link", name="History")).to_have_attribute(
            "aria-current", "page"
        )
        for _ in range(20):
            if await page.evaluate("document.activeElement.matches('.inbox a')"):
                break
            await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("<b>Which gate?</b>")


@pytest.mark.rule("WEB-1", "WEB-5")
@pytest.mark.parametrize("kind", KINDS)
async def test_every_control_is_reached_by_keyboard_alone_and_focus_is_visible(
    browser: Browser, peopled: Site, kind: str
) -> None:
    async with tab(browser, viewport={"width": 1280, "height": 800}) as page:
        await KINDS[kind](page, peopled)
        count = await page.evaluate(f"{CONTROLS}.length")
        reached = set()
        for _ in range(2 * count + 4):  # twice around, past the browser's own controls
            reached.add(await page.evaluate(f"{CONTROLS}.indexOf(document.activeElement)"))
            assert await page.evaluate(HAS_VISIBLE_FOCUS)
            assert not await page.evaluate("document.activeElement.matches('[aria-hidden=true]')")
            await page.keyboard.press("Tab")
        assert reached - {-1} == set(range(count))


@pytest.mark.rule("SURFACE-30")
@pytest.mark.parametrize("width", [1280, 390])
async def test_what_was_decided_on_takes_the_whole_width(
    browser: Browser, peopled: Site, width: int
) -> None:
    async with tab(browser, viewport={"width": width, "height": 800}) as page:
        await KINDS["allowed"](page, peopled)
        row = await page.locator(".row").first.bounding_box()
        about = await page.locator(".row .about").first.bounding_box()
        assert row is not None
        assert about is not None
        assert about["width"] == pytest.approx(row["width"], abs=1)


@pytest.mark.rule("WEB-3")
async def test_a_search_in_progress_survives_incoming_asks(browser: Browser, peopled: Site) -> None:
    async with tab(browser) as page:
        await page.goto(peopled.url + INBOX)
        await page.locator("input[name=q]").fill("half a wo")
        await peopled.ask(TEXT)
        await expect(page.locator(".inbox .what")).to_have_count(1)
        await expect(page.locator("input[name=q]")).to_have_value("half a wo")
        await expect(page.locator("input[name=q]")).to_be_focused()
