"""Look up whether a person has a role now, for people who act in direct messages.

When a member acts in a server, Discord sends their roles along. Which server a role belongs to never changes and is
remembered; who has it is looked up whenever a person acts or reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.core.errors import (
    DestinationGoneError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
)
from answerback_chat.coalesced_lookups import CoalescedLookups
from answerback_chat.control_codec import object_of, objects_of, texts_of
from answerback_discord.api_client import DiscordApi
from answerback_discord.errors import ErrorCode, has_code
from answerback_discord.parse import is_id

_MAX_CONCURRENT: Final = 10
LOOKUP_TIMEOUT: Final = 30.0


class RoleMembership:
    """Looks up the roles of a person in the servers of the roles that matter.

    Args:
        timeout: the seconds that a click waits for them; Discord waits 3 for the response.
    """

    def __init__(self, calls: DiscordApi, timeout: float) -> None:
        self._calls, self._timeout = calls, timeout
        self._server_of: dict[str, str] = {}
        """The server of each role; a server's own id is its role @everyone."""
        self._lookups = CoalescedLookups("discord", self._find_servers, lambda _task: 0.0)

    async def groups_of_user(self, user_id: str, groups: frozenset[str]) -> frozenset[str]:
        """Return which of these roles the person has now; a server's own id is its role @everyone.

        Raises:
            PlatformError: the lookup failed or did not finish in time. Finding the servers of the roles continues,
                for when the person tries again.
        """
        try:
            async with asyncio.timeout(self._timeout):
                unfound = (
                    None if groups <= self._server_of.keys() else await self._lookups.get("roles")
                )
                servers = {self._server_of[role] for role in groups if role in self._server_of}
                found, failed = await _gather(
                    lambda server: self._roles_in(server, user_id), servers
                )
        except TimeoutError as late:
            raise PlatformUnavailableError(
                f"Discord did not return the roles of {user_id} in time."
            ) from late
        roles = groups & found
        if not roles and (error := failed or unfound) is not None:
            raise error
        return roles

    async def find_person(self, user_id: str, ask: Ask) -> str | None:
        """Return the name of a member of the server where an ask is shown or, for a direct message, of any of ours."""
        if not is_id(user_id):
            return None
        try:
            async with asyncio.timeout(self._timeout):
                for guild in await self._servers_for(ask):
                    if (member := await self._member(guild, user_id)) is not None:
                        user = object_of(member.get("user"))
                        names = (member.get("nick"), user.get("global_name"), user.get("username"))
                        return None if user.get("bot") else str(next(filter(None, names), user_id))
        except TimeoutError as late:
            raise PlatformUnavailableError(
                f"Discord did not say in time who {user_id} is."
            ) from late
        return None

    async def _servers_for(self, ask: Ask) -> Sequence[str]:
        guild = (ask.placement.message or {}).get("guild")
        if isinstance(guild, str) and ask.placement.destination.user is None:
            return [guild]
        return [str(each.get("id")) for each in objects_of(await self._get("/users/@me/guilds"))]

    async def require_reachable_responders(self, responders: Sequence[str], guild: str) -> None:
        """Refuse an ask whose responders are all roles that the server does not have.

        Raises:
            DestinationGoneError: nobody could answer; the message says why.
        """
        if any(not who.startswith("@") for who in responders):
            return
        try:
            async with asyncio.timeout(self._timeout):
                known = await self._roles_of(guild)
        except (PlatformError, TimeoutError):
            return  # roles are looked up again when a member acts
        if known.isdisjoint(who[1:] for who in responders):
            names = ", ".join(who[1:] for who in responders)
            raise DestinationGoneError(
                f"nobody could answer: the server has no role {names}", code="no_responders"
            )

    async def stop(self) -> None:
        await self._lookups.stop()

    async def _find_servers(self, _key: str) -> PlatformError | None:
        """Find the servers of all roles; return the error, if any, that kept the list from being complete."""
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT):
                guilds = objects_of(await self._get("/users/@me/guilds"))
                _, failed = await _gather(self._roles_of, [str(each.get("id")) for each in guilds])
        except TimeoutError:
            return PlatformUnavailableError(
                f"Discord did not return the roles of all servers within {LOOKUP_TIMEOUT:.0f} s."
            )
        except PlatformError as error:
            return error
        return failed

    async def _roles_of(self, guild: str) -> frozenset[str]:
        roles = objects_of(await self._get(f"/guilds/{guild}/roles"))
        found = frozenset(str(role.get("id")) for role in roles)
        self._server_of |= dict.fromkeys(found, guild)
        return found

    async def _roles_in(self, guild: str, user_id: str) -> frozenset[str]:
        member = await self._member(guild, user_id)
        return frozenset() if member is None else frozenset({guild, *texts_of(member.get("roles"))})

    async def _member(self, guild: str, user_id: str) -> Mapping[str, object] | None:
        try:
            return object_of(await self._get(f"/guilds/{guild}/members/{user_id}"))
        except PlatformError as error:
            # The form is invalid if the id is larger than any can be.
            if has_code(
                error, ErrorCode.UNKNOWN_MEMBER, ErrorCode.UNKNOWN_USER, ErrorCode.INVALID_FORM
            ):
                return None
            raise

    async def _get(self, path: str) -> object:
        while True:
            try:
                return await self._calls.get(path)
            except RateLimitedError as error:
                await asyncio.sleep(error.retry_after)


async def _gather(
    look_up: Callable[[str], Awaitable[frozenset[str]]], servers: Iterable[str]
) -> tuple[frozenset[str], PlatformError | None]:
    """Look roles up in several servers, a few at a time; return all that were found, and the first error."""
    slots = asyncio.Semaphore(_MAX_CONCURRENT)

    async def look_in(server: str) -> frozenset[str] | PlatformError:
        async with slots:
            try:
                return await look_up(server)
            except PlatformError as error:
                return error

    results = await asyncio.gather(*map(look_in, servers))
    found: set[str] = set()
    failed: PlatformError | None = None
    for result in results:
        if isinstance(result, PlatformError):
            failed = failed or result
        else:
            found |= result
    return frozenset(found), failed
