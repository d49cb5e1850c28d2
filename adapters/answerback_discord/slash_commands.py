"""The slash command of Answerback: how Discord is to know it, whether it does, and telling it.

It is a global command: it is there in direct messages and in every server that adds the app later. Only this one is
created or changed, so that other commands of the same application stay as they are.
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

_IN_SERVERS, _WITH_THE_APP = 0, 1
"""Contexts: https://docs.discord.com/developers/interactions/application-commands#interaction-contexts"""
_CHAT_INPUT: Final = 1
_FOR_SERVERS: Final = 0


def command_definition(labels: Labels) -> Json:
    """What Discord is told of the command."""
    return {
        "name": INBOX,
        "description": fit_line(labels.inbox_command, limits.COMMAND_DESCRIPTION),
        "type": _CHAT_INPUT,
        "contexts": [_IN_SERVERS, _WITH_THE_APP],
        "integration_types": [_FOR_SERVERS],
    }


async def fetch_command(calls: DiscordApi, application_id: str) -> Json | None:
    """The command as Discord knows it; None where it does not.

    Raises:
        PlatformError: it cannot be found out.
    """
    listed = await calls.get(_route(application_id))
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, dict) and (each.get("name"), each.get("type", 1)) == (INBOX, 1):
            return each
    return None


async def register(calls: DiscordApi, labels: Labels, application_id: str) -> None:
    """Has Discord know the command as it is to be; one that it knows so already is left alone.

    Raises:
        PlatformError: Discord did not take it.
    """
    wanted = command_definition(labels)
    found = await fetch_command(calls, application_id)
    if found is None or not all(_alike(found.get(key), value) for key, value in wanted.items()):
        # Creating a command whose name is known already replaces that one:
        # https://docs.discord.com/developers/interactions/application-commands#create-global-application-command
        await calls.request("POST", _route(application_id), wanted)


async def register_with_retry(calls: DiscordApi, labels: Labels) -> None:
    """`register`, tried a few times; where it fails, people ask and answer all the same."""

    async def work() -> None:
        application = await calls.get("/applications/@me")
        if isinstance(application, dict):
            await register(calls, labels, str(application.get("id")))

    try:
        await retry(work)
    except PlatformError as error:
        extra = {"action": "command_unregistered", "code": error.code}
        logger.warning(
            "The command /%s is not registered, and is tried at the next start: %s",
            INBOX,
            error,
            extra=extra,
        )


def _alike(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values say the same; the order of what is listed says nothing."""
    if isinstance(one, list) and isinstance(other, list):
        return sorted(map(str, one)) == sorted(map(str, other))
    return one == other


def _route(application_id: str) -> str:
    return f"/applications/{application_id}/commands"
