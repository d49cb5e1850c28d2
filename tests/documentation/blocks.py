"""The blocks of code in README and the documentation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.meta.project import RECIPES, ROOT

PAGES: Final = tuple(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
)
_BLOCK: Final = re.compile(
    r'(?:^=== "(?P<tab>[^"]+)"\n\n)?^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^(?P=indent)```$',
    re.DOTALL | re.MULTILINE,
)


_WHOLE_FILE: Final = re.compile(r'--8<-- "([\w.-]+)"\n')
"""What the built page replaces by the text of a file of docs/recipes."""


@dataclass(frozen=True)
class Block:
    """A block of code on a page, as it is on the built page."""

    page: str
    line: int
    language: str
    text: str
    recipe: str | None = None
    """The name of the file that it shows."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page."""
    text = (ROOT / page).read_text("utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        written = textwrap.dedent(match["text"])
        file = _WHOLE_FILE.fullmatch(written)
        recipe = file and file[1]
        shown = (RECIPES / recipe).read_text("utf-8") if recipe else written
        yield Block(page, line, match["language"], shown, recipe)


def every_block(*languages: str) -> list[Block]:
    """Return the blocks in these languages, on all pages."""
    return [block for page in PAGES for block in blocks(page) if block.language in languages]


def block_with(content: str, page: str) -> str:
    """Return the text of the only block of a page that has this content."""
    [found] = [block.text for block in blocks(page) if content in block.text]
    return found
