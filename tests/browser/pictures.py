"""The docs' pictures of the web page: ``python -m tests.browser.pictures`` takes them again."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from playwright.async_api import async_playwright

from answerback.core.actions import Answer
from tests.browser.conftest import settled
from tests.browser.site import INBOX, MIGRATION, site
from tests.chromium import ARGUMENTS, find_chromium

IMAGES = Path(__file__).parents[2] / "docs" / "images"


APPROVALS: Final[tuple[tuple[str, str, str, dict[str, str]], ...]] = (
    (
        "ann-laptop",
        "app",
        "Edit",
        {
            "file_path": "/src/app/billing.py",
            "old_string": "    subtotal = sum(item.price for item in items)\n    return subtotal",
            "new_string": "    subtotal = sum(item.price * item.count for item in items)\n"
            "    return round(subtotal, 2)",
        },
    ),
    ("ann-laptop", "app", "Bash", {"command": "git push --force origin main"}),
    ("ci-bot", "infra", "Bash", {"command": "terraform apply plan.out\nterraform output -json"}),
    (
        "ci-bot",
        "infra",
        "mcp__github__create_issue",
        {"repo": "infra", "title": "The nightly backup is late"},
    ),
    (
        "ann-laptop",
        "app",
        "ExitPlanMode",
        {"plan": "# Move billing to integer cents\n\n1. Add a column\n2. Fill it"},
    ),
)
"""What agents want to do: who, in which project, with which tool."""


async def main() -> None:
    """Take the migration form at its second question; an approval; and the inbox."""
    with tempfile.TemporaryDirectory() as folder:
        async with site(Path(folder)) as running, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_chromium(), args=ARGUMENTS
            )
            page = await browser.new_page(
                viewport={"width": 760, "height": 600}, device_scale_factor=2
            )
            ask = await running.ask(*MIGRATION, agent="ci-bot", origin={"project": "infra"})
            await running.act(ask, Answer(value=True))
            await page.goto(running.page(ask))
            await settled(page)
            await page.screenshot(path=IMAGES / "form.png")
            for agent, project, tool, arguments in APPROVALS:
                call = {"tool_name": tool, "tool_input": arguments, "cwd": f"/src/{project}"}
                ask = await running.ask(
                    name="PermissionRequest",
                    arguments=call,
                    agent=agent,
                    origin={"project": project},
                )
                if tool == "Edit":
                    await page.goto(running.page(ask))
                    await settled(page)
                    await page.screenshot(path=IMAGES / "approval.png", full_page=True)
            await page.goto(running.url + INBOX)
            await page.screenshot(path=IMAGES / "inbox.png", full_page=True)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
