"""``answerback demo``: a complete round trip on this machine, without any setup."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from answerback_agents.cli.output import console, print_json, print_result, say

if TYPE_CHECKING:
    import asyncio

    from answerback.core.ask import Ask
    from answerback.runtime.app import RunningService

_PORT: Final = 8420
_PATIENCE: Final = 3600.0
_LINGER: Final = 2.0
"""Seconds that the page stays up after the form is answered."""
FORM: Final[dict[str, object]] = {
    "questions": [
        {
            "id": "apply",
            "text": "Apply the proposed migration?",
            "context": "Adds the column invoices.paid_at and fills it from the payments. "
            "About two minutes; nothing is locked meanwhile.",
            "answer_type": "boolean",
        },
        {
            "id": "env",
            "text": "Which environment?",
            "answer_type": "select",
            "options": ["staging", "production"],
            "default": "staging",
            "when": {"question_id": "apply", "equals": True},
        },
        {
            "id": "note",
            "text": "Optional note for the migration log",
            "answer_type": "text",
            "when": {"question_id": "apply", "equals": True},
        },
    ]
}


def command(
    browser: Annotated[
        bool,
        typer.Option("--browser/--no-browser", help="Open the page in a browser, if there is one."),
    ] = True,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="The port of the page; by default 8420, or a free port if that is in use.",
        ),
    ] = None,
) -> None:
    """Try the migration form in your browser, and see the tool result that an agent would get.

    Example: `answerback demo --no-browser`

    Needs no token and no configuration. Everything is kept in a temporary folder, which is deleted at the end.
    """
    import asyncio

    from answerback.runtime import logs

    logs.configure_logging("warning", None)
    with tempfile.TemporaryDirectory(prefix="answerback-demo-") as folder:
        if not asyncio.run(_demo(Path(folder), _choose_port(port), browser=browser)):
            sys.exit(130)


async def _demo(folder: Path, port: int, browser: bool) -> bool:
    """Run the demo; returns whether the ask ended before the person gave up."""
    import asyncio

    from answerback.core.errors import ConfigError
    from answerback.dialects.registry import render_result
    from answerback.runtime import app
    from answerback.runtime.config import ServerSettings, Settings, StorageSettings
    from answerback.service.submission_request import Submission

    # Built without reading any file or environment variable, as the demo ignores the local configuration.
    settings = Settings.model_construct(
        server=ServerSettings(port=port),
        storage=StorageSettings(url=f"sqlite:///{folder / 'demo.db'}"),
    )
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with app.run_service(settings) as running:
        submitted = await running.service.submit(
            Submission.model_validate({"name": "ask_user", "arguments": FORM})
        )
        if running.operator_pages is None:
            raise ConfigError("The demo needs a surface with a page, and none is installed.")
        address = await running.operator_pages.answering_url(submitted.ask.id)
        say("An agent is asking you three questions. Answer them on this page:")
        print_result(address)
        if browser and _has_browser():
            await asyncio.to_thread(webbrowser.open, address)
        with console().status("Waiting for your answers… (Ctrl-C ends the demo)"):
            ask = await _wait_for_end(running, submitted.ask.id, stop)
        if ask is None:
            return False
        tool_result = render_result(ask)
        say("")
        say(
            f"The ask has ended: {ask.status.value.replace('_', ' ')}. The agent receives this tool result:"
        )
        print_json(tool_result.model_dump() if tool_result else None)
        with contextlib.suppress(TimeoutError):
            # Keep the service up for the page that the browser is redirected to, which shows how the ask ended.
            await asyncio.wait_for(stop.wait(), _LINGER)
        return True


async def _wait_for_end(running: RunningService, ask_id: str, stop: asyncio.Event) -> Ask | None:
    """Wait until the ask has ended; None if the person gave up first."""
    import asyncio

    stopping = asyncio.create_task(stop.wait())
    try:
        while not stop.is_set():
            waiting = asyncio.create_task(running.service.wait(ask_id, _PATIENCE))
            await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done() and (ask := waiting.result()) is not None and not ask.open:
                return ask
            waiting.cancel()
    finally:
        stopping.cancel()
    return None


def _choose_port(wanted: int | None) -> int:
    if wanted is not None:
        return wanted
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", _PORT))
        except OSError:
            return 0
    return _PORT


def _has_browser() -> bool:
    """Return True if there is a screen: on a server, webbrowser would start a text browser in this terminal."""
    if sys.platform in {"darwin", "win32"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
