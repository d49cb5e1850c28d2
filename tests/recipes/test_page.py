"""The page about agents shows the recipes' files and nothing else, and each recipe has a test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.meta.project import ROOT
from tests.recipes.conftest import RECIPES

_PAGE = ROOT / "docs" / "agents.md"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SNIPPET = re.compile(r'--8<-- "docs/recipes/([\w.-]+?)(?::(\w+))?"\n')


def _included() -> list[tuple[str, str | None]]:
    """Each fenced block of the page: the recipe that it shows, and which section of it."""
    blocks = [block for _, block in _FENCE.findall(_PAGE.read_text("utf-8"))]
    assert blocks
    matches = [(block, _SNIPPET.fullmatch(block)) for block in blocks]
    written = [block for block, match in matches if match is None]
    assert written == [], (
        "put these into a file in docs/recipes, and a test of it into tests/recipes"
    )
    return [(match[1], match[2]) for _, match in matches if match]


def test_every_block_of_code_on_the_page_is_part_of_a_recipe() -> None:
    for name, section in _included():
        text = (RECIPES / name).read_text("utf-8")
        assert section is None or f"--8<-- [start:{section}]" in text
        assert section is None or f"--8<-- [end:{section}]" in text


def test_every_recipe_and_every_section_of_it_is_on_the_page() -> None:
    shown = set(_included())
    there: set[tuple[str, str | None]] = set()
    for file in RECIPES.iterdir():
        if file.is_file():
            sections = re.findall(r"--8<-- \[start:(\w+)\]", file.read_text("utf-8"))
            there |= {(file.name, section) for section in sections or [None]}
    assert there == shown


def test_every_recipe_is_run_by_a_test() -> None:
    tests = "".join(file.read_text("utf-8") for file in Path(__file__).parent.rglob("*.py"))
    unnamed = [
        name
        for name, _ in _included()
        if f'"{name}"' not in tests
        and f'"{name.removesuffix(".py")}"' not in tests
        and f"import {name.removesuffix('.py')}" not in tests
    ]
    assert unnamed == []


def test_the_configuration_on_the_page_is_valid(environment: None) -> None:
    file = RECIPES / "answerback.toml"
    checked = subprocess.run(
        [sys.executable, "-m", "bot.cli.main", "serve", "--check", "--config", str(file)],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
