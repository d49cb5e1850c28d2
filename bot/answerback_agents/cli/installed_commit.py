"""The commit that an installation is of, where it is known."""

from __future__ import annotations

import json
import subprocess
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_SECONDS: Final = 5.0
"""Seconds that git may take."""
_DIGITS: Final = 12
"""Digits of a commit that are shown."""


def installed_commit() -> str | None:
    """Return the commit that pip or uv installed from a repository, or that of an editable checkout.

    Installers note where a package came from: https://packaging.python.org/en/latest/specifications/direct-url/
    """
    try:
        origin = json.loads(_distribution().read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    if commit := origin.get("vcs_info", {}).get("commit_id"):
        return str(commit)[:_DIGITS]
    if origin.get("dir_info", {}).get("editable"):
        return _commit_of(Path(unquote(urlsplit(origin["url"]).path)))
    return None


def _distribution() -> Distribution:
    """Return the service's distribution, or else what is installed without the service."""
    try:
        return distribution("answerback")
    except PackageNotFoundError:
        return distribution("answerback-agents")


def _commit_of(checkout: Path) -> str | None:
    command = (
        "git",
        "-C",
        str(checkout),
        "describe",
        "--always",
        "--dirty",
        f"--abbrev={_DIGITS}",
        "--exclude=*",
    )
    try:
        described = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):  # no git
        return None
    return described.stdout.strip() or None
