"""Define, look up and register Answerback's slash command.

It is a global command, available in direct messages and in every server that adds the app later. Only this command is
created or changed; other commands of the same application are left alone.
https://docs.discord.com/developers/interactions/application-commands
"""

from __future__ import annotations

import logging
from typing import Final

from pydantic import JsonValue

from answerback.core.errors import PlatformError
from answerback.core.labels import Labels
from answerback_chat.retry import retry
from answerback_discord import limits
from answerback_discord.api_client import DiscordApi
from answerback_discord.components import Json
from answerback_discord.markdown_text import fit_line
from answerback_discord.parse import INBOX

logger = logging.getLogger(__name__)

_CONTEXT_GUILD, _CONTEXT_BOT_DM = 0, 1
"""Contexts: https://docs.discord.com/developers/interactions/application-commands#interaction-contexts"""
_CHAT_INPUT: Final = 1
_GUILD_INSTALL: Final = 0


def command_definition(labels: Labels) -> Json:
    """Return the command's definition for Discord."""
    return {
        "name": INBOX,
        "description": fit_line(labels.inbox_command, limits.COMMAND_DESCRIPTION),
        "type": _CHAT_INPUT,
        "contexts": [_CONTEXT_GUILD, _CONTEXT_BOT_DM],
        "integration_types": [_GUILD_INSTALL],
    }


async def fetch_command(calls: DiscordApi, application_id: str) -> Json | None:
    """Return the command as registered with Discord, or None if it is not.

    Raises:
        PlatformError: the lookup failed.
    """
    listed = await calls.get(_route(application_id))
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict) and (each.get("name"), each.get("type", 1)) == (INBOX, 1):
            return each
    return None


async def register(calls: DiscordApi, labels: Labels, application_id: str) -> None:
    """Register the command with Discord, unless its registration is already up to date.

    Raises:
        PlatformError: Discord did not accept it.
    """
    wanted = command_definition(labels)
    current = await fetch_command(calls, application_id)
    if current is None or not all(
        _is_equal(current.get(key), value) for key, value in wanted.items()
    ):
        # Creating a command under an existing name replaces the old one:
        # https://docs.discord.com/developers/interactions/application-commands#create-global-application-command
        await calls.request("POST", _route(application_id), wanted)


async def register_with_retry(calls: DiscordApi, labels: Labels) -> None:
    """Call `register`, with a few retries; if it fails, asking and answering work all the same."""

    async def attempt() -> None:
        application = await calls.get("/applications/@me")
        if isinstance(application, dict):
            await register(calls, labels, str(application.get("id")))

    try:
        await retry(attempt)
    except PlatformError as error:
        extra = {"action": "command_unregistered", "code": error.code}
        logger.warning(
            "The command /%s could not be registered; the next start tries again: %s",
            INBOX,
            error,
            extra=extra,
        )


def _is_equal(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values are equal; the order of lists does not matter."""
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(str, one)) == sorted(map(str, other))
    return one == other


def _route(application_id: str) -> str:
    return f"/applications/{application_id}/commands"
