"""Look up which roles a person has in any server, for people who act in direct messages.

For somebody who acts in a server, Discord sends their roles along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from answerback.core.errors import (
    DestinationGoneError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
)
from answerback_chat.coalesced_lookups import CoalescedLookups
from answerback_discord.api_client import DiscordApi
from answerback_discord.errors import ErrorCode, has_code

_WAIT_TIMEOUT: Final = 2.0
"""Seconds that a click waits for the person's roles; Discord waits 3 for the response."""
_MAX_CONCURRENT: Final = 10
_LOOKUP_TIMEOUT: Final = 30.0
_CACHE_SECONDS: Final = 30.0
"""Seconds for which roles are remembered, so that they are known when a person tries again as asked."""


class RoleMembership:
    """Looks up all roles of a person together, with one lookup for all callers that wait for it."""

    def __init__(self, calls: DiscordApi) -> None:
        self._calls = calls
        self._lookups = CoalescedLookups("discord roles of", self._look_up, self._cache_seconds)

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        """Return which of these roles the person has; a server's own id is its role @everyone.

        Raises:
            PlatformError: the lookup did not finish in time. It continues, ready for when the person tries again.
        """
        try:
            async with asyncio.timeout(_WAIT_TIMEOUT):
                found, error = await self._lookups.get(user_id)
        except TimeoutError as late:
            raise PlatformUnavailableError(
                f"Discord did not return the roles of {user_id} in time."
            ) from late
        if error is not None and not groups & found:
            raise error
        return groups & found

    async def require_reachable_responders(self, responders: Sequence[str], guild: str) -> None:
        """Refuse an ask whose responders are all roles that the server does not have.

        Raises:
            DestinationGoneError: nobody could answer; the message says why.
        """
        if any(not who.startswith("@") for who in responders):
            return
        try:
            async with asyncio.timeout(_WAIT_TIMEOUT):
                listed = await self._calls.get(f"/guilds/{guild}/roles")
        except (PlatformError, TimeoutError):
            return  # roles are looked up again when somebody acts
        roles = listed if isinstance(listed, list) else []
        known = {f"@{role.get('id')}" for role in roles if isinstance(role, dict)}
        if known.isdisjoint(responders):
            names = ", ".join(who[1:] for who in responders)
            raise DestinationGoneError(
                f"nobody could answer: the server has no role {names}", code="no_responders"
            )

    async def stop(self) -> None:
        """Cancel the lookups in progress."""
        await self._lookups.stop()

    @staticmethod
    def _cache_seconds(task: asyncio.Task[tuple[frozenset[str], PlatformError | None]]) -> float:
        failed = task.exception() is not None or task.result()[1] is not None
        return 0.0 if failed else _CACHE_SECONDS

    async def _look_up(self, user_id: str) -> tuple[frozenset[str], PlatformError | None]:
        """Return the roles that were found, and the error, if any, that kept the list from being complete."""
        found: set[str] = set()
        slots = asyncio.Semaphore(_MAX_CONCURRENT)

        async def look_in(guild: str) -> None:
            async with slots:
                found.update(await self._roles_in(guild, user_id))

        try:
            async with asyncio.timeout(_LOOKUP_TIMEOUT):
                guilds = await self._get("/users/@me/guilds")
                listed = guilds if isinstance(guilds, list) else []
                lookups = [
                    look_in(str(each.get("id"))) for each in listed if isinstance(each, dict)
                ]
                results = await asyncio.gather(*lookups, return_exceptions=True)
        except TimeoutError:
            late = PlatformUnavailableError(
                f"Discord did not return the roles of {user_id} within {_LOOKUP_TIMEOUT:.0f} s."
            )
            return frozenset(found), late
        except PlatformError as error:
            return frozenset(), error
        for failure in results:
            if isinstance(failure, BaseException) and not isinstance(failure, PlatformError):
                raise failure
        errors = (failure for failure in results if isinstance(failure, PlatformError))
        return frozenset(found), next(errors, None)

    async def _roles_in(self, guild: str, user_id: str) -> frozenset[str]:
        try:
            member = await self._get(f"/guilds/{guild}/members/{user_id}")
        except PlatformError as error:
            if has_code(error, ErrorCode.UNKNOWN_MEMBER, ErrorCode.UNKNOWN_USER):
                return frozenset()
            raise
        roles = member.get("roles") if isinstance(member, dict) else None
        listed = roles if isinstance(roles, list) else []
        return frozenset({guild, *map(str, listed)})

    async def _get(self, path: str) -> object:
        while True:
            try:
                return await self._calls.get(path)
            except RateLimitedError as error:
                await asyncio.sleep(error.retry_after)
