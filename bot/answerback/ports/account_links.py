"""Where people link accounts to their pages; proved by the tests of `answerback_teams.account_links`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from answerback.core.people import CODE_SECONDS, AccountLink
from answerback.core.person import Person


class StartedLink(NamedTuple):
    """What a person has started on their page."""

    code: str
    at: float
    typed_by: Person | None = None
    agreed: bool = False
    """Whether the account's owner has confirmed it."""

    def is_valid(self, now: float) -> bool:
        """Whether there is still time; not if the clock was set back since."""
        return 0 <= now - self.at < CODE_SECONDS


@runtime_checkable
class LinkedAccounts(Protocol):
    """Starts, confirms, lists and removes links."""

    async def start(self, page: Person) -> StartedLink | None:
        """Start a link in place of the last one; None unless a personal link or a proxy says whose page it is."""

    async def started(self, page: Person) -> StartedLink | None:
        """What a person has started, if there is still time."""

    async def confirm(self, page: Person, account: str, *, mine: bool) -> bool:
        """Link the account that has confirmed the person's code, or refuse it; False if no such account has."""

    async def list_of(self, page: Person | None) -> Sequence[AccountLink]:
        """The linked accounts; with a person, only theirs."""

    async def run(self) -> None:
        """Keep the directory of people up to date with what other processes change."""

    async def remove(self, account: str, by: Person, page: Person | None) -> bool:
        """Remove a link; with ``page``, only if it is that person's. False if there is none such."""
