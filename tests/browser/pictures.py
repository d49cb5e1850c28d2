"""The docs' pictures of the web page: ``python -m tests.browser.pictures`` takes them again."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright, expect

from answerback.core.actions import Answer
from tests.browser.conftest import settled
from tests.browser.site import INBOX, site
from tests.chromium import ARGUMENTS, find_chromium

IMAGES = Path(__file__).parents[2] / "docs" / "images"


async def main() -> None:
    """Take the migration form at its second question, with an option chosen; and the inbox."""
    with tempfile.TemporaryDirectory() as folder:
        async with site(Path(folder)) as running, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_chromium(), args=ARGUMENTS
            )
            page = await browser.new_page(
                viewport={"width": 760, "height": 600}, device_scale_factor=2
            )
            ask = await running.migration()
            await running.act(ask, Answer(value=True))
            await page.goto(running.page(ask))
            await settled(page)
            await page.get_by_label("production").check()
            await expect(page.get_by_label("production")).to_be_checked()
            await page.screenshot(path=IMAGES / "form.png")
            for text in ("Which port should the tunnel use?", "Rotate the signing key?"):
                await running.ask({"id": "q", "text": text, "answer_type": "text"})
            await page.goto(running.url + INBOX)
            await page.set_viewport_size({"width": 760, "height": 520})
            await page.screenshot(path=IMAGES / "inbox.png")
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
