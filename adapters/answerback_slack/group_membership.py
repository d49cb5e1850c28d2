"""The members of Slack's user groups: looked up, cached for minutes, refreshed in the background before they expire."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from answerback.core.errors import (
    DestinationGoneError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback_chat.coalesced_lookups import CoalescedLookups
from answerback_slack.api_client import SlackApi

logger = logging.getLogger(__name__)

REFRESH_AFTER_SECONDS: Final = 240.0
"""The age at which members are looked up again in the background, while the old ones still count."""
EXPIRE_AFTER_SECONDS: Final = 600.0
"""The age at which members no longer count, unless the lookup fails."""

LOOKUP_TIMEOUT_SECONDS: Final = 1.5
"""How long a person's action waits for their groups: Slack waits 3 s for the acknowledgement."""


@dataclass(frozen=True, slots=True)
class _Members:
    users: frozenset[str]
    at: float


class GroupMembership:
    """The members of user groups (``S…``)."""

    def __init__(self, calls: SlackApi) -> None:
        self._calls = calls
        self._cache: dict[str, _Members] = {}
        self._lookups = CoalescedLookups("slack group", self._fetch, self._log_failure)

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        """Return those of these groups that a person is in, as far as their members are known in time.

        Raises:
            PlatformError: the person is in none of the known groups, and others are not known. Their lookup
                continues, for when the person tries again.
        """
        tasks = {asyncio.create_task(self.members(group)): group for group in groups}
        done, late = await asyncio.wait(tasks, timeout=LOOKUP_TIMEOUT_SECONDS)
        for task in late:
            task.cancel()
        failures = [error for task in done if (error := task.exception()) is not None]
        known = {tasks[task]: task.result() for task in done if task.exception() is None}
        matching = frozenset(group for group, users in known.items() if user_id in users)
        if matching or len(known) == len(groups):
            return matching
        if late:
            message = "Slack did not return the members of a user group in time"
            raise PlatformUnavailableError(message, code="timeout")
        # A temporary failure takes precedence over a permanent one.
        temporary = (
            e for e in failures if isinstance(e, (RateLimitedError, PlatformUnavailableError))
        )
        raise next(temporary, failures[0])

    async def members(self, group: str) -> frozenset[str]:
        """Return the user ids of a group's members.

        Raises:
            PlatformError: they are not cached, and the lookup failed.
        """
        known = self._cache.get(group)
        age = time.monotonic() - known.at if known else EXPIRE_AFTER_SECONDS
        if known and age < EXPIRE_AFTER_SECONDS:
            if age > REFRESH_AFTER_SECONDS:
                self.refresh(group)
            return known.users
        try:
            return await self._lookups.get(group)
        except PlatformError:
            if known is None:
                raise
            return known.users

    def refresh(self, group: str) -> None:
        """Look a group up in the background, unless its cached members are recent."""
        known = self._cache.get(group)
        if known is None or time.monotonic() - known.at > REFRESH_AFTER_SECONDS:
            _ = self._lookups.start(group)

    async def reload_has_members(self, group: str, *, disabled: bool) -> bool:
        """Drop the cached members of a group that has changed; return whether anybody is, or may be, in it now.

        A group that is not cached is not looked up, and counts as having members unless it was disabled.
        """
        known = self._cache.pop(group, None)
        if disabled:
            self._cache[group] = _Members(frozenset(), time.monotonic())
            return False
        if known is None:
            return True
        try:
            return bool(await self._lookups.get(group))
        except PlatformError as error:
            return not isinstance(error, (DestinationGoneError, UnauthorizedError))

    async def require_reachable_responders(self, responders: Sequence[str]) -> None:
        """Reject responders if it is certain that nobody can answer: all are groups that do not exist or are empty.

        Raises:
            DestinationGoneError: nobody could answer; the message says why.
        """
        reasons: list[str] = []
        if any(not who.startswith("@") for who in responders):
            return
        for group in (who[1:] for who in responders):
            try:
                async with asyncio.timeout(LOOKUP_TIMEOUT_SECONDS):
                    if await self.members(group):
                        return
                reasons.append(f"the user group {group} has no members or is disabled")
            except (DestinationGoneError, UnauthorizedError) as error:
                reasons.append(f"the user group {group}: {error}")
            except (PlatformError, TimeoutError):
                return  # its members will be known later
        raise DestinationGoneError(
            f"nobody could answer: {'; '.join(reasons)}", code="no_responders"
        )

    async def stop(self) -> None:
        """Cancel running lookups."""
        await self._lookups.stop()

    @staticmethod
    def _log_failure(task: asyncio.Task[frozenset[str]]) -> float:
        if (error := task.exception()) is not None:
            extra = {"action": "group_unknown", "code": getattr(error, "code", None)}
            logger.warning("A user group could not be looked up: %s", error, extra=extra)
        return 0.0

    async def _fetch(self, group: str) -> frozenset[str]:
        answer = await self._calls.call(
            "usergroups.users.list",
            lambda: self._calls.client.usergroups_users_list(usergroup=group),
        )
        users = answer.get("users")
        members = frozenset(str(user) for user in users) if isinstance(users, list) else frozenset()
        self._cache[group] = _Members(members, time.monotonic())
        return members
