"""The docs' pictures of the web page: ``python -m tests.browser.pictures`` takes them again.

``python -m tests.browser.pictures FOLDER`` takes each kind of decision in each look into a folder, to be looked at.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, Literal

from playwright.async_api import Browser, Page, async_playwright

from answerback.core.actions import Answer
from tests.browser.conftest import settled
from tests.browser.kinds import EDIT, KINDS, Shown, permitted
from tests.browser.site import MIGRATION, Site, site
from tests.chromium import ARGUMENTS, find_chromium

IMAGES: Final = Path(__file__).parents[2] / "docs" / "images"
LOOKS: Final[tuple[tuple[int, Literal["light", "dark"]], ...]] = tuple(
    (width, scheme) for width in (1280, 390) for scheme in ("light", "dark")
)


async def form(page: Page, there: Site) -> None:
    """Open the migration form at its second question."""
    ask = await there.ask(*MIGRATION, agent="ci-bot", origin={"project": "infra"})
    await there.act(ask, Answer(value=True))
    await page.goto(there.page(ask))
    await settled(page)


async def inbox(page: Page, there: Site) -> None:
    """Open the inbox, with two permissions ticked."""
    await KINDS["inbox"](page, there)
    await settled(page)
    for number in range(2):
        await page.locator(".inbox .tick input").nth(number).check()


IN_DOCS: Final[dict[str, Shown]] = {
    "form": form,
    "approval": permitted(EDIT),
    "inbox": inbox,
}


async def take(browser: Browser, show: Shown, path: Path, **look: Any) -> None:
    """Take a picture of a page of a site of its own."""
    with tempfile.TemporaryDirectory() as folder:
        async with site(Path(folder)) as there:
            page = await browser.new_page(reduced_motion="reduce", **look)
            await show(page, there)
            height = await page.evaluate("document.documentElement.scrollHeight")
            # As high as the page, so that what stays at the edge of the window does not cover anything.
            await page.set_viewport_size({"width": look["viewport"]["width"], "height": height})
            await page.screenshot(path=path)
            await page.close()


async def main() -> None:
    """Take the pictures."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        for name, show in IN_DOCS.items():
            size = {"width": 760, "height": 600}
            path = IMAGES / f"{name}.png"
            await take(browser, show, path, viewport=size, device_scale_factor=2)
        for folder in map(Path, sys.argv[1:]):
            folder.mkdir(parents=True, exist_ok=True)
            for name, show in KINDS.items():
                for width, scheme in LOOKS:
                    path = folder / f"{name.replace(' ', '-')}-{width}-{scheme}.png"
                    size = {"width": width, "height": 600}
                    await take(browser, show, path, viewport=size, color_scheme=scheme)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
