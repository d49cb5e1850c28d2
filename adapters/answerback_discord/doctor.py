"""Check whether Discord is set up as Answerback needs it. Each problem comes with its fix; nothing is posted."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.errors import PayloadRejectedError, PlatformError
from answerback.core.labels import Labels
from answerback.ports.plugin import DoctorContext, Finding
from answerback_chat.control_codec import list_of, object_of, objects_of
from answerback_chat.doctor_checks import FindingFactory
from answerback_discord import limits, manifest, slash_commands
from answerback_discord.api_client import DiscordApi
from answerback_discord.components import Json
from answerback_discord.http_endpoint import SIGNATURE_WINDOW
from answerback_discord.plugin import DiscordSettings

_DISCORD: Final = FindingFactory("Discord")


async def findings(settings: DiscordSettings, checkup: DoctorContext) -> AsyncIterator[Finding]:
    calls = DiscordApi(checkup.http, settings.token, settings.api_url)
    try:
        application = object_of(await calls.get("/applications/@me"))
        if checkup.fix:
            application = await _fix_application(settings, checkup, calls, application)
        bot = str(object_of(await calls.get("/users/@me")).get("id"))
        guilds = objects_of(await calls.get("/users/@me/guilds"))
    except PlatformError as error:
        yield _DISCORD.call_failed("bot token", error)
        return
    yield _DISCORD.ok(f"bot token, of {application.get('name')}")
    yield _message_content(settings, application)
    yield _interactions(settings, checkup.public_url, application)
    if settings.public_key is not None:
        yield _DISCORD.check_clock(calls.date, SIGNATURE_WINDOW)
    yield _installed(guilds, str(application.get("id")))
    for finding in await _commands(checkup, calls, str(application.get("id"))):
        yield finding
    for channel in checkup.channels:
        yield await _channel(channel, bot, calls)
    if roles := settings.groups(checkup):
        yield await _roles(roles, guilds, calls)


async def _fix_application(
    settings: DiscordSettings, checkup: DoctorContext, calls: DiscordApi, application: Json
) -> Json:
    """Update the application's settings; the endpoint comes last, because Discord tests it at once."""
    wanted = manifest.application_settings(checkup.public_url if settings.public_key else None)
    endpoint = wanted.pop("interactions_endpoint_url", None)
    flags = _flags(application)
    if not _reads_content(settings) or flags & limits.FLAG_MESSAGE_CONTENT:
        del wanted["flags"]
    else:
        wanted["flags"] = flags_to_set(flags)
    application = object_of(await calls.request("PATCH", "/applications/@me", wanted))
    if endpoint is None or application.get("interactions_endpoint_url") == endpoint:
        return application
    with contextlib.suppress(PayloadRejectedError):  # `_interactions` reports what is wrong with it
        body: Json = {"interactions_endpoint_url": endpoint}
        application = object_of(await calls.request("PATCH", "/applications/@me", body))
    return application


def flags_to_set(flags: int) -> int:
    """An application's flags with the Message Content intent on, limited to those that the API lets it set."""
    return (flags & limits.SETTABLE_FLAGS) | limits.FLAG_MESSAGE_CONTENT_LIMITED


def _flags(application: Json) -> int:
    flags = application.get("flags")
    return flags if isinstance(flags, int) else 0


def _reads_content(settings: DiscordSettings) -> bool:
    return settings.gateway and settings.message_content


def _message_content(settings: DiscordSettings, application: Json) -> Finding:
    if not settings.gateway:
        what = "typed answers are not read, and deletions and locks are noticed only when a person acts"
        return _DISCORD.ok(f"no gateway, as configured: {what}")
    if not settings.message_content:
        return _DISCORD.ok("typed answers by mention, reply and direct message only, as configured")
    if _flags(application) & limits.FLAG_MESSAGE_CONTENT:
        return _DISCORD.ok("Message Content intent")
    return _DISCORD.problem(
        "Message Content intent",
        "it is off, so messages typed in a thread cannot be read unless they mention the app",
        "Run `answerback doctor --fix`, switch it on under Bot in the Developer Portal, or set "
        "discord.message_content = false.",
    )


def _interactions(settings: DiscordSettings, public_url: str | None, application: Json) -> Finding:
    """Check how clicks arrive: at the endpoint if one is set, otherwise over the gateway, never both."""
    what, address = "interactions", application.get("interactions_endpoint_url")
    if settings.public_key is None:
        if not address:
            return _DISCORD.ok(f"{what}, over the gateway")
        return _DISCORD.problem(
            what,
            f"Discord posts clicks to {address}, and none arrive over the gateway",
            "Set discord.public_key to receive them by HTTP, or clear the Interactions Endpoint URL in the portal.",
        )
    if settings.public_key.lower() != str(application.get("verify_key")).lower():
        return _DISCORD.problem(
            what,
            "discord.public_key is not this application's",
            "Copy the Public Key from General Information in the Developer Portal.",
        )
    if public_url is None:
        return _DISCORD.no_public_url(
            what,
            "Set public.url to the https address of the public listener.",
        )
    wanted = manifest.interactions_url(public_url)
    if address == wanted:
        return _DISCORD.ok(f"{what}, at {wanted}")
    return _DISCORD.problem(
        what,
        f"the Interactions Endpoint URL is {address or 'not set'}",
        f"Start the service and run `answerback doctor --fix`, or set it to {wanted} in the portal.",
    )


def _installed(guilds: Sequence[Json], application_id: str) -> Finding:
    if guilds:
        names = ", ".join(str(guild.get("name")) for guild in guilds[:5])
        return _DISCORD.ok(f"installed in {names}")
    return _DISCORD.problem(
        "servers",
        "the app is not in any server",
        f"Open {manifest.install_url(application_id)} and choose a server.",
    )


async def _commands(
    checkup: DoctorContext, calls: DiscordApi, application_id: str
) -> list[Finding]:
    """Check that the slash commands exist; the service sets their texts, because it knows the labels."""
    wanted = slash_commands.definitions(Labels(), checkup.commands)
    try:
        found = await slash_commands.fetch_commands(calls, application_id)
        if checkup.fix and not all(str(each["name"]) in found for each in wanted):
            await slash_commands.register(calls, wanted, application_id)
            found = await slash_commands.fetch_commands(calls, application_id)
    except PlatformError as error:
        return [_DISCORD.call_failed("commands", error)]
    return [_command(each, found.get(str(each["name"]))) for each in wanted]


def _command(wanted: Json, found: Json | None) -> Finding:
    what = f"command /{wanted['name']}"
    if found is not None and slash_commands.offers(found, wanted):
        return _DISCORD.ok(what)
    return _DISCORD.problem(
        what,
        f"it is not registered with Discord, so people are not offered: {wanted['description']}",
        "Start the service, which registers it, or run `answerback doctor --fix`.",
    )


async def _channel(channel_id: str, bot: str, calls: DiscordApi) -> Finding:
    what = f"channel {channel_id}"
    try:
        channel = object_of(await calls.get(f"/channels/{channel_id}"))
        parent = channel.get("parent_id") if channel.get("type") in {10, 11, 12} else None
        place = object_of(await calls.get(f"/channels/{parent}")) if parent else channel
        guild = str(channel.get("guild_id"))
        roles = objects_of(await calls.get(f"/guilds/{guild}/roles"))
        member = object_of(await calls.get(f"/guilds/{guild}/members/{bot}"))
    except PlatformError as error:
        return _DISCORD.call_failed(what, error)
    has = compute_permissions(guild, roles, member, place.get("permission_overwrites"), bot)
    missing = [name for name, bit in limits.PERMISSIONS.items() if not has & bit]
    if not missing and has & limits.ATTACH_FILES:
        return _DISCORD.ok(what)
    if not missing:
        return _DISCORD.problem(
            what,
            "the app lacks Attach Files there, so pictures that agents send are only named",
            "Grant it to the app's role in the settings of the server or the channel.",
            warning=True,
        )
    return _DISCORD.problem(
        what,
        f"the app lacks {', '.join(missing)} there",
        "Grant them to the app's role in the settings of the server or the channel.",
    )


def compute_permissions(
    guild: str, roles: Sequence[Json], member: Json, overwrites: JsonValue, bot: str
) -> int:
    """Return the bot's permissions in a channel: https://docs.discord.com/developers/topics/permissions#permission-overwrites."""
    mine = {guild, *(str(role) for role in list_of(member.get("roles")))}
    bits = 0
    for role in roles:
        bits |= int(str(role.get("permissions") or 0)) if role.get("id") in mine else 0
    if bits & limits.ADMINISTRATOR:
        return -1
    by_holder = {str(each.get("id")): each for each in objects_of(overwrites)}
    for level in ({guild}, mine - {guild}, {bot}):
        allow = deny = 0
        for holder in level & by_holder.keys():
            allow |= int(str(by_holder[holder].get("allow") or 0))
            deny |= int(str(by_holder[holder].get("deny") or 0))
        bits = (bits & ~deny) | allow
    return bits


async def _roles(wanted: Sequence[str], guilds: Sequence[Json], calls: DiscordApi) -> Finding:
    known: set[str] = set()
    try:
        for guild in guilds:
            listed = objects_of(await calls.get(f"/guilds/{guild.get('id')}/roles"))
            known |= {str(role.get("id")) for role in listed}
    except PlatformError as error:
        return _DISCORD.call_failed("roles", error)
    missing = [role for role in dict.fromkeys(wanted) if role not in known]
    if not missing:
        return _DISCORD.ok("responders' roles")
    return _DISCORD.problem(
        "responders' roles",
        f"no server has the role {', '.join(missing)}",
        "Copy the role's id with Developer Mode on: right-click it in the server's settings.",
    )
