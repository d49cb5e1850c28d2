"""Configure logging to standard error: readable lines on a terminal, otherwise JSON; one event per line.

The modules log with the standard library; only this module defines how lines look. No answer and no
secret is ever logged. If the HTTP server logs an error about a request that it could not read, only the
error's type is kept, because its message quotes the request.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Sequence
from typing import Final, Literal

import structlog
from structlog.types import EventDict, Processor

from answerback.runtime.plugins import installed_plugins

_QUOTES_REQUESTS: Final = "aiohttp.server"
_VERBOSE: Final = ("asyncio", "mcp")
"""Libraries that log a lot at level "info"; like the surfaces' libraries, they log from "warning" up."""


def configure_logging(level: str, form: Literal["console", "json"] | None) -> None:
    """Configure logging for the whole process.

    Args:
        form: the format; None: ``console`` on a terminal, otherwise ``json``.
    """
    as_json = form == "json" or (form is None and not sys.stderr.isatty())
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _redact_request_errors,
    ]
    renderers: list[Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
        if as_json
        else [_format_exception, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    verbose = (*_VERBOSE, *(name for plugin in installed_plugins() for name in plugin.loggers))
    for name in verbose:
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))
    # A library may give each of its loggers the root's level, and at "debug" log what people write.
    handler.addFilter(_QuietLibraries(verbose))


class _QuietLibraries(logging.Filter):
    """Keeps from the log what these loggers and those below them say of less than a warning."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._libraries = [logging.Filter(name) for name in names]

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.WARNING:
            return True
        return not any(library.filter(record) for library in self._libraries)


def _redact_request_errors(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Keep only the type of an HTTP server's exception: its message quotes the request, perhaps with a token."""
    if event.get("logger") == _QUOTES_REQUESTS and event.get("exc_info"):
        error = _exception(event.pop("exc_info"))
        event["error"] = type(error).__name__
    return event


def _format_exception(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Format an exception as type, message and location; with ``log.format = "json"`` the log has the whole trace."""
    error = _exception(event.pop("exc_info", None))
    if error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
        event["error"] = f"{type(error).__name__}: {error}{where}".replace("\n", " ")
    return event


def _exception(exc_info: object) -> BaseException | None:
    """The exception of a record; the standard library always converts it to a tuple."""
    error = exc_info[1] if isinstance(exc_info, tuple) else None
    return error if isinstance(error, BaseException) else None
