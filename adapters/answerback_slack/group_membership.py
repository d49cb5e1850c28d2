"""The members of Slack's user groups.

Whether a person may act or read is decided by a lookup that starts when they do. What was looked up within the last
minute only decides what is worth doing: offering a button, updating the Home of a member, posting an ask.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from answerback.core.ask import Ask
from answerback.core.errors import (
    DestinationGoneError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback_chat.coalesced_lookups import CoalescedLookups
from answerback_chat.control_codec import list_of, object_of
from answerback_slack.api_client import SlackApi
from answerback_slack.people_text import shown_name

logger = logging.getLogger(__name__)

_NOBODY: Final = frozenset({"user_not_found", "user_not_visible"})
"""The errors of https://docs.slack.dev/reference/methods/users.info that say that nobody has an id."""
_SLACKBOT: Final = "USLACKBOT"
"""Slackbot, which does not count as a bot: https://docs.slack.dev/reference/objects/user-object."""
RECENT_SECONDS: Final = 60.0
"""The age up to which members are recent. Slack allows some 20 lookups a minute."""


@dataclass(frozen=True, slots=True)
class _Members:
    users: frozenset[str]
    at: float


class GroupMembership:
    """The members of user groups (``S…``), for which an action or a message waits up to ``timeout`` seconds."""

    def __init__(self, calls: SlackApi, timeout: float) -> None:
        self._calls, self._timeout = calls, timeout
        self._recent: dict[str, _Members] = {}
        self._lookups = CoalescedLookups("slack group", self._fetch, self._log_failure)

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        """Return those of these groups that a person is in now, as far as their members are known in time.

        Raises:
            PlatformError: the person is in none of the known groups, and others are not known.
        """
        tasks = {asyncio.create_task(self._lookups.get_fresh(group)): group for group in groups}
        done, late = await asyncio.wait(tasks, timeout=self._timeout)
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

    async def find_person(self, user_id: str, ask: Ask) -> str | None:
        """Return the name of a person in the workspace, whether or not they are in the ask's channel."""
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._calls.call(self._calls.client.users_info, user=user_id)
        except TimeoutError as late:
            message = f"Slack did not say in time who {user_id} is"
            raise PlatformUnavailableError(message, code="timeout") from late
        except PlatformError as error:
            if error.code in _NOBODY:
                return None
            raise
        user = object_of(answer.get("user"))
        if user.get("deleted") or user.get("is_bot") or user_id == _SLACKBOT:
            return None
        return shown_name(user) or user_id

    async def recent_members(self, group: str) -> frozenset[str]:
        """Return the user ids of a group's members, which may be a minute old: nobody may act because of them.

        Raises:
            PlatformError: there are no recent ones, and the lookup failed.
        """
        recent = self._recent_members(group)
        return await self._lookups.get(group) if recent is None else recent

    def with_recent_groups(self, person: Person) -> Actor:
        """Return a person with what is known of their groups without a lookup."""
        members = {group: self._recent_members(group) for group in [*self._recent]}
        known = {group: users for group, users in members.items() if users is not None}
        groups = frozenset(group for group, users in known.items() if person.user_id in users)
        return Actor(person, groups, frozenset(known))

    def forget_recent(self) -> None:
        """Look all groups up again when they are needed next."""
        self._recent.clear()

    def _recent_members(self, group: str) -> frozenset[str] | None:
        recent = self._recent.get(group)
        is_recent = recent is not None and time.monotonic() - recent.at < RECENT_SECONDS
        return recent.users if recent is not None and is_recent else None

    async def reload_has_members(self, group: str, *, disabled: bool) -> bool:
        """Forget the members of a group that has changed; return whether it has, or may have, members now.

        A group that was never looked up is not looked up now, and counts as having members unless it was disabled.
        """
        known = self._recent.pop(group, None)
        if disabled:
            self._recent[group] = _Members(frozenset(), time.monotonic())
            return False
        if known is None:
            return True
        try:
            return bool(await self._lookups.get_fresh(group))
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
                async with asyncio.timeout(self._timeout):
                    if await self.recent_members(group):
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
        await self._lookups.stop()

    @staticmethod
    def _log_failure(task: asyncio.Task[frozenset[str]]) -> float:
        if (error := task.exception()) is not None:
            extra = {"action": "group_unknown", "code": getattr(error, "code", None)}
            logger.warning("A user group could not be looked up: %s", error, extra=extra)
        return 0.0

    async def _fetch(self, group: str) -> frozenset[str]:
        answer = await self._calls.call(self._calls.client.usergroups_users_list, usergroup=group)
        members = frozenset(map(str, list_of(answer.get("users"))))
        self._recent[group] = _Members(members, time.monotonic())
        return members
