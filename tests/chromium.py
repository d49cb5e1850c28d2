"""The browser that the tests and the docs' screenshots use, and how to start it."""

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
"""Nothing in the background, and as few processes as possible.

A key scrolls instantly, because Chromium may lose the next key in mid-scroll.
"""


def find_chromium() -> str | None:
    """Return the path of Debian's Chromium: its headless shell, which needs half the CPU time, or the full browser.

    https://developer.chrome.com/blog/chrome-headless-shell
    """
    return shutil.which("chromium-headless-shell") or find_full_chromium()


def find_full_chromium() -> str | None:
    """Return the path of Debian's full Chromium: its headless shell registers no service workers."""
    return shutil.which("chromium")
