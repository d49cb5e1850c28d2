"""Which browser the tests and the pictures of the docs use, and how it is started."""

from __future__ import annotations

import shutil
from typing import Final

ARGUMENTS: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-smooth-scrolling",
    "--renderer-process-limit=1",
]
"""Nothing in the background, and as few processes as can be; a key scrolls at once: in mid-scroll, Chromium may lose
the next one."""


def find_chromium() -> str | None:
    """Path of Debian's Chromium: its headless shell, which needs half of the processor time, or the whole browser.

    https://developer.chrome.com/blog/chrome-headless-shell
    """
    return shutil.which("chromium-headless-shell") or shutil.which("chromium")
