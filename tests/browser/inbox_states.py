"""States of the inbox and of prompts that people open, tick, fold and send, for axe and for pictures."""

from __future__ import annotations

from typing import Final

from playwright.async_api import Page, expect

from answerback.core.actions import Answer
from answerback.core.labels import Labels
from tests.browser import kinds
from tests.browser.conftest import settled, show_other_ways
from tests.browser.kinds import EDIT, PLAN, QUESTION, SHELL, Shown, permission
from tests.browser.site import INBOX, MIGRATION, Site
from tests.unit.adapters.web.examples import CLAUDE

LABELS: Final = Labels()
WHERE: Final = {
    "id": "where",
    "text": "Where should it be deployed?",
    "answer_type": "select",
    "options": [f"Region {n}" for n in range(7)],
}


def opened(headline: str, *, more: bool = False) -> Shown:
    """Open a prompt in the inbox of twelve."""

    async def show(page: Page, there: Site) -> None:
        await kinds.inbox(page, there)
        await page.locator(".entry > a", has_text=headline).click()
        await expect(page.locator(".entry.open")).to_contain_text(headline)
        await settled(page)
        if more:
            await show_other_ways(page)

    return show


async def ticked(page: Page, there: Site) -> None:
    """Tick two permissions."""
    await kinds.inbox(page, there)
    await settled(page)
    for number in range(2):
        await page.locator(".inbox .tick input").nth(number).check()


async def sending(page: Page, there: Site) -> None:
    """Deny a prompt, which is held back so that it can be undone."""
    await kinds.inbox(page, there)
    await settled(page)
    await page.get_by_role("button", name=LABELS.undo_on).click()
    await page.locator(".entry > a").first.click()
    await settled(page)
    await page.locator(".detail .answers .deny").first.click()
    await expect(page.locator(".entry.held")).to_have_count(1)


async def key_list(page: Page, there: Site) -> None:
    """Show the keys."""
    await kinds.inbox(page, there)
    await settled(page)
    await page.keyboard.press("?")
    await expect(page.locator("#keys")).to_be_visible()


async def left_over(page: Page, there: Site) -> None:
    """Decide about two together, one of which has ended meanwhile."""
    asks = [await permission(there, ("Bash", {"command": f"make {each}"})) for each in "abc"]
    await page.add_init_script("EventSource = class { addEventListener() {} close() {} };")
    await page.goto(there.url + INBOX)
    await settled(page)
    for number in range(2):
        await page.locator(".inbox .tick input").nth(number).check()
    await there.act(asks[0], Answer(value="allow"))
    await page.locator("#batch .primary").click()
    await expect(page.locator(".summary")).to_be_visible()


async def noting(page: Page, there: Site) -> None:
    """Open what a note is written in."""
    ask = await there.ask(name="AskUserQuestion", arguments=CLAUDE)
    await page.goto(there.page(ask))
    await settled(page)
    await page.get_by_text(LABELS.add_note).click()
    await page.locator("#note").fill("For the first release only.")


async def something_else(page: Page, there: Site) -> None:
    """Choose an answer of one's own in a list."""
    ask = await there.ask(
        name="AskUserQuestion",
        arguments={"questions": [{**CLAUDE["questions"][0], "multiSelect": True}]},
    )
    await page.goto(there.page(ask))
    await settled(page)
    await page.locator("input[value=other]").check()
    await page.locator("#other").fill("SQLite")


async def going_on(page: Page, there: Site) -> None:
    """Open the third question of a form."""
    ask = await there.ask(
        *MIGRATION[:2],
        {**MIGRATION[2], "context": PLAN},
        agent="release-bot",
        origin={"project": "app"},
    )
    for value in (True, "production"):
        ask = await there.act(ask, Answer(value=value))
    await page.goto(there.page(ask))
    await settled(page)


async def with_message(page: Page, there: Site) -> None:
    """Write a message that denies."""
    await page.goto(there.page(await permission(there, SHELL, agent="ann-laptop")))
    await settled(page)
    await show_other_ways(page)
    await page.locator("#replying summary").click()
    await page.locator("#reply").fill("Use a branch instead.")


async def commented(page: Page, there: Site) -> None:
    """Comment on two lines of a plan."""
    await page.goto(there.page(await permission(there, ("ExitPlanMode", {"plan": PLAN}))))
    await settled(page)
    for line, text in (("Fill it", "At night."), ("Read from it", "In two releases.")):
        await page.locator("#context [data-line]", has_text=line).click()
        await page.keyboard.type(text)


async def question_beside_others(page: Page, there: Site) -> None:
    """Open a question in the inbox."""
    await permission(there, EDIT, agent="ann-laptop")
    await there.ask(QUESTION, agent="ann-laptop", origin={"project": "app"})
    await there.ask(WHERE, agent="ann-laptop", origin={"project": "app"})
    await page.goto(there.url + INBOX)
    await page.locator(".entry > a", has_text="Which database").click()
    await settled(page)


INBOX_STATES: Final[dict[str, Shown]] = {
    "a command opened in the inbox": opened("git push"),
    "a command with all ways": opened("git push", more=True),
    "a change opened in the inbox": opened("billing.py"),
    "a plan opened in the inbox": opened("Approve this plan?"),
    "comments on a plan": commented,
    "a new file opened in the inbox": opened("backup.tf"),
    "a question opened in the inbox": question_beside_others,
    "ticked": ticked,
    "sending": sending,
    "the keys": key_list,
    "left over": left_over,
    "a note": noting,
    "something else in a list": something_else,
    "the third question of a form": going_on,
    "denying with a message": with_message,
}
