"""Which roles a person has, in whatever server: looked up where somebody acts outside of one, in direct messages.

Wherever they act in a server, Discord tells their roles itself.
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
from answerback_chat.shared_lookups import SharedLookups
from answerback_discord.api_client import DiscordApi
from answerback_discord.errors import ErrorCode, has_code

_WITHIN: Final = 2.0
"""Seconds that a click waits for its person's roles: Discord waits 3 for the answer."""
_AT_ONCE: Final = 10
_LONGEST: Final = 30.0
_KEPT: Final = 30.0
"""Seconds for which roles are remembered, so that who was told to try again finds them known."""


class RoleMembership:
    """Looks roles up, a person's all together and one time only for all who wait."""

    def __init__(self, calls: DiscordApi) -> None:
        self._calls = calls
        self._asking = SharedLookups("discord roles of", self._look, self._looked)

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        """Which of these roles the person has; a server's own id is its role @everyone.

        Raises:
            PlatformError: it cannot be found out in time; looking goes on, for when they try again.
        """
        try:
            async with asyncio.timeout(_WITHIN):
                found, error = await self._asking.get(user_id)
        except TimeoutError as late:
            raise PlatformUnavailableError(
                f"Discord did not tell in time who {user_id} is."
            ) from late
        if error is not None and not groups & found:
            raise error
        return groups & found

    async def require_reachable_responders(self, responders: Sequence[str], guild: str) -> None:
        """Refuses responders of whom it is certain that they are nobody: roles that a server does not have.

        Raises:
            DestinationGoneError: nobody could answer, in words that say why.
        """
        if any(not who.startswith("@") for who in responders):
            return
        try:
            async with asyncio.timeout(_WITHIN):
                listed = await self._calls.get(f"/guilds/{guild}/roles")
        except (PlatformError, TimeoutError):
            return  # who has them is asked when somebody acts
        roles = listed if isinstance(listed, list) else []
        known = {f"@{role.get('id')}" for role in roles if isinstance(role, dict)}
        if known.isdisjoint(responders):
            names = ", ".join(who[1:] for who in responders)
            raise DestinationGoneError(
                f"nobody could answer: the server has no role {names}", code="no_responders"
            )

    async def stop(self) -> None:
        """Gives up what is being looked up."""
        await self._asking.stop()

    @staticmethod
    def _looked(task: asyncio.Task[tuple[frozenset[str], PlatformError | None]]) -> float:
        failed = task.exception() is not None or task.result()[1] is not None
        return 0.0 if failed else _KEPT

    async def _look(self, user_id: str) -> tuple[frozenset[str], PlatformError | None]:
        """What is found, and what kept it from being all."""
        found: set[str] = set()
        few = asyncio.Semaphore(_AT_ONCE)

        async def look_in(guild: str) -> None:
            async with few:
                found.update(await self._roles_in(guild, user_id))

        try:
            async with asyncio.timeout(_LONGEST):
                guilds = await self._get("/users/@me/guilds")
                listed = guilds if isinstance(guilds, list) else []
                looks = [look_in(str(each.get("id"))) for each in listed if isinstance(each, dict)]
                ended = await asyncio.gather(*looks, return_exceptions=True)
        except TimeoutError:
            late = PlatformUnavailableError(
                f"Discord did not tell in {_LONGEST:.0f} s who {user_id} is."
            )
            return frozenset(found), late
        except PlatformError as error:
            return frozenset(), error
        for failure in ended:
            if isinstance(failure, BaseException) and not isinstance(failure, PlatformError):
                raise failure
        errors = (failure for failure in ended if isinstance(failure, PlatformError))
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
