"""How Antigravity CLI is named, and recognised."""

from __future__ import annotations

from typing import Final

from answerback_base.hosts import About

ABOUT: Final = About(
    "Antigravity CLI", programs=("agy", "antigravity"), requests=("antigravity/PreToolUse",)
)
