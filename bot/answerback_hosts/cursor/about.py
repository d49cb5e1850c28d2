"""The names of Cursor, and the signs by which it is recognised."""

from __future__ import annotations

from typing import Final

from answerback_base.hosts import About

ABOUT: Final = About(
    "Cursor",
    programs=("cursor", "cursor-agent"),
    requests=("cursor/beforeShellExecution", "cursor/beforeMCPExecution"),
)
