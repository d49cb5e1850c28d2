"""The pages about agents and frameworks show the recipes' whole files and nothing else, and each recipe has a test.

So every block there runs when it is pasted: tests/meta/test_docs.py checks that page and file are identical.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.meta import generated_docs
from tests.meta.project import RECIPES, ROOT

_FENCE = re.compile(r"^```\w*\n.*?^```$", re.DOTALL | re.MULTILINE)


def _shown() -> set[str]:
    """Return the names of the recipes that the pages show."""
    return {
        part.removeprefix("recipe ") for part in generated_docs.PARTS if part.startswith("recipe ")
    }


def test_every_code_block_on_the_pages_is_a_recipe() -> None:
    page = "\n".join(page.read_text("utf-8") for page in generated_docs.RECIPE_PAGES)
    copied = {generated_docs.read_part(f"recipe {name}") for name in _shown()}
    written = [block for block in _FENCE.findall(page) if block not in copied]
    assert written == [], (
        "put these into a file in docs/recipes, and a test of it into tests/recipes"
    )


def test_every_recipe_is_on_a_page() -> None:
    assert {file.name for file in RECIPES.iterdir() if file.is_file()} == _shown()


def test_every_recipe_is_run_by_a_test() -> None:
    tests = "".join(file.read_text("utf-8") for file in Path(__file__).parent.rglob("*.py"))
    unnamed = [
        name
        for name in _shown()
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
