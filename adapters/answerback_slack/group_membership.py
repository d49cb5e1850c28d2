"""Who is in which Slack user group: looked up, kept for minutes, refreshed in the background before it is too old."""

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
from answerback_chat.shared_lookups import SharedLookups
from answerback_slack.api_client import SlackApi

logger = logging.getLogger(__name__)

REFRESH_AFTER_SECONDS: Final = 240.0
"""Older members are looked up again in the background, while they still count."""
EXPIRE_AFTER_SECONDS: Final = 600.0
"""Still older ones count no more, unless Slack cannot be asked."""

LOOKUP_TIMEOUT_SECONDS: Final = 1.5
"""How long a person who acts waits for their groups: Slack waits 3 s for the acknowledgement."""


@dataclass(frozen=True, slots=True)
class _Members:
    users: frozenset[str]
    at: float


class GroupMembership:
    """The members of user groups (``S…``)."""

    def __init__(self, calls: SlackApi) -> None:
        self._calls = calls
        self._known: dict[str, _Members] = {}
        self._asking = SharedLookups("slack group", self._fetch, self._fetched)

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        """Which of these groups a person is in, of those whose members are known in time.

        Raises:
            PlatformError: the person is in none of those, and others are not known; looking goes on,
                for when they try again.
        """
        asking = {asyncio.create_task(self.members(group)): group for group in groups}
        told, late = await asyncio.wait(asking, timeout=LOOKUP_TIMEOUT_SECONDS)
        for task in late:
            task.cancel()
        failures = [error for task in told if (error := task.exception()) is not None]
        known = {asking[task]: task.result() for task in told if task.exception() is None}
        found = frozenset(group for group, users in known.items() if user_id in users)
        if found or len(known) == len(groups):
            return found
        if late:
            message = "Slack did not tell in time who is in a user group"
            raise PlatformUnavailableError(message, code="timeout")
        # What may soon be known comes before what never will.
        passing = (
            e for e in failures if isinstance(e, (RateLimitedError, PlatformUnavailableError))
        )
        raise next(passing, failures[0])

    async def members(self, group: str) -> frozenset[str]:
        """The ids of a group's people.

        Raises:
            PlatformError: they are not known, and Slack does not tell.
        """
        known = self._known.get(group)
        age = time.monotonic() - known.at if known else EXPIRE_AFTER_SECONDS
        if known and age < EXPIRE_AFTER_SECONDS:
            if age > REFRESH_AFTER_SECONDS:
                self.refresh(group)
            return known.users
        try:
            return await self._asking.get(group)
        except PlatformError:
            if known is None:
                raise
            return known.users

    def refresh(self, group: str) -> None:
        """Looks a group up in the background, unless it is known well enough."""
        known = self._known.get(group)
        if known is None or time.monotonic() - known.at > REFRESH_AFTER_SECONDS:
            _ = self._asking.start(group)

    async def reload_has_members(self, group: str, *, disabled: bool) -> bool:
        """Forgets a group's people, because they have changed; whether anybody is, or may be, in it now.

        A group that nobody has asked about is not looked up, unless it was disabled.
        """
        known = self._known.pop(group, None)
        if disabled:
            self._known[group] = _Members(frozenset(), time.monotonic())
            return False
        if known is None:
            return True
        try:
            return bool(await self._asking.get(group))
        except PlatformError as error:
            return not isinstance(error, (DestinationGoneError, UnauthorizedError))

    async def require_reachable_responders(self, responders: Sequence[str]) -> None:
        """Refuses responders of whom it is certain that they are nobody: groups that do not exist, or have no members.

        Raises:
            DestinationGoneError: nobody could answer, in words that say why.
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
                return  # who is in it will be known later
        raise DestinationGoneError(
            f"nobody could answer: {'; '.join(reasons)}", code="no_responders"
        )

    async def stop(self) -> None:
        """Gives up what is being looked up."""
        await self._asking.stop()

    @staticmethod
    def _fetched(task: asyncio.Task[frozenset[str]]) -> float:
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
        found = frozenset(str(user) for user in users) if isinstance(users, list) else frozenset()
        self._known[group] = _Members(found, time.monotonic())
        return found
