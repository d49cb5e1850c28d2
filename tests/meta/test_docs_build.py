"""The documentation builds without warnings, its pages load nothing from other hosts, and its search finds things."""

import os
import re
import subprocess
import sys
import tomllib
from html import unescape
from pathlib import Path

import pytest
from aiohttp import web
from playwright.async_api import async_playwright, expect

from answerback.core.labels import Labels
from tests.chromium import ARGUMENTS
from tests.documentation.blocks import PAGES, blocks
from tests.meta.project import ROOT

_EXTERNAL = re.compile(
    r"""<(?:script|img|iframe|source|audio|video)\b[^>]*\bsrc=["']?(?:https?:)?//"""
    r"""|<link\b[^>]*\brel=["']?(?:stylesheet|preload|preconnect|icon|dns-prefetch)["']?[^>]*"""
    r"""\bhref=["']?(?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//""",
    re.IGNORECASE,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.long,
]  # all on one worker, which builds the site once


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the documentation; a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [
            *(sys.executable, "-m", "mkdocs", "build", "--strict"),
            *("--config-file", str(ROOT / ".mkdocs.yml"), "--site-dir", str(folder)),
        ],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
        timeout=280,
    )
    return folder


def test_the_documentation_builds_strictly_and_loads_nothing_external(built: Path) -> None:
    pages = sorted(built.rglob("*.html")) + sorted(built.rglob("*.css"))
    assert (built / "tutorial.html") in pages
    table = (built / "specification-tests.html").read_text("utf-8")
    assert "<td>WALK-7</td>" in table
    assert "test_back_skips_answers_by_machines" in table
    external = [
        f"{page.relative_to(built)}: {match[0]}"
        for page in pages
        for match in _EXTERNAL.finditer(page.read_text("utf-8"))
    ]
    assert external == []


def test_the_built_pages_show_each_block_whole(built: Path) -> None:
    """So they show the text of each file that they include."""
    shown = {
        page: _text(built / f"{page.removeprefix('docs/').removesuffix('.md')}.html")
        for page in PAGES
        if page != "README.md"
    }
    missing = [
        str(block)
        for page in shown
        for block in blocks(page)
        if block.text.strip() not in shown[page]
    ]
    assert missing == []


def test_the_built_page_lists_every_label(built: Path) -> None:
    *_, listed = _text(built / "configuration.html").split("[labels]\n")
    labels = tomllib.loads(listed.partition("\n\n")[0])
    assert labels == Labels().model_dump()


def _text(page: Path) -> str:
    return unescape(re.sub(r"<[^>]+>", "", page.read_text("utf-8")))


async def test_the_search_finds_what_explains_a_word(built: Path, chromium: str) -> None:
    app = web.Application()
    app.router.add_static("/", built)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}/index.html"
    wanted = {
        "answerback copy": ("commands.html", "#answerback-copy"),
        "routes.<name>.escalate.after": ("configuration.html", "#routes"),
        "personal link": ("security.html", "#personal-links"),
    }
    explained_before_it_is_specified = ["hand over", "who can answer", "late answers"]
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            for text, (name, heading) in wanted.items():
                page = await browser.new_page()
                await page.goto(address)
                await page.get_by_role("textbox", name="Search").click()
                await page.keyboard.type(text)
                link = page.locator(
                    f".md-search-result__link[href*='{name}'][href$='{heading}']"
                ).first
                await expect(link).to_be_attached(timeout=60_000)
                await page.close()
            for text in explained_before_it_is_specified:
                page = await browser.new_page()
                await page.goto(address)
                await page.get_by_role("textbox", name="Search").click()
                await page.keyboard.type(text)
                results = page.locator(".md-search-result__item > .md-search-result__link")
                await expect(results.nth(1)).to_be_attached(timeout=60_000)
                found = [
                    str(await link.get_attribute("href")) for link in (await results.all())[:3]
                ]
                assert [each for each in found if "specification" in each] == [], text
                await page.close()
            await browser.close()
    finally:
        await runner.cleanup()
