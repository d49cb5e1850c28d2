"""The blocks of code in README and the documentation."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.meta.project import ROOT

PAGES: Final = tuple(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
)
_BLOCK: Final = re.compile(
    r'(?:^=== "(?P<tab>[^"]+)"\n\n)?^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^(?P=indent)```$',
    re.DOTALL | re.MULTILINE,
)


_LINK_TO_RECIPE: Final = re.compile(r"\]\((?:\.\./)?recipes/([\w.-]+)\)[^\n]*\n\n$")
"""The line above a block that shows a file of docs/recipes."""


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    page: str
    line: int
    language: str
    text: str
    recipe: str | None = None
    """The name of the file that it shows, which the line above links to."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page."""
    text = (ROOT / page).read_text("utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        link = _LINK_TO_RECIPE.search(text, 0, match.start("indent"))
        yield Block(page, line, match["language"], textwrap.dedent(match["text"]), link and link[1])


def every_block(*languages: str) -> list[Block]:
    """Return the blocks in these languages, on all pages."""
    return [block for page in PAGES for block in blocks(page) if block.language in languages]


def block_with(content: str, page: str) -> str:
    """Return the text of the only block of a page that has this content."""
    [found] = [block.text for block in blocks(page) if content in block.text]
    return found
