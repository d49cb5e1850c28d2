"""Findings of `answerback doctor` about a chat platform: one per check, each failure with how to fix it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime

from answerback.core.errors import PlatformError
from answerback.ports.plugin import Finding


class FindingFactory:
    """Creates the findings about one platform."""

    def __init__(self, platform: str) -> None:
        self._platform = platform

    def ok(self, what: str) -> Finding:
        return Finding(f"{self._platform}: {what}")

    def problem(self, what: str, wrong: str, fix: str, *, warning: bool = False) -> Finding:
        return Finding(f"{self._platform}: {what}", wrong, fix, warning)

    def call_failed(self, what: str, error: PlatformError, *, warning: bool = False) -> Finding:
        """Report a failed call: the error's message says what is wrong and, after a colon, how to fix it."""
        wrong, _, fix = str(error).partition(": ")
        fix = fix[:1].upper() + fix[1:] if fix else "Try again in a minute."
        return self.problem(what, wrong, fix, warning=warning)

    async def check_call(self, what: str, call: Callable[[], Awaitable[object]]) -> Finding:
        try:
            await call()
        except PlatformError as error:
            return self.call_failed(what, error)
        return self.ok(what)

    def check_clock(self, date: str | None, window: float) -> Finding:
        """Check whether this machine's clock agrees with the platform's.

        Args:
            date: the ``Date`` header of one of its responses, if any.
            window: seconds by which a signed request may be off before it is rejected.
        """
        off = 0.0 if date is None else abs(parsedate_to_datetime(date).timestamp() - time.time())
        if off < window / 5:
            return self.ok("clock")
        return self.problem(
            "clock",
            f"this machine's clock differs from {self._platform}'s by {off:.0f} s",
            f"Synchronise it with NTP; once it is off by {window / 60:.0f} minutes, every click is rejected.",
        )

    def no_public_url(self, what: str, fix: str) -> Finding:
        """Report that clicks are to arrive by HTTP, but no public URL is set for the platform to call."""
        message = f"public.url is not set, so the address for {self._platform} to call is unknown"
        return self.problem(what, message, fix)
