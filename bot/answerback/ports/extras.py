"""Extras: what of Answerback is installed only where it is used, and the sentence for whoever misses one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "slack": ("slack_bolt", "slack_sdk"),
    "discord": ("discord", "nacl"),
    "mcp": ("mcp", "aiohttp_asgi"),
}
"""The extras of the distribution ``answerback``, and the packages that each installs."""


def missing(extra: str, wanted_by: str) -> str | None:
    """Which extra to install, in one sentence; None where there is nothing to install.

    Args:
        extra: its name: a surface's is the surface's own. A name that is not an extra's needs nothing.
        wanted_by: what needs it, as the sentence begins.
    """
    if all(find_spec(package) is not None for package in EXTRAS.get(extra, ())):
        return None
    return (
        f"{wanted_by} needs the extra {extra!r}, which is not installed: "
        f"run `pip install 'answerback[{extra}]'`."
    )
