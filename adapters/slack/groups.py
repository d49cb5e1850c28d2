"""Who is in which Slack user group: looked up, kept for minutes, refreshed in the background before it is too old."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Final

from adapters.slack.calls import Calls
from bot.errors import PlatformError

logger = logging.getLogger(__name__)

FRESH_SECONDS: Final = 240.0
"""Older members are looked up again in the background, while they still count."""
OLD_SECONDS: Final = 600.0
"""Still older ones count no more, unless Slack cannot be asked."""


@dataclass(frozen=True, slots=True)
class _Members:
    users: frozenset[str]
    at: float


class Groups:
    """The members of user groups (``S…``)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._known: dict[str, _Members] = {}
        self._asking: dict[str, asyncio.Task[frozenset[str]]] = {}

    async def members(self, group: str) -> frozenset[str]:
        """The ids of a group's people.

        Raises:
            PlatformError: they are not known, and Slack does not tell.
        """
        known = self._known.get(group)
        age = time.monotonic() - known.at if known else OLD_SECONDS
        if known and age < OLD_SECONDS:
            if age > FRESH_SECONDS:
                self.refresh(group)
            return known.users
        try:
            return await asyncio.shield(self._ask(group))
        except PlatformError:
            if known is None:
                raise
            return known.users

    def refresh(self, group: str) -> None:
        """Looks a group up in the background, unless it is known well enough."""
        known = self._known.get(group)
        if known is None or time.monotonic() - known.at > FRESH_SECONDS:
            _ = self._ask(group)

    async def stop(self) -> None:
        """Gives up what is being looked up."""
        for task in self._asking.values():
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    def _ask(self, group: str) -> asyncio.Task[frozenset[str]]:
        task = self._asking.get(group)
        if task is None:
            task = asyncio.create_task(self._fetch(group), name=f"slack group {group}")
            self._asking[group] = task
            task.add_done_callback(lambda done: self._fetched(group, done))
        return task

    def _fetched(self, group: str, done: asyncio.Task[frozenset[str]]) -> None:
        self._asking.pop(group, None)
        if not done.cancelled() and (error := done.exception()) is not None:
            extra = {"action": "group_unknown", "code": getattr(error, "code", None)}
            logger.warning("A user group could not be looked up: %s", error, extra=extra)

    async def _fetch(self, group: str) -> frozenset[str]:
        answer = await self._calls.do(
            "usergroups.users.list",
            lambda: self._calls.client.usergroups_users_list(usergroup=group),
        )
        users = answer.get("users")
        found = frozenset(str(user) for user in users) if isinstance(users, list) else frozenset()
        self._known[group] = _Members(found, time.monotonic())
        return found
