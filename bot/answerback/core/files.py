"""Files that an agent sends with its call, their limits and their names. Values only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from answerback.core.person import FrozenModel
from answerback.core.picture_header import PICTURE_TYPES
from answerback_base.visible_text import one_line

MAX_FILES: Final = 10
"""Files of an ask."""
MAX_FILE: Final = 10 * 1024 * 1024
"""Bytes of a file."""
MAX_BYTES: Final = 20 * 1024 * 1024
"""Bytes of all files of an ask."""
MAX_INLINE: Final = 128 * 1024
"""Decoded bytes of the files that stand in a submission itself: its body may have 256 KiB."""
MAX_PIXELS: Final = 50_000_000
"""Pixels of a picture, by its header: a browser or a chat has to decode all of them."""
MAX_NAME: Final = 100
"""Characters of a name."""
MAX_ALT: Final = 1_000
CLAIM_SECONDS: Final = 3_600.0
"""Seconds within which an ask has to name an uploaded file; then it is deleted."""
DOWNLOAD: Final = "application/octet-stream"
"""The media type of everything that is not shown as a picture, whatever its sender calls it."""


class AttachedFile(FrozenModel):
    """A file of an ask."""

    id: str
    name: str
    media_type: str
    """The type by its bytes: that of a picture, or `DOWNLOAD`."""
    bytes: int
    sha256: str
    """In hexadecimal."""
    width: int | None = None
    height: int | None = None
    """In pixels; None: it is no picture."""
    alt: str | None = None
    """Alternative text, shown where the file is not."""

    @property
    def is_picture(self) -> bool:
        return self.media_type in PICTURE_TYPES

    @property
    def in_words(self) -> str:
        """A description for where it is not shown: its alternative text, its name and its size."""
        named = self.name if self.label == self.name else f"{self.label} ({self.name})"
        return f"{named}, {size_in_words(self.bytes)}"

    @property
    def label(self) -> str:
        """Its alternative text, or else its name."""
        return one_line(self.alt) if self.alt and self.alt.strip() else self.name


def numbered_pictures(files: Iterable[AttachedFile]) -> dict[str, int]:
    """Return the number by which people tell an ask's pictures apart, from 1, by the ids of the files."""
    pictures = (each for each in files if each.is_picture)
    return {each.id: number for number, each in enumerate(pictures, 1)}


def clean_name(sent: str) -> str:
    """Return a file's name as it is stored and shown: without folders, on one line, with everything visible.

    Empty if nothing is left.
    """
    name = one_line(re.split(r"[/\\]", sent)[-1])
    if not name.strip("."):
        return ""
    stem, dot, ending = name.rpartition(".")
    too_long = len(name) - MAX_NAME
    if too_long <= 0:
        return name
    return (
        f"{stem[: -too_long - 1]}…{dot}{ending}" if stem and len(ending) <= 10 else name[:MAX_NAME]
    )


def size_in_words(size: int) -> str:
    """Return a number of bytes for people."""
    for unit, most in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= most:
            return f"{size / most:.1f} {unit}"
    return f"{size} bytes"


def too_large(name: str) -> str:
    """Return the sentence about a file that is larger than `MAX_FILE`."""
    return f"{name} is too large: a file may have at most {MAX_FILE // 1024**2} MB."
