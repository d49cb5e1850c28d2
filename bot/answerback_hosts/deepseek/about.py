"""How DeepSeek Harness is named, and recognised."""

from __future__ import annotations

from typing import Final

from answerback_base.hosts import About

ABOUT: Final = About("DeepSeek Harness", programs=("dsh", "deepseek-harness"))
