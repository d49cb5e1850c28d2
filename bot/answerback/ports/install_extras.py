"""Extras: what of Answerback is installed only where it is used, and the sentence for whoever misses one."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Final

MCP: Final = ("mcp", ("mcp", "aiohttp_asgi"))
"""The extra of the Model Context Protocol, and the packages that it installs. A surface's plug-in names its own."""
POSTGRES: Final = ("postgres", ("psycopg",))
"""The extra of the PostgreSQL store."""


def missing_extra_message(extra: str, packages: Iterable[str], wanted_by: str) -> str | None:
    """Which extra to install, in one sentence; None where all its packages are there.

    Args:
        wanted_by: what needs it, as the sentence begins.
    """
    if all(find_spec(package) is not None for package in packages):
        return None
    return (
        f"{wanted_by} needs the extra {extra!r}, which is not installed: "
        f"run `pip install 'answerback[{extra}]'`."
    )
