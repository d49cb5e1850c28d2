"""The name of Imagined, and the ways to recognise it."""

from __future__ import annotations

from typing import Final

from answerback_base.hosts import About

ABOUT: Final = About("Imagined", programs=("imagined",), requests=("imagined/permission",))
