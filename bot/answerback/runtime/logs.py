"""What the process logs, to standard error: lines for people on a terminal, else JSON; one event a line.

The modules log with the standard library; this is the only place that knows how lines look. No
answer and no secret is logged by anybody, and what other libraries say of a request that they
could not read is cut down to its kind, since it quotes the request.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Final, Literal

import structlog
from structlog.types import EventDict, Processor

from answerback.runtime.plugins import installed_plugins

_QUOTES_REQUESTS: Final = "aiohttp.server"
_TALKATIVE: Final = ("asyncio", "mcp")
"""Libraries that say a lot on the level "info"; theirs is one level higher than ours, as are the surfaces'."""


def configure_logging(level: str, form: Literal["console", "json"] | None) -> None:
    """Sets logging up for the whole process.

    Args:
        form: None chooses ``console`` on a terminal, else ``json``.
    """
    as_json = form == "json" or (form is None and not sys.stderr.isatty())
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _only_the_kind,
    ]
    last: list[Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if as_json
        else [_in_one_line, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in (*_TALKATIVE, *(name for plugin in installed_plugins() for name in plugin.loggers)):
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))


def _only_the_kind(_logger: object, _method: str, event: EventDict) -> EventDict:
    """An exception of the HTTP server quotes what was sent, perhaps a token: its type alone is kept."""
    if event.get("logger") == _QUOTES_REQUESTS and event.get("exc_info"):
        error = _exception(event.pop("exc_info"))
        event["error"] = type(error).__name__
    return event


def _in_one_line(_logger: object, _method: str, event: EventDict) -> EventDict:
    """An exception as its kind, its words and its place; with ``log.format = "json"`` the whole trace is there."""
    error = _exception(event.pop("exc_info", None))
    if error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
        event["error"] = f"{type(error).__name__}: {error}{where}".replace("\n", " ")
    return event


def _exception(exc_info: object) -> BaseException | None:
    """The exception of a record: the standard library makes a tuple of it, however it was passed."""
    error = exc_info[1] if isinstance(exc_info, tuple) else None
    return error if isinstance(error, BaseException) else None
