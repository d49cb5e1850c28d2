"""The names of Gemini CLI, and the signs by which it is recognised."""

from __future__ import annotations

from typing import Final

from answerback_base.hosts import About

ABOUT: Final = About("Gemini CLI", programs=("gemini", "gemini-cli"))
