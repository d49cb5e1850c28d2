"""The pages about agents and frameworks show the recipes' files and nothing else, and each recipe has a test.

tests/meta/test_docs.py checks that the page and the files are identical, along with the other generated parts.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.meta import generated_docs
from tests.meta.project import RECIPES, ROOT

_FENCE = re.compile(r"^```\w*\n.*?^```$", re.DOTALL | re.MULTILINE)


def _shown() -> set[tuple[str, ...]]:
    """Return the recipes that the pages show: a file, or a file and one of its regions."""
    return {tuple(part.split()[1:]) for part in generated_docs.PARTS if part.startswith("recipe ")}


def test_every_code_block_on_the_pages_is_part_of_a_recipe() -> None:
    page = "\n".join(page.read_text("utf-8") for page in generated_docs.RECIPE_PAGES)
    copied = {
        generated_docs.read_part(part)
        for part in generated_docs.PARTS
        if part.startswith("recipe ")
    }
    written = [block for block in _FENCE.findall(page) if block not in copied]
    assert written == [], (
        "put these into a file in docs/recipes, and a test of it into tests/recipes"
    )


def test_every_recipe_and_each_of_its_regions_is_on_a_page() -> None:
    there: set[tuple[str, ...]] = set()
    for file in RECIPES.iterdir():
        if file.is_file():
            regions = re.findall(r" region (\w+)$", file.read_text("utf-8"), re.MULTILINE)
            there |= {(file.name, region) for region in regions} or {(file.name,)}
    assert there == _shown()


def test_every_recipe_is_run_by_a_test() -> None:
    tests = "".join(file.read_text("utf-8") for file in Path(__file__).parent.rglob("*.py"))
    unnamed = [
        name
        for name, *_ in _shown()
        if f'"{name}"' not in tests
        and f'"{name.removesuffix(".py")}"' not in tests
        and f"import {name.removesuffix('.py')}" not in tests
    ]
    assert unnamed == []


def test_the_configuration_on_the_page_is_valid(environment: None) -> None:
    file = RECIPES / "answerback.toml"
    checked = subprocess.run(
        [sys.executable, "-m", "answerback.cli.main", "serve", "--check", "--config", str(file)],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
