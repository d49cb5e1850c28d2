"""The pictures of docs/slack.md: the fake Slack's own page, photographed while a form is walked.

`python -m tests.unit.adapters.slack.pictures` takes them again.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from playwright.async_api import Page, async_playwright

from tests.chromium import ARGUMENTS, find_chromium
from tests.fakes.slack import home_tab
from tests.fakes.slack.workspace import Message
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, Rig, rig

FOLDER = Path(__file__).parents[4] / "docs" / "images"
QUESTIONS = (
    {
        "id": "apply",
        "text": "Apply the proposed migration?",
        "context": "It adds two columns to the table orders and rewrites one index.",
        "answer_type": "boolean",
        "default": True,
    },
    {
        "id": "env",
        "text": "Which environment?",
        "answer_type": "select",
        "options": ["staging", "production"],
    },
    {"id": "checks", "text": "Which checks first?", "answer_type": "multi_select",
     "options": ["Back up the table", "Run the smoke tests", "Tell the on-call team"]},
    {"id": "note", "text": "Optional note for the migration log", "answer_type": "text"},
)  # fmt: skip


async def take(up: Rig, page: Page) -> None:
    """Walk the form, and take a picture at every step that the docs show."""

    async def shot(name: str, path: str, selector: str = "main") -> None:
        await page.goto(up.slack.url + path)
        await page.locator(selector).screenshot(path=FOLDER / f"slack-{name}.png")

    def live() -> Message:
        return up.live(ask)

    up.slack.event_types |= {"app_home_opened"}
    ask = await up.submit(*QUESTIONS)
    await shot("question", f"c/{CHANNEL}")
    await up.ada.click(live(), LABELS.yes)
    ask = await up.shown(ask)
    await up.ada.click(live(), "production")
    ask = await up.shown(ask)
    await up.ada.check(live(), ["Back up the table", "Run the smoke tests"])
    await shot("choices", f"c/{CHANNEL}")
    await up.ada.click(live(), LABELS.submit)
    ask = await up.shown(ask)
    await up.ada.click(live(), LABELS.answer)
    await up.ada.fill(await up.ada.sees_modal(), LABELS.other_label, "After the nightly backup.")
    await shot("modal", f"v/{up.ada.id}")
    await up.ada.submit()
    ask = await up.shown(ask)
    await shot("record", f"c/{CHANNEL}")
    await up.submit({"id": "q", "text": "Drop the table orders_2019?", "answer_type": "boolean"})
    await up.submit(
        {
            "id": "q",
            "text": "Which region first?",
            "answer_type": "select",
            "options": ["eu", "us"],
        },
        expires_in=3_600,
    )
    for command in ("terraform apply plan.out", "make deploy"):
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        await up.submit(name="PermissionRequest", arguments=call)
    home_tab.open_home(up.ada)
    await up.slack.until(lambda: up.ada.id in up.slack.workspace.homes)
    await shot("home", f"h/{up.ada.id}")


async def main() -> None:
    """Take all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with rig(Path(folder)) as up, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_chromium(), args=ARGUMENTS
            )
            page = await browser.new_page(viewport={"width": 720, "height": 480})
            await take(up, page)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
