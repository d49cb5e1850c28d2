"""Runs the service until it is stopped, with its configuration reloaded as it changes."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import uvloop

from answerback.core.errors import ConfigError
from answerback.runtime import app, logs
from answerback.runtime.config import EVERY_ADDRESS, Settings, other_tool_names, plugin_settings
from answerback.runtime.config_file import DEFAULT_FILE, load_settings
from answerback.runtime.extensions import check_extensions, describe_extensions
from answerback.runtime.file_watch import FileWatcher
from answerback.runtime.first_calls import prepare_first_calls
from answerback.runtime.from_settings import (
    build_routes,
    check_extras,
    how_to_configure,
    unconfigured_destinations,
)
from answerback.runtime.plugins import installed_plugins
from answerback.runtime.reload import SettingsReloader
from answerback_agents.cli.output import print_result, say
from answerback_base.interpreter_tuning import tune_interpreter
from answerback_base.version import VERSION

_MAX_OPEN_FILES: Final = 65_536
"""The requested limit of open files, as far as the system allows; each waiting agent takes one."""

logger = logging.getLogger(__name__)


def run(config: Path | None, *, check: bool) -> None:
    # Created before the file is read, so that a change during the start counts too.
    watcher = FileWatcher(config or Path(DEFAULT_FILE))
    settings = load_settings(config)
    if check:
        for line in _summary(settings):
            say(line)
        return
    logs.configure_logging(settings.log.level, settings.log.format)
    _raise_file_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, config, watcher))


def _summary(settings: Settings) -> list[str]:
    """Summarise a configuration for the person who wrote it, one line per topic.

    Raises:
        ConfigError: an extra is missing, a route has an invalid destination or one on a surface that is not configured,
            or another value is invalid.
    """
    check_extras(settings)
    routes = build_routes(settings)
    if unconfigured := [
        f"{', '.join(keys)}: the surface {surface} is not configured, so every ask there is refused. "
        f"{how_to_configure(surface)}, or ask elsewhere."
        for surface, keys in unconfigured_destinations(settings).items()
    ]:
        raise ConfigError("\n".join(unconfigured))
    check_extensions(settings)
    server, public = settings.server, settings.public
    agents = ", ".join(f"{name} ({agent.role})" for name, agent in settings.agents.items())
    if settings.uses_tokens and not agents:
        agents = "none in the configuration"
    listener = "none"
    if public.port is not None:
        listener = f"{public.host}:{public.port}" + (
            f", reached at {public.url}" if public.url else ""
        )
    return [
        "The configuration is valid.",
        f"agents' API: {server.host}:{server.port}",
        f"agents: {agents or 'no tokens, so only callers on this machine'}",
        *describe_extensions(settings),
        f"public listener: {listener}",
        f"database: {settings.storage.name}",
        f"surfaces: {', '.join(_surfaces(settings))}",
        f"routes: {', '.join(routes.by_name) or 'none'}; default {routes.default}",
        f"inquiry backend: {settings.inquiry.url or 'none'}",
    ]


def _surfaces(settings: Settings) -> list[str]:
    descriptions = []
    for plugin in installed_plugins():
        table = plugin_settings(settings, plugin)
        if table.configured():
            how = table.connection()
            descriptions.append(f"{plugin.name} ({how})" if how else plugin.name)
    return descriptions


async def _serve(settings: Settings, config: Path | None, watcher: FileWatcher) -> None:
    stop, changed = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, changed.set)
    preparing = asyncio.create_task(asyncio.to_thread(prepare_first_calls))
    async with app.run_service(settings) as running:
        await preparing
        print_result(f"listening on {running.api_url}")
        if settings.server.host in EVERY_ADDRESS:
            print_result("and on every other address of this machine")
        if running.public_url is not None:
            print_result(f"public on {running.public_url}")
        if running.inbox_url:
            _announce_inbox(running.inbox_url, running.api_url)
        tune_interpreter()
        extra = {"action": "started", "address": running.api_url, "version": VERSION}
        logger.info("The service has started", extra=extra)
        _warn_about_other_tools(settings)
        following = [
            asyncio.create_task(_reload_on_sighup(changed, config, running.reloader)),
            asyncio.create_task(_reload_agents(watcher, config, running.reloader)),
        ]
        await stop.wait()
        for task in following:
            task.cancel()
        logger.info("The service is stopping", extra={"action": "stopping"})


def _warn_about_other_tools(settings: Settings) -> None:
    for name in other_tool_names(settings.tools):
        logger.warning(
            "Answerback has no tool called %s: [tools.%s] applies only to what such a tool asks by tool_question",
            name,
            name,
            extra={"action": "other_tool", "tool": name},
        )


async def _reload_on_sighup(
    changed: asyncio.Event, config: Path | None, reloader: SettingsReloader
) -> None:

    def update_from(settings: Settings) -> list[str]:
        restart = reloader.update_from(settings)
        logs.configure_logging(settings.log.level, settings.log.format)
        logger.info("Reloaded the configuration", extra={"action": "reloaded"})
        return restart

    while True:
        await changed.wait()
        changed.clear()
        await _reload(config, update_from)


async def _reload_agents(
    watcher: FileWatcher, config: Path | None, reloader: SettingsReloader
) -> None:
    """Reload the agents whenever the file changes, so that a revoked token is refused at once."""

    def update_from(settings: Settings) -> list[str]:
        restart = reloader.update_agents_from(settings)
        logger.info("Reloaded the agents", extra={"action": "agents_reloaded"})
        return restart

    while True:
        await watcher.wait_for_change()
        await _reload(config, update_from)


async def _reload(config: Path | None, update_from: Callable[[Settings], list[str]]) -> None:
    """Reload the configuration; an invalid one changes nothing."""
    try:
        restart = update_from(await asyncio.to_thread(load_settings, config))
    except ConfigError as error:
        extra = {"action": "reload_refused"}
        logger.error("The configuration is invalid and was not reloaded: %s", error, extra=extra)  # noqa: TRY400
        return
    if restart:
        extra = {"action": "restart_needed"}
        names = ", ".join(restart)
        logger.warning(
            "Changes in these tables only take effect after a restart: %s", names, extra=extra
        )


def _announce_inbox(inbox_url: str, api_url: str) -> None:
    """Print the link to the inbox to a terminal, but never to a file or log, as it contains the key."""
    line = f"The inbox, for people only: {inbox_url}"
    if sys.stderr.isatty():
        say(line)
    elif sys.stdout.isatty():
        print_result(line)
    else:
        print_result(
            f"to answer on the page, open {api_url}/ and enter the key that `answerback key` prints"
        )


def _raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(_MAX_OPEN_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
