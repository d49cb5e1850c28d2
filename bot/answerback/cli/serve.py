"""``answerback serve``: the service, until it is told to stop."""

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

from answerback.cli.output import print_result, say
from answerback.core.errors import ConfigError
from answerback.runtime import app, logs
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.config_file import DEFAULT_FILE, load_settings
from answerback.runtime.file_watch import FileWatcher
from answerback.runtime.from_settings import build_callback_policy, build_routes, check_extras
from answerback.runtime.interpreter_tuning import tune_interpreter
from answerback.runtime.plugins import installed_plugins
from answerback.runtime.reload import SettingsReloader
from answerback.version import VERSION

_FILES: Final = 65_536
"""Open files (each waiting agent is one) that are asked for, as far as the system allows."""

logger = logging.getLogger(__name__)


def run(config: Path | None, *, check: bool) -> None:
    """Runs the service, or checks its configuration."""
    # Before it is read: what changes while the service starts has changed, too.
    watched = FileWatcher(config or Path(DEFAULT_FILE))
    settings = load_settings(config)
    if check:
        for line in _summary(settings):
            say(line)
        return
    logs.configure_logging(settings.log.level, settings.log.format)
    _raise_file_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, config, watched))


def _summary(settings: Settings) -> list[str]:
    """What a configuration sets up, a line each, for the person who wrote it.

    Raises:
        ConfigError: an extra is missing, a route leads nowhere, or another key holds what it cannot.
    """
    check_extras(settings)
    routes = build_routes(settings)
    build_callback_policy(settings)
    server, public = settings.server, settings.public
    agents = ", ".join(f"{name} ({agent.role})" for name, agent in settings.agents.items())
    listener = "none"
    if public.port is not None:
        listener = f"{public.host}:{public.port}" + (
            f", known as {public.url}" if public.url else ""
        )
    return [
        "The configuration is valid.",
        f"agents' API: {server.host}:{server.port}",
        f"agents: {agents or 'no tokens: callers on this machine only'}",
        f"public listener: {listener}",
        f"database: {settings.storage.name}",
        f"surfaces: {', '.join(_surfaces(settings))}",
        f"routes: {', '.join(routes.by_name) or 'none'}; default {routes.default}",
        f"inquiry backend: {settings.inquiry.url or 'none'}",
    ]


def _surfaces(settings: Settings) -> list[str]:
    found = []
    for plugin in installed_plugins():
        table = plugin_settings(settings, plugin)
        if table.configured():
            how = table.connection()
            found.append(f"{plugin.name} ({how})" if how else plugin.name)
    return found


async def _serve(settings: Settings, config: Path | None, watched: FileWatcher) -> None:
    stop, changed = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, changed.set)
    async with app.run_service(settings) as running:
        print_result(f"listening on {running.api_url}")
        if running.public_url is not None:
            print_result(f"public on {running.public_url}")
        if running.inbox_url:
            _tell_person(f"The inbox, for people only: {running.inbox_url}")
        tune_interpreter()
        extra = {"action": "started", "address": running.api_url, "version": VERSION}
        logger.info("The service has started", extra=extra)
        following = [
            asyncio.create_task(_take_when(changed, config, running.reloader)),
            asyncio.create_task(_take_agents(watched, config, running.reloader)),
        ]
        await stop.wait()
        for task in following:
            task.cancel()
        logger.info("The service stops", extra={"action": "stopping"})


async def _take_when(
    changed: asyncio.Event, config: Path | None, reloader: SettingsReloader
) -> None:
    """Takes up the configuration on each SIGHUP."""

    def update_from(settings: Settings) -> list[str]:
        restart = reloader.update_from(settings)
        logs.configure_logging(settings.log.level, settings.log.format)
        logger.info("The configuration is taken up", extra={"action": "reloaded"})
        return restart

    while True:
        await changed.wait()
        changed.clear()
        await _read_again(config, update_from)


async def _take_agents(
    watched: FileWatcher, config: Path | None, reloader: SettingsReloader
) -> None:
    """Takes up the agents whenever the file changes: a token that is revoked is refused at once."""

    def update_from(settings: Settings) -> list[str]:
        restart = reloader.update_agents_from(settings)
        logger.info("The agents are taken up", extra={"action": "agents_reloaded"})
        return restart

    while True:
        await watched.wait_for_change()
        await _read_again(config, update_from)


async def _read_again(config: Path | None, update_from: Callable[[Settings], list[str]]) -> None:
    """Has the configuration taken up; one that is wrong changes nothing."""
    try:
        restart = update_from(await asyncio.to_thread(load_settings, config))
    except ConfigError as error:
        extra = {"action": "reload_refused"}
        logger.error("Nothing of the configuration is taken: %s", error, extra=extra)  # noqa: TRY400
        return
    if restart:
        extra = {"action": "restart_needed"}
        names = ", ".join(restart)
        logger.warning("Changes in these tables need a restart: %s", names, extra=extra)


def _tell_person(line: str) -> None:
    """A line for whoever sits at the terminal, and for no file or log: it holds the key."""
    if sys.stderr.isatty():
        say(line)
    elif sys.stdout.isatty():
        print_result(line)


def _raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
