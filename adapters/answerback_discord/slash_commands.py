"""Define, look up and register Answerback's slash commands.

They are global commands, available in direct messages and in every server that adds the app later. Only they are
created or changed; other commands of the same application are left alone.
https://docs.discord.com/developers/interactions/application-commands
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.errors import PlatformError
from answerback.core.labels import Labels
from answerback.ports.commands import COMMAND, Command
from answerback_chat.control_codec import object_of, objects_of
from answerback_chat.retry import retry
from answerback_discord import limits
from answerback_discord.api_client import DiscordApi
from answerback_discord.command_use import INBOX
from answerback_discord.components import Json
from answerback_discord.markdown_text import fit_line

logger = logging.getLogger(__name__)

_CONTEXT_GUILD, _CONTEXT_BOT_DM = 0, 1
"""Contexts: https://docs.discord.com/developers/interactions/application-commands#interaction-contexts"""
_CHAT_INPUT: Final = 1
_SUBCOMMAND, _STRING = 1, 3
"""Options: https://docs.discord.com/developers/interactions/application-commands#application-command-object"""
_GUILD_INSTALL: Final = 0


def definitions(labels: Labels, offered: Sequence[Command] = ()) -> list[Json]:
    """Return the commands' definitions for Discord; each one offered is a subcommand of one command."""
    inbox = _definition(INBOX, labels.inbox_command)
    if not offered:
        return [inbox]
    subcommands: list[JsonValue] = [
        {"type": _SUBCOMMAND, "name": each.name, **_about(each.about), "options": _options(each)}
        for each in offered
    ]
    return [inbox, _definition(COMMAND, labels.commands) | {"options": subcommands}]


def _definition(name: str, about: str) -> Json:
    return {
        "name": name,
        **_about(about),
        "type": _CHAT_INPUT,
        "contexts": [_CONTEXT_GUILD, _CONTEXT_BOT_DM],
        "integration_types": [_GUILD_INSTALL],
    }


def _about(text: str) -> Json:
    return {"description": fit_line(text, limits.COMMAND_DESCRIPTION)}


def _options(command: Command) -> list[JsonValue]:
    name = command.argument
    return [{"type": _STRING, "name": name, **_about(name), "required": True}] if name else []


async def fetch_commands(calls: DiscordApi, application_id: str) -> dict[str, Json]:
    """Return our commands as registered with Discord, by their names.

    Raises:
        PlatformError: the lookup failed.
    """
    listed = objects_of(await calls.get(_route(application_id)))
    ours = (each for each in listed if each.get("type", _CHAT_INPUT) == _CHAT_INPUT)
    return {str(each.get("name")): each for each in ours}


async def register(calls: DiscordApi, wanted: Sequence[Json], application_id: str) -> None:
    """Register `definitions` with Discord, except those whose registration is already up to date.

    Raises:
        PlatformError: Discord did not accept one.
    """
    current = await fetch_commands(calls, application_id)
    for each in wanted:
        if not _is_equal(current.get(str(each["name"])), each):
            # Creating a command under an existing name replaces the old one:
            # https://docs.discord.com/developers/interactions/application-commands#create-global-application-command
            await calls.request("POST", _route(application_id), each)


async def register_with_retry(calls: DiscordApi, wanted: Sequence[Json]) -> None:
    """Call `register`, with a few retries; if it fails, asking and answering work all the same."""

    async def attempt() -> None:
        application = object_of(await calls.get("/applications/@me"))
        await register(calls, wanted, str(application.get("id")))

    try:
        await retry(attempt)
    except PlatformError as error:
        extra = {"action": "command_unregistered", "code": error.code}
        logger.warning(
            "The commands %s could not be registered; the next start tries again: %s",
            ", ".join(f"/{each['name']}" for each in wanted),
            error,
            extra=extra,
        )


def offers(found: Json, wanted: Json) -> bool:
    """Return True if a registered command has all subcommands that are wanted, whatever their texts."""
    return _names(wanted.get("options")) <= _names(found.get("options"))


def _names(options: JsonValue) -> set[str]:
    return {str(each.get("name")) for each in objects_of(options)}


def _is_equal(current: JsonValue, wanted: JsonValue) -> bool:
    """Return True if a registered value has all that is wanted; Discord adds fields, and orders lists of numbers
    in its own way."""
    if isinstance(current, dict) and isinstance(wanted, dict):
        return all(_is_equal(current.get(key), value) for key, value in wanted.items())
    if isinstance(current, list) and isinstance(wanted, list):
        ordered = [sorted(each, key=_order) for each in (current, wanted)]
        return len(current) == len(wanted) and all(map(_is_equal, *ordered))
    return current == wanted or (wanted == [] and current is None)


def _order(each: JsonValue) -> str:
    return str(each.get("name")) if isinstance(each, dict) else str(each)


def _route(application_id: str) -> str:
    return f"/applications/{application_id}/commands"
