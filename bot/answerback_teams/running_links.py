"""The links between accounts in a running service, kept up to date, and the command in chats."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from answerback.ports.commands import Command
from answerback.ports.extension import Running, ServiceParts
from answerback_teams.account_links import AccountLinks


class RunningLinks(Running):
    """The links of a running service."""

    def __init__(self, parts: ServiceParts) -> None:
        self.holders = parts.holders
        self.links = AccountLinks(
            parts.store,
            parts.clock,
            parts.people,
            parts.configured.labels,
            self._credentials,
            parts.signed_in_by,
        )

    async def _credentials(self) -> dict[str, str]:
        valid = await self.holders()
        return {each.person.user_id: each.key_hash for each in valid if not each.is_operator}

    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {"account links": self.links.run}

    def commands(self) -> Sequence[Command]:
        return (self.links.command,)

    def for_page(self, surface: str) -> object | None:
        if surface != "web":
            return None
        from answerback_teams.account_pages import AccountPages

        return AccountPages(self.links)
