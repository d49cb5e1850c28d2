"""What `answerback doctor` finds out about a chat platform: one finding a thing, each failure with how to fix it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime

from answerback.core.errors import PlatformError
from answerback.ports.plugin import Finding


class FindingFactory:
    """Makes the findings about one platform."""

    def __init__(self, platform: str) -> None:
        self._platform = platform

    def ok(self, what: str) -> Finding:
        """All is well."""
        return Finding(f"{self._platform}: {what}")

    def problem(self, what: str, wrong: str, fix: str) -> Finding:
        """Something is wrong."""
        return Finding(f"{self._platform}: {what}", wrong, fix)

    def call_failed(self, what: str, error: PlatformError) -> Finding:
        """The platform refused a call: its words are what is wrong, and behind a colon what to do."""
        wrong, _, fix = str(error).partition(": ")
        fix = fix[:1].upper() + fix[1:] if fix else "Try again in a minute."
        return self.problem(what, wrong, fix)

    async def check_call(self, what: str, call: Callable[[], Awaitable[object]]) -> Finding:
        """Whether a call works."""
        try:
            await call()
        except PlatformError as error:
            return self.call_failed(what, error)
        return self.ok(what)

    def check_clock(self, date: str | None, window: float) -> Finding:
        """Whether this machine's clock is near the platform's.

        Args:
            date: the ``Date`` of one of its answers, if it sent any.
            window: seconds by which a signed request may be off before it is refused.
        """
        off = 0.0 if date is None else abs(parsedate_to_datetime(date).timestamp() - time.time())
        if off < window / 5:
            return self.ok("clock")
        return self.problem(
            "clock",
            f"this machine's clock is {off:.0f} s away from {self._platform}'s",
            f"Set it by NTP; from {window / 60:.0f} minutes on, every click would be refused.",
        )

    def no_public_url(self, what: str, fix: str) -> Finding:
        """Clicks are to come by HTTP, and nothing says where the platform reaches us."""
        words = (
            f"public.url is not set, so nobody can say which address {self._platform} has to call"
        )
        return self.problem(what, words, fix)
