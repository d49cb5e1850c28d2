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


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page."""
    text = (ROOT / page).read_text("utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("language")) + 1
        yield Block(page, line, match["language"], textwrap.dedent(match["text"]))


def every_block(*languages: str) -> list[Block]:
    """Return the blocks in these languages, on all pages."""
    return [block for page in PAGES for block in blocks(page) if block.language in languages]
