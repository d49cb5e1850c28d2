"""The pages about agents and frameworks show the recipes' whole files and short settings, and each file has a test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.documentation.blocks import PAGES, Block, blocks
from tests.meta.project import RECIPES, ROOT

_LANGUAGES: Final = {".mjs": "js", ".py": "python"}
"""The language of a block, if it is not the file's suffix."""
_SETTINGS: Final = {"json", "toml"}


def _shown() -> Iterator[tuple[Block, str]]:
    """Yield each block that shows a file, with the file's name."""
    for page in PAGES:
        yield from ((block, block.recipe) for block in blocks(page) if block.recipe)


def test_every_program_on_the_pages_is_a_recipe() -> None:
    written = [
        str(block)
        for page in PAGES
        if page.startswith(("docs/agents/", "docs/frameworks/"))
        for block in blocks(page)
        if not block.recipe and block.language not in _SETTINGS
    ]
    assert written == [], (
        "put these into a file in docs/recipes, and a test of it into tests/recipes"
    )


def test_every_recipe_is_on_one_page() -> None:
    files = sorted(file.name for file in RECIPES.iterdir() if file.is_file())
    assert files == sorted(name for _, name in _shown())


def test_the_pages_show_the_files_as_they_are() -> None:
    """The whole text, so that it can be read on a git host too."""
    other = [
        str(block) for block, name in _shown() if block.text != (RECIPES / name).read_text("utf-8")
    ]
    assert other == [], "run python -m tests.meta.generated_docs"


def test_a_link_above_each_recipe_leads_to_its_file() -> None:
    for block, name in _shown():
        page = ROOT / block.page
        above = page.read_text("utf-8").splitlines()[: block.line - 1]
        link = os.path.relpath(RECIPES / name, page.parent)
        assert f"[{name}]({link})" in "".join(above[-2:]), str(block)
        suffix = Path(name).suffix
        assert block.language == _LANGUAGES.get(suffix, suffix.removeprefix(".")), str(block)


def test_every_recipe_is_run_by_a_test() -> None:
    """Those for the program of a host run with it, among the tests of hosts."""
    here = Path(__file__).parent
    files = (*here.rglob("*.py"), *(here.parent / "hosts").rglob("*.py"))
    tests = "".join(file.read_text("utf-8") for file in files)
    unnamed = [
        name
        for _, name in _shown()
        if f'"{name}"' not in tests
        and f'"{name.removesuffix(".py")}"' not in tests
        and f"import {name.removesuffix('.py')}" not in tests
    ]
    assert unnamed == []
