"""Checks the setup, and explains how to fix any problem."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from answerback.cli.route_rules import describe_confirmations
from answerback.core.ask import ANYONE
from answerback.core.errors import ConfigError
from answerback.dialects.installed import installed_dialects
from answerback.ports.installed_extensions import installed_extensions
from answerback.ports.plugin import DoctorContext, Finding
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.extensions import configured_for, list_commands
from answerback.runtime.from_settings import (
    build_routes,
    how_to_configure,
    unconfigured_destinations,
)
from answerback.runtime.plugins import Plugin, installed_plugins
from answerback.runtime.stores import installed_stores
from answerback.service.submission_plan import parse_destination
from answerback.service.submission_request import To
from answerback_agents.cli.main import installed_commands
from answerback_agents.mcp_proxy.policy import PolicyError, load_policies, weaknesses
from answerback_base.addresses import is_loopback
from answerback_base.install_extras import missing_extra_message
from answerback_storage.person_key_file import PersonKeyFile


async def findings(
    settings: Settings,
    http: aiohttp.ClientSession,
    mcp_policy: Path | None = None,
    *,
    fix: bool = False,
) -> AsyncIterator[Finding]:
    of_settings = (
        _configuration,
        _unconfigured_surfaces,
        _unenforced_rules,
        describe_confirmations,
        _unencrypted_address,
    )
    for finding in (finding for each in of_settings for finding in each(settings)):
        yield finding
    async for finding in _database(settings):
        yield finding
    if (exposed := await asyncio.to_thread(_exposed_key, settings)) is not None:
        yield exposed
    plugins = installed_plugins()
    for plugin in plugins:
        table = plugin_settings(settings, plugin)
        if not table.configured():
            continue
        if (
            sentence := missing_extra_message(
                plugin.name, plugin.packages, f"The surface {plugin.name}"
            )
        ) is not None:
            yield Finding(f"surface {plugin.name}", sentence)
        else:
            await asyncio.to_thread(plugin.load)
            context = build_checkup(settings, plugin, http, fix=fix)
            async for finding in plugin.findings(table, context):
                yield finding
    async for finding in _extensions(settings):
        yield finding
    for finding in (*_broken_plugins(), *await asyncio.to_thread(_mcp_policy, mcp_policy)):
        yield finding


def _configuration(settings: Settings) -> Iterator[Finding]:
    try:
        build_routes(settings)
    except ConfigError as error:
        yield Finding("configuration", str(error))
    else:
        yield Finding("configuration")


def _mcp_policy(path: Path | None) -> list[Finding]:
    if path is None:
        return []
    try:
        policies = load_policies(path)
    except PolicyError as error:
        fix = "Until then `answerback mcp-proxy` does not start."
        return [Finding("MCP policy", str(error), fix)]
    findings = [
        Finding(f"MCP policy for {policy.name}", wrong, warning=wrong is not None)
        for policy in policies.values()
        for wrong in (*weaknesses(policy),) or (None,)
    ]
    if path.stat().st_mode & 0o022:
        wrong = "other users of this machine can change it"
        findings.append(Finding(f"MCP policy {path}", wrong, f"Run `chmod go-w {path}`."))
    return findings


def _broken_plugins() -> Iterator[Finding]:
    groups = {
        "surface": installed_plugins().broken,
        "dialect": installed_dialects().broken,
        "command": installed_commands().broken,
        "store": installed_stores().broken,
        "extension": installed_extensions().broken,
    }
    for kind, broken in groups.items():
        for name, why in broken.items():
            advice = "Update or uninstall the package that it belongs to."
            yield Finding(f"{kind} {name}", why, advice, warning=True)


def _unconfigured_surfaces(settings: Settings) -> Iterator[Finding]:
    """Destinations on surfaces that are not configured, which refuse every ask."""
    for surface, keys in unconfigured_destinations(settings).items():
        wrong = f"the surface {surface} is not configured, so every ask there is refused"
        yield Finding(", ".join(keys), wrong, f"{how_to_configure(surface)}, or ask elsewhere.")


def _unencrypted_address(settings: Settings) -> Iterator[Finding]:
    """A public address without TLS: everyone on the way can read personal links, and answer with them."""
    url = settings.public.url
    if (
        url is not None
        and url.startswith("http://")
        and not is_loopback(urlsplit(url).hostname or "")
    ):
        wrong = "the address begins with http://, so anyone on the way can read people's links and answer with them"
        fix = "Let a proxy terminate TLS, and write https://."
        yield Finding("public.url", wrong, fix, warning=True)


def _unenforced_rules(settings: Settings) -> Iterator[Finding]:
    """Routes whose responders and confirmations an agent can circumvent, because it may name the place itself."""
    unrestricted = [
        f"agents.{name}"
        for name, agent in settings.agents.items()
        if agent.role == "agent" and not agent.routes
    ]
    if settings.uses_tokens and not unrestricted:
        return
    if unrestricted:
        who = f"{', '.join(unrestricted)} may name any place"
        fix = (
            f"Restrict them to routes with {', '.join(f'{name}.routes' for name in unrestricted)}."
        )
    else:
        who = "any program on this machine may name any place, because no agent has a token"
        fix = "Give each agent a token (`answerback token create NAME`), and restrict it to routes."
    keys = [
        f"routes.{name}.{key}"
        for name, route in settings.routes.items()
        for key, restricts in {
            "responders": route.responders not in {None, ANYONE},
            "confirmations": route.confirmations is not None,
        }.items()
        if restricts
    ]
    if keys:
        wrong = f"{who}, and can therefore ask other people, or where nobody has to confirm"
        yield Finding(", ".join(keys), wrong, fix, warning=True)


def _exposed_key(settings: Settings) -> Finding | None:
    """A finding if other users of this machine can read the person's key."""
    path = PersonKeyFile(settings.storage.file).path
    if not path.exists() or not path.stat().st_mode & 0o077:
        return None
    fix = f"Run `chmod 600 {path}`, then `answerback key rotate`."
    return Finding(f"key file {path}", "other users of this machine can read it", fix)


async def _extensions(settings: Settings) -> AsyncIterator[Finding]:
    for extension in installed_extensions().usable.values():
        async for finding in extension.findings(configured_for(settings, extension)):
            yield finding


async def _database(settings: Settings) -> AsyncIterator[Finding]:
    storage = settings.storage
    if (sentence := missing_extra_message(*storage.plugin.extra, "`storage.url`")) is not None:
        yield Finding("database", sentence)
        return
    async for finding in storage.plugin.findings(storage.url, storage.listen_url):
        yield finding


def build_checkup(
    settings: Settings, plugin: Plugin, http: aiohttp.ClientSession, *, fix: bool
) -> DoctorContext:
    """Collect what to check on a surface: the channels that routes name there, and everyone who may act there."""
    channels: dict[str, None] = {}
    people: list[str] = []
    direct: list[Sequence[str]] = []
    for to, named in _places(settings):
        place = parse_destination(to, installed_plugins().names)
        if not isinstance(place, str) and place.surface == plugin.name:
            channels |= {place.channel: None} if place.channel else {}
            people += named
            direct += [named] if place.user else []
    return DoctorContext(
        http,
        public_url=settings.public.url,
        channels=[*channels],
        responders=people,
        direct=direct,
        fix=fix,
        commands=list_commands(settings),
    )


def _places(settings: Settings) -> Iterator[tuple[str | To, tuple[str, ...]]]:
    """Yield where routes ask, also after escalation, and each list of those who may answer or confirm there."""
    yield settings.default_route, ()
    for route in settings.routes.values():
        confirmers = route.confirmations.confirmers if route.confirmations else None
        yield route.to, tuple(route.responders or ())
        yield route.to, tuple(confirmers or ())
        if route.escalate is not None:
            yield route.escalate.to or route.to, tuple(route.escalate.responders or ())
