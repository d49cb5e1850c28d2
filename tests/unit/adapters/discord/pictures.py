"""Takes the pictures of docs/discord.md from the fake's page: ``python -m tests.unit.adapters.discord.pictures``."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Page, async_playwright

from tests.chromium import ARGUMENTS, find_chromium
from tests.unit.adapters.discord.migration import QUESTION
from tests.unit.adapters.discord.rig import Rig, rig

IMAGES = Path(__file__).parents[4] / "docs" / "images"
SCHEMA = {
    "type": "object",
    "required": ["title", "severity"],
    "properties": {
        "title": {"type": "string", "title": "Title", "maxLength": 60},
        "severity": {"title": "Severity", "enum": ["low", "high", "critical"]},
        "teams": {
            "title": "Teams",
            "type": "array",
            "items": {"enum": ["api", "web", "data"]},
        },
        "since": {"title": "Since", "type": "string", "format": "date"},
    },
}
QUESTIONS: list[dict[str, Any]] = [
    {"id": "apply", "text": "Apply the proposed migration?", "answer_type": "boolean"},
    {
        "id": "env",
        "text": "Which environment?",
        "context": "The migration adds an index to orders and takes about two minutes.",
        "answer_type": "select",
        "options": ["staging", "production", "both, staging first"],
        "default": "staging",
    },
    {"id": "incident", "text": "What happened?", "answer_type": "schema", "schema": SCHEMA},
]
OPTIONS = [
    {"value": "canary", "label": "Canary", "description": "5 % for an hour, then everybody."},
    {"value": "all", "label": "At once", "description": "Everybody, in about two minutes."},
    {"value": "monday", "label": "On Monday", "description": "Nothing before 09:00 UTC."},
]
DESCRIBED = {
    "questions": [{"id": "rollout", "prompt": "How shall 3.8 be rolled out?", "options": OPTIONS}]
}


async def take_form_pictures(up: Rig, page: Page) -> None:
    """Walk through the form, taking pictures on the way."""
    await up.shown(await up.submit(QUESTIONS))
    await up.ann.click("Yes")
    await open_channel(up, page)
    message = up.ann.latest(up.channel).message
    await page.locator(f"#m{message.id}").screenshot(path=IMAGES / "discord-question.png")
    await up.ann.click("staging")
    await open_channel(up, page)
    await page.locator(f"#m{message.id}").get_by_role("button", name="Fill in").click()
    await page.locator("form.modal").screenshot(path=IMAGES / "discord-modal.png")
    await page.get_by_role("button", name="Cancel").click()
    await up.ann.click("Fill in")
    up.ann.fill("Title", "Orders are slow")
    up.ann.fill("Severity", "high")
    up.ann.fill("Teams", ["api", "data"])
    await up.ann.submit()
    await open_channel(up, page)
    await page.locator(f"#m{message.id}").screenshot(path=IMAGES / "discord-record.png")


async def take_migration_picture(up: Rig, page: Page) -> None:
    """Take a picture of a self-contained decision: a table, a diff, and what Yes does."""
    await up.shown(await up.submit([QUESTION]))
    await open_channel(up, page)
    message = up.ann.latest(up.channel).message
    await page.locator(f"#m{message.id}").screenshot(path=IMAGES / "discord-migration.png")


async def take_list_pictures(up: Rig, page: Page) -> None:
    """Take pictures of described options with their buttons, and of the command's private response."""
    await up.shown(await up.submit([], name="question", arguments=DESCRIBED))
    await open_channel(up, page)
    message = up.ann.latest(up.channel).message
    await page.locator(f"#m{message.id}").screenshot(path=IMAGES / "discord-described.png")
    call = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}
    await up.shown(await up.submit([], name="PermissionRequest", arguments=call))
    await up.ann.command("inbox", up.channel)
    await open_channel(up, page)
    note = up.ann.notes()[0].message
    await page.locator(f"#m{note.id}").screenshot(path=IMAGES / "discord-inbox.png")


async def open_channel(up: Rig, page: Page) -> None:
    """Open the channel as Ann sees it."""
    await page.goto(f"{up.discord.url}/channels/{up.channel.id}?as={up.ann.id}")


async def main() -> None:
    """Take all pictures, in a separate browser."""
    with tempfile.TemporaryDirectory() as folder:
        async with rig(Path(folder)) as up, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_chromium(), args=ARGUMENTS
            )
            page = await browser.new_page(
                viewport={"width": 900, "height": 900}, device_scale_factor=2
            )
            await take_form_pictures(up, page)
            await take_migration_picture(up, page)
            await take_list_pictures(up, page)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
